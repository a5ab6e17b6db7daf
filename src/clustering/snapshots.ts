/** Centres as they were before a round, kept on the devices, for rounds that are stopped half-way. */
import type { DeviceBuffer } from '../device/contract.ts'
import type { Team } from './team.ts'

export class CenterSnapshots {
  readonly #team: Team
  #buffers: readonly DeviceBuffer[] | undefined
  #taken = false

  constructor(team: Team) {
    this.#team = team
  }

  take(): void {
    const { states } = this.#team
    this.#buffers ??= states.map(({ scope, room }) => scope.allocate(room.buffer.bytes, 'centres before the round'))
    states.forEach(({ device, room }, owner) => {
      const buffer = this.#buffers?.[owner] as DeviceBuffer
      device.copy(room.buffer, buffer)
      this.#team.states[owner].began = buffer
    })
    this.#taken = true
  }

  /** What was taken is of an earlier round. */
  forget(): void {
    this.#taken = false
    for (const state of this.#team.states) state.began = undefined
  }

  /** What was taken since `forget`, on devices that still work. */
  putBack(): void {
    if (!this.#taken) return
    this.#team.states.forEach(({ device, room }, owner) => {
      const kept = this.#buffers?.[owner]
      if (kept && !kept.freed && !room.buffer.freed) device.copy(kept, room.buffer)
    })
    this.#team.centersPutBack()
    this.forget()
  }
}
