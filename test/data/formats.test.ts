import { describe, expect, test } from 'vitest'
import { formatOf } from '../../src/data/formats.ts'
import { failure } from './failure.ts'

describe('formatOf', () => {
  test.each([
    ['a/b.fvecs', '.fvecs'],
    ['SIFT.BVECS', '.bvecs'],
    ['truth.ivecs', '.ivecs'],
    ['data.npy', '.npy'],
    ['t.tsv', '.tsv'],
    ['data.csv#1/x.npy', '.npy'],
    ['https://example.org/data.npy?download=1#top', '.npy'],
    [new URL('https://example.org/v/x.csv?as=/t'), '.csv'],
    [new File([], 'dropped.csv'), '.csv'],
  ])('%s', (location, extension) => {
    expect(formatOf(location).extension).toBe(extension)
  })

  test('an extension that does not work', async () => {
    expect(await failure(() => formatOf('dir/data.parquet'))).toBe(
      'bad-file: "dir/data.parquet" cannot be written: the formats for vectors are .fvecs .bvecs .ivecs .npy .csv .tsv .npz .mat, each also with .gz.',
    )
    expect(await failure(() => formatOf('npy'))).toContain('"npy" cannot be written')
  })

  test('labels in a format for vectors', async () => {
    expect(await failure(() => formatOf('labels.fvecs', 'labels'))).toBe(
      'bad-file: "labels.fvecs" cannot be written: the formats for labels are .ivecs .npy .csv .tsv, each also with .gz.',
    )
  })

  test('a Blob without a name', async () => {
    expect(await failure(() => formatOf(new Blob([])))).toBe(
      'bad-file: The format of a Blob without a name is unknown: give a File whose name ends in one of .fvecs .bvecs .ivecs .npy .csv .tsv .npz .mat.',
    )
  })
})
