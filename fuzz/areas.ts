/** All areas, in the order of the table. */
import type { Area } from './area.ts'
import { bitflips } from './areas/bitflips.ts'
import { options } from './areas/options.ts'
import { readers } from './areas/readers.ts'

export const AREAS: readonly Area[] = [options, readers, bitflips]
