import { expect, test } from 'vitest'
import { chooseTestSeed, FIXED_SEED } from './test-seed.ts'

const never = (): boolean => {
  throw new Error('git was asked')
}

test('the variable gives the seed, or asks for a random one', () => {
  expect(chooseTestSeed({ CENTROIDAL_TEST_SEED: '17', CI: 'true' }, never)).toEqual({
    seed: 17,
    origin: 'CENTROIDAL_TEST_SEED',
  })
  expect(chooseTestSeed({ CENTROIDAL_TEST_SEED: 'random', CI: 'true' }, never).origin).toBe('random')
})

test.each(['x', '-1', '1.5', '2147483648'])('a seed of %s is refused', (value) => {
  expect(() => chooseTestSeed({ CENTROIDAL_TEST_SEED: value }, never)).toThrow(`CENTROIDAL_TEST_SEED is ${value}: give`)
})

test('fixed in continuous integration and on a clean checkout, random while sources are edited', () => {
  const fixed = { seed: FIXED_SEED, origin: 'fixed' }
  expect(chooseTestSeed({ CI: 'true' }, never)).toEqual(fixed)
  expect(chooseTestSeed({}, () => false)).toEqual(fixed)
  const explored = chooseTestSeed({ CI: 'false' }, () => true)
  expect(explored.origin).toBe('random')
  expect(chooseTestSeed({}, () => true).seed).not.toBe(explored.seed)
})
