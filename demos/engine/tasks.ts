/**
 * Everything the worker can be asked to do. A page that needs more adds a task here. Each is loaded when it is first asked for,
 * so that a page loads only the parts of the library it uses.
 */
import type { Task } from './task.ts'

export const TASKS = {
  cluster: later(async () => (await import('./cluster-task.ts')).clusterTask),
  leaves: later(async () => (await import('./leaves-task.ts')).leavesTask),
  methods: later(async () => (await import('./methods-task.ts')).methodsTask),
  'open-picture': later(async () => (await import('../colours/open-picture.ts')).openPictureTask),
  colours: later(async () => (await import('../colours/quantize.ts')).colourTask),
  'explain-closures': later(async () => (await import('../how/tasks.ts')).explainClosuresTask),
  'explain-moves': later(async () => (await import('../how/tasks.ts')).explainMovesTask),
  'explain-grid': later(async () => (await import('../how/grid-task.ts')).explainGridTask),
  measure: later(async () => (await import('../measure/tasks.ts')).measureTask),
  photos: later(async () => (await import('../photos/tasks.ts')).photosTask),
  'rank-photos': later(async () => (await import('../photos/tasks.ts')).rankTask),
  start: later(async () => (await import('../playground/tasks.ts')).startTask),
  'race-vectors': later(async () => (await import('../race/tasks.ts')).raceVectorsTask),
  'read-vectors': later(async () => (await import('../words/file-tasks.ts')).readVectorsTask),
  'map-vectors': later(async () => (await import('../words/map-task.ts')).mapTask),
  'shipped-words': later(async () => (await import('../words/word-file.ts')).shippedWordsTask),
  'learn-codes': later(async () => (await import('../words/tasks.ts')).learnCodesTask),
  'find-neighbours': later(async () => (await import('../words/tasks.ts')).findNeighborsTask),
  'file-bytes': later(async () => (await import('../words/file-tasks.ts')).fileBytesTask),
}

/** A task whose code is loaded when it begins. */
function later<Input, Round, Result>(load: () => Promise<Task<Input, Round, Result>>): Task<Input, Round, Result> {
  return async function* (input, context) {
    const task = await load()
    return yield* task(input, context)
  }
}

type Tasks = typeof TASKS
export type TaskName = keyof Tasks
export type InputOf<Name extends TaskName> = Tasks[Name] extends Task<infer Input, unknown, unknown> ? Input : never
export type RoundOf<Name extends TaskName> = Tasks[Name] extends Task<never, infer Round, unknown> ? Round : never
export type ResultOf<Name extends TaskName> = Tasks[Name] extends Task<never, unknown, infer Result> ? Result : never
