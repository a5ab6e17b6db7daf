/** Everything the worker can be asked to do. A page that needs more adds a task here. */
import { openPictureTask } from '../colours/open-picture.ts'
import { colourTask } from '../colours/quantize.ts'
import { explainClosuresTask, explainGridTask, explainMovesTask } from '../how/tasks.ts'
import { measureTask } from '../measure/tasks.ts'
import { raceVectorsTask } from '../race/tasks.ts'
import { fileBytesTask, findNeighborsTask, learnCodesTask, mapTask, readVectorsTask } from '../words/tasks.ts'
import { clusterTask } from './cluster-task.ts'
import { leavesTask } from './leaves-task.ts'
import { methodsTask } from './methods-task.ts'
import type { Task } from './task.ts'

export const TASKS = {
  cluster: clusterTask,
  leaves: leavesTask,
  methods: methodsTask,
  'open-picture': openPictureTask,
  colours: colourTask,
  'explain-closures': explainClosuresTask,
  'explain-moves': explainMovesTask,
  'explain-grid': explainGridTask,
  measure: measureTask,
  'race-vectors': raceVectorsTask,
  'read-vectors': readVectorsTask,
  'map-vectors': mapTask,
  'learn-codes': learnCodesTask,
  'find-neighbours': findNeighborsTask,
  'file-bytes': fileBytesTask,
}

type Tasks = typeof TASKS
export type TaskName = keyof Tasks
export type InputOf<Name extends TaskName> = Tasks[Name] extends Task<infer Input, unknown, unknown> ? Input : never
export type RoundOf<Name extends TaskName> = Tasks[Name] extends Task<never, infer Round, unknown> ? Round : never
export type ResultOf<Name extends TaskName> = Tasks[Name] extends Task<never, unknown, infer Result> ? Result : never
