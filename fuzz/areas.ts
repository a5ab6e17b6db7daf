/** All areas, in the order of the table. */
import type { Area } from './area.ts'
import { bitflips } from './areas/bitflips.ts'
import { commandLine } from './areas/command-line.ts'
import { concurrent, resume, streaming, threads } from './areas/conditions.ts'
import { extreme } from './areas/extreme.ts'
import { folders } from './areas/folders.ts'
import { allocation, callbacks, cancel, lost } from './areas/interruptions.ts'
import { memory } from './areas/memory.ts'
import { options } from './areas/options.ts'
import { readers } from './areas/readers.ts'
import { reports } from './areas/reports.ts'

export const AREAS: readonly Area[] = [
  memory,
  extreme,
  options,
  readers,
  bitflips,
  folders,
  resume,
  streaming,
  threads,
  cancel,
  concurrent,
  callbacks,
  allocation,
  lost,
  commandLine,
  reports,
]
