/** A method is a row: where candidates come from, and what is done with them. */
import type { MethodName } from '../models/method-names.ts'
import { allCandidates } from './candidates/all.ts'
import { akm, rakm } from './methods/akm.ts'
import { bisecting } from './methods/bisecting.ts'
import { canopy } from './methods/canopy.ts'
import { closures } from './methods/closures.ts'
import { hkm } from './methods/hkm.ts'
import { lvq, minibatch } from './methods/minibatch.ts'
import { agm, egm, gmm } from './methods/mixtures.ts'
import { closuresSharp, sharp } from './methods/sharp.ts'
import type { Method } from './run-state.ts'
import { meanUpdate } from './updates/mean.ts'

/** All methods with a description, their options, and whether they support sparse rows and weights. */
export const METHODS: Readonly<Record<MethodName, Method>> = {
  lloyd: {
    summary: 'exact k-means: every point looks at every centre',
    options: [],
    sparse: true,
    relocates: true,
    candidates: allCandidates,
    update: meanUpdate,
  },
  'closures-sharp': closuresSharp,
  closures,
  sharp,
  bisecting,
  canopy,
  minibatch,
  lvq,
  akm,
  rakm,
  hkm,
  agm,
  egm,
  gmm,
}
