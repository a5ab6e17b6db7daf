/** A file as a picture of moderate size, decoded in the worker so that the page goes on answering. */
import { CentroidalError } from '../../src/index.ts'
import { fitWithin, mostColours, opaquePixels, type Picture } from './picture.ts'
import { SAMPLE, samplePicture } from './sample.ts'

export interface OpenInput {
  /** Without one, the page's own sample. */
  readonly file: File | undefined
}

export interface OpenedPicture {
  readonly name: string
  readonly picture: Picture
  /** As it was before it was scaled down. */
  readonly original: { readonly width: number; readonly height: number; readonly bytes: number | undefined }
  readonly distinct: number
  readonly transparent: number
  /** Colours a palette for it can have. */
  readonly most: number
}

const MOST_FILE_BYTES = 100 * 2 ** 20

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* openPictureTask({ file }: OpenInput): AsyncGenerator<never, OpenedPicture> {
  if (file === undefined) return describe(SAMPLE.name, samplePicture(), { ...SAMPLE, bytes: undefined })
  const bitmap = await decode(file)
  const { width, height } = bitmap
  const size = fitWithin(width, height)
  const context = new OffscreenCanvas(size.width, size.height).getContext('2d', { willReadFrequently: true })
  if (!context) throw new CentroidalError('out-of-memory', `"${file.name}" does not fit into memory: scale it down.`)
  context.imageSmoothingQuality = 'high'
  context.drawImage(bitmap, 0, 0, size.width, size.height)
  bitmap.close()
  const { data } = context.getImageData(0, 0, size.width, size.height)
  return describe(file.name, { ...size, data }, { width, height, bytes: file.size })
}

async function decode(file: File): Promise<ImageBitmap> {
  if (file.size > MOST_FILE_BYTES) {
    throw new CentroidalError(
      'bad-file',
      `"${file.name}" has ${Math.round(file.size / 2 ** 20)} MB: this page opens pictures of up to 100 MB. Scale it down first.`,
    )
  }
  try {
    return await createImageBitmap(file)
  } catch (error) {
    throw new CentroidalError(
      'bad-file',
      `"${file.name}" cannot be opened: it is no picture, it is broken, or this browser does not know its kind. Save it as PNG or JPEG.`,
      { cause: error },
    )
  }
}

function describe(name: string, picture: Picture, { width, height, bytes }: OpenedPicture['original']): OpenedPicture {
  const pixels = opaquePixels(picture)
  return {
    name,
    picture,
    original: { width, height, bytes },
    distinct: pixels.distinct,
    transparent: picture.width * picture.height - pixels.vectors.rows,
    most: mostColours(pixels),
  }
}
