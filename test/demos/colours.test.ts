/** The parts of the colours page that need no page. */
import { inflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { fromOklab, toOklab } from '../../demos/colours/oklab.ts'
import { byLightness, meanSquaredError, paletteOf, paletteText, psnr } from '../../demos/colours/palette.ts'
import { fitWithin, indexMap, mostColours, opaquePixels, paint } from '../../demos/colours/picture.ts'
import { bitsFor, indexedPng } from '../../demos/colours/png.ts'
import { colourTask } from '../../demos/colours/quantize.ts'
import { samplePicture } from '../../demos/colours/sample.ts'
import { findsCount, METHOD_CHOICES } from '../../demos/shell/method-choices.ts'
import { cluster, createRandom, METHODS, matrix, openDevice } from '../../src/index.ts'

/** Three opaque pixels of two colours and a transparent one. */
const small = {
  width: 2,
  height: 2,
  data: Uint8ClampedArray.of(255, 0, 0, 255, 9, 9, 9, 0, 255, 0, 0, 255, 0, 0, 255, 200),
}

describe('pictures', () => {
  test('are scaled to the limit and keep their shape', () => {
    expect(fitWithin(400, 300)).toEqual({ width: 400, height: 300 })
    const { width, height } = fitWithin(8000, 2000, 10_000)
    expect(width * height).toBeLessThanOrEqual(10_000)
    expect(width / height).toBeCloseTo(4, 1)
    expect(fitWithin(1_000_000, 1, 100)).toEqual({ width: 100, height: 1 })
  })

  test('leave transparent pixels out and put them back', () => {
    const pixels = opaquePixels(small)
    expect(Array.from(pixels.vectors.data)).toEqual([255, 0, 0, 255, 0, 0, 0, 0, 255])
    expect(pixels.distinct).toBe(2)
    expect(mostColours(pixels)).toBe(2)
    expect(mostColours({ places: Uint32Array.of(1), distinct: 9999 })).toBe(255)
    const indices = indexMap([0, 0, 1], pixels.places, 4, 2)
    expect(Array.from(indices)).toEqual([0, 2, 0, 1])
    const painted = paint(indices, Uint8Array.of(255, 0, 0, 0, 0, 255))
    expect(Array.from(painted)).toEqual([255, 0, 0, 255, 0, 0, 0, 0, 255, 0, 0, 255, 0, 0, 255, 255])
  })
})

test('the sample is the same every time, opaque, and has many colours', () => {
  const [a, b] = [samplePicture(), samplePicture()]
  expect(Buffer.compare(new Uint8Array(a.data.buffer), new Uint8Array(b.data.buffer))).toBe(0)
  const { places, distinct } = opaquePixels(a)
  expect(places).toBeUndefined()
  expect(distinct).toBeGreaterThan(20_000)
})

describe('OKLab', () => {
  test('has white at lightness one without hue, and comes back to the same bytes', () => {
    const [l, a, b] = toOklab(matrix(Uint8Array.of(255, 255, 255), 1, 3)).data
    expect(l).toBeCloseTo(1, 5)
    expect(Math.hypot(a, b)).toBeLessThan(1e-5)
    // The figure for pure red in Ottosson's table of sRGB primaries, as CSS Color 4 gives it.
    const red = toOklab(matrix(Uint8Array.of(255, 0, 0), 1, 3)).data
    for (const [i, value] of [0.62796, 0.22486, 0.12585].entries()) expect(red[i]).toBeCloseTo(value, 4)
    const random = createRandom(3)
    const bytes = Uint8Array.from({ length: 3000 }, () => random.below(256))
    expect(fromOklab(toOklab(matrix(bytes, 1000, 3)))).toEqual(bytes)
  })
})

describe('palettes', () => {
  const palette = Uint8Array.of(250, 250, 250, 0, 0, 0, 0, 128, 0)

  test('are copied from dark to light', () => {
    expect(byLightness(palette)).toEqual([1, 2, 0])
    expect(paletteText(palette, 'hex')).toBe('#000000\n#008000\n#fafafa')
    expect(paletteText(palette, 'json')).toBe('["#000000","#008000","#fafafa"]')
    expect(paletteText(palette, 'css')).toContain('  --colour-2: #008000;')
  })

  test('say what is lost', () => {
    const pixels = matrix(Uint8Array.of(0, 0, 3, 250, 250, 250), 2, 3)
    expect(meanSquaredError(pixels, [1, 0], palette)).toBe(9 / 6)
    expect(psnr(1)).toBeCloseTo(48.1308, 4)
    expect(psnr(0)).toBe(Number.POSITIVE_INFINITY)
  })
})

/** The pixels of an indexed PNG without filters, read by the specification. */
function decode(png: Uint8Array): {
  width: number
  bits: number
  palette: number[]
  alpha: number[]
  pixels: number[]
} {
  const view = new DataView(png.buffer, png.byteOffset)
  const chunks = new Map<string, Uint8Array>()
  for (let at = 8; at < png.length; ) {
    const length = view.getUint32(at)
    chunks.set(new TextDecoder().decode(png.subarray(at + 4, at + 8)), png.subarray(at + 8, at + 8 + length))
    at += 12 + length
  }
  const header = chunks.get('IHDR')!
  const [width, height] = [header[3] + 256 * header[2], header[7] + 256 * header[6]]
  const bits = header[8]
  const data = inflateSync(chunks.get('IDAT')!)
  const lineBytes = data.length / height
  const pixels = Array.from({ length: width * height }, (_, i) => {
    const bit = (i % width) * bits
    const byte = data[Math.floor(i / width) * lineBytes + 1 + (bit >> 3)]
    return (byte >> (8 - bits - (bit & 7))) & (2 ** bits - 1)
  })
  return { width, bits, palette: [...chunks.get('PLTE')!], alpha: [...(chunks.get('tRNS') ?? [])], pixels }
}

describe('indexed PNG', () => {
  test.each([2, 3, 16, 17, 256])('holds %i colours in as few bits as do', (colours) => {
    const random = createRandom(colours)
    const palette = Uint8Array.from({ length: 3 * colours }, () => random.below(256))
    const indices = Uint8Array.from({ length: 13 * 7 }, () => random.below(colours))
    const read = decode(indexedPng(indices, { width: 13, height: 7 }, palette))
    expect(read).toEqual({ width: 13, bits: bitsFor(colours), palette: [...palette], alpha: [], pixels: [...indices] })
  })

  test('has one more entry for transparent pixels', () => {
    const read = decode(indexedPng(Uint8Array.of(0, 1, 2, 0), { width: 2, height: 2 }, Uint8Array.of(1, 2, 3, 4, 5, 6)))
    expect(read).toMatchObject({ bits: 2, palette: [1, 2, 3, 4, 5, 6, 0, 0, 0], alpha: [255, 255, 0] })
    expect(read.pixels).toEqual([0, 1, 2, 0])
  })
})

test('the page knows which methods find the number of clusters', () => {
  for (const method of METHOD_CHOICES) {
    expect(findsCount(method), method).toBe(method !== 'auto' && METHODS[method].findsCount === true)
  }
  expect(METHOD_CHOICES).toHaveLength(Object.keys(METHODS).length + 1)
})

describe('the job', () => {
  const random = createRandom(5)
  const data = Uint8ClampedArray.from({ length: 4 * 900 }, (_, i) => (i % 4 === 3 ? 255 : random.below(256)))
  data.fill(0, 40, 80)
  const picture = { width: 30, height: 30, data }
  const { signal } = new AbortController()
  const request = { picture, k: 6, method: 'lloyd', seed: 4, perceptual: false } as const

  test('gives what the library gives for the opaque pixels', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    try {
      const job = colourTask(request, { device, signal, progress() {} })
      let rounds = 0
      let step = await job.next()
      for (; !step.done; step = await job.next()) expect(step.value.iteration).toBe(++rounds)
      const final = step.value
      const { vectors } = opaquePixels(picture)
      const model = await cluster(vectors, { k: 6, seed: 4, method: 'lloyd', device })
      expect(final.method).toBe('lloyd')
      expect(rounds).toBe(model.facts.iterations.length)
      expect(final.palette).toEqual(paletteOf(model.centers))
      expect([...final.indices.subarray(0, 12)]).toEqual([...model.labels.subarray(0, 10), 6, 6])
      // Rounding colours to bytes changes a channel by half a step at most.
      expect(final.mse).toBeCloseTo(model.distortion / 3, 0)
    } finally {
      await device.close()
    }
  })

  test('gives fewer colours where the picture has fewer, and begins with k where the method finds the number', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    try {
      const last = async (changes: object) => {
        const job = colourTask({ ...request, ...changes }, { device, signal, progress() {} })
        for (;;) {
          const step = await job.next()
          if (step.done) return step.value
        }
      }
      const two = await last({ picture: small, k: 200 })
      expect([...two.counts].sort()).toEqual([1, 2])
      expect(two.mse).toBe(0)
      expect((await last({ method: 'egm', k: 40 })).palette.length / 3).toBeLessThanOrEqual(40)
      await expect(last({ picture: { ...small, data: new Uint8ClampedArray(16) } })).rejects.toThrow(/transparent/)
    } finally {
      await device.close()
    }
  })
})
