/** How much of a round at 960 dimensions goes into finding the rotation. */
import { createRandom, type Device, matrix, type QuantizerStats, trainQuantizer } from '../src/index.ts'
import { printTable } from './table.ts'

const ROWS = 100_000
const COLS = 960

/** Vectors whose neighbouring dimensions correlate, as those of images do. */
export async function rotationShare(device: Device): Promise<object> {
  const random = createRandom(1)
  const data = new Float32Array(ROWS * COLS)
  for (let i = 0; i < ROWS; i++) {
    let value = 0
    for (let j = 0; j < COLS; j++) {
      value = 0.95 * value + random.uniform() - 0.5
      data[i * COLS + j] = value
    }
  }
  const steps: QuantizerStats[] = []
  await trainQuantizer(matrix(data, ROWS, COLS), {
    type: 'ck',
    iterations: 5,
    tolerance: 0,
    device,
    onIteration: (step) => steps.push(step),
  })
  const shares = steps
    .slice(1)
    .map((step, i) => ({ step, share: step.rotationSeconds / (step.seconds - steps[i].seconds) }))
    .sort((a, b) => a.share - b.share)
  const { step, share } = shares[Math.floor(shares.length / 2)]
  const row = {
    vectors: ROWS,
    dimensions: COLS,
    'seconds for the rotation': step.rotationSeconds,
    'share of the round': `${(share * 100).toFixed(1)} %`,
  }
  printTable('A round of ck at 960 dimensions (the middle one of four)', [row])
  return row
}
