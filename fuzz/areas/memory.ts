/** Results must not depend on what was in the device's memory before. */
import { openDevice } from '../../src/index.ts'
import { type Area, type CaseContext, Failure } from '../area.ts'
import { poisonedDevice } from '../devices.ts'
import { attempt, requireSame } from '../judge.ts'
import { drawTask } from './tasks.ts'

export const memory: Area = {
  name: 'memory',
  title: 'device memory poisoned before a run',
  share: 4,
  seconds: 30,
  run,
}

async function run({ draw, note }: CaseContext): Promise<void> {
  const task = drawTask(draw)
  const pattern = draw.pick([0xff, 0x7f, 0x3f, 0x01, 0x80])
  note(`pattern ${pattern}: ${task.text}`)
  const clean = await openDevice({ kind: 'cpu', shared: false })
  const poisoned = await poisonedDevice(pattern)
  try {
    const wanted = await attempt(() => task.run(clean))
    const found = await attempt(() => task.run(poisoned))
    if ('error' in wanted || 'error' in found) {
      const messages = [wanted, found].map((tried) => ('error' in tried ? tried.error.message : 'a result'))
      if (messages[0] !== messages[1]) {
        throw new Failure('wrong result', `"${messages[1]}" with a pattern in memory, "${messages[0]}" without`)
      }
      return
    }
    requireSame(wanted.value, found.value, 'with a pattern in memory')
  } finally {
    await clean.close()
    await poisoned.close()
  }
}
