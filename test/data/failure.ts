import { CentroidalError } from '../../src/core/errors.ts'

/** The code and the sentence of the CentroidalError that must come, as "code: sentence". */
export async function failure(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    if (error instanceof CentroidalError) return `${error.code}: ${error.message}`
    throw error
  }
  throw new Error('nothing failed')
}
