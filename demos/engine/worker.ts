/** The worker of all demos. */
import { watchDevices } from './lost-device.ts'
import type { ToWorker } from './protocol.ts'
import { WorkerServer } from './serve.ts'
import { TASKS } from './tasks.ts'

const server = new WorkerServer(TASKS, watchDevices(), (message, transfer) => self.postMessage(message, { transfer }))
self.addEventListener('message', (event: MessageEvent<ToWorker>) => server.receive(event.data))
