/** The methods a person can pick from, by name and in a few words. The library's own table would bring all of it into the page. */
import type { MethodName } from '../../src/index.ts'

export type MethodChoice = 'auto' | MethodName

const CHOICES: Readonly<Record<MethodChoice, string>> = {
  auto: 'auto',
  lloyd: 'lloyd: exact k-means',
  'closures-sharp': 'closures-sharp: moves among neighbours',
  sharp: 'sharp: points move one by one',
  closures: 'closures: clusters of neighbours',
  bisecting: 'bisecting: splits in two',
  hkm: 'hkm: a tree of small k-means',
  akm: 'akm: search among centres',
  rakm: 'rakm: search, robust',
  canopy: 'canopy: centres of own canopies',
  minibatch: 'minibatch: a part each round',
  lvq: 'lvq: point after point',
  gmm: 'gmm: Gaussian mixture',
  egm: 'egm: mixture that finds how many',
  agm: 'agm: the same, approximate',
}

export const METHOD_CHOICES = Object.keys(CHOICES) as MethodChoice[]

export function isMethodChoice(name: string): name is MethodChoice {
  return Object.hasOwn(CHOICES, name)
}

/** Methods that begin with k clusters and end with as many as they find. */
export function findsCount(method: MethodChoice): boolean {
  return method === 'egm' || method === 'agm'
}

/** Fills a select; an unknown name chosen by the address becomes auto. */
export function fillMethods(select: HTMLSelectElement, chosen: string): void {
  select.replaceChildren(...Object.entries(CHOICES).map(([name, words]) => new Option(words, name)))
  select.value = isMethodChoice(chosen) ? chosen : 'auto'
}

/** Why a run ended, in words. */
export function stopReason(stopped: string): string {
  const words: Readonly<Record<string, string>> = {
    converged: 'nothing changes any more',
    tolerance: 'the distortion has converged',
    iterations: 'the most rounds were reached',
    aborted: 'you stopped it',
  }
  return words[stopped] ?? stopped
}
