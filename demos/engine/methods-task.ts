/** The methods there are. Asked of the worker, so that pages need not load the library for it. */
import { METHODS, type MethodName } from '../../src/index.ts'

export interface MethodFacts {
  readonly name: MethodName
  readonly summary: string
  /** It finds how many clusters there are: it takes no k. */
  readonly findsCount: boolean
}

export async function* methodsTask(): AsyncGenerator<never, MethodFacts[]> {
  return Object.entries(METHODS).map(([name, { summary, findsCount = false }]) => ({
    name: name as MethodName,
    summary,
    findsCount,
  }))
}
