/** `centroidal index`: descriptors of images to an index of their words; adds to one and takes out of it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { CentroidalError, ImageIndex, loadIndex, loadModel } from '../../index.ts'
import { count, duration } from '../format.ts'
import { addInputOptions, type InputFlags, openInput, VECTOR_FILES } from '../input-files.ts'
import { badValue } from '../option-values.ts'
import { OutFolder } from '../out-folder.ts'
import { createProgressView } from '../progress/view.ts'
import type { Session } from '../session.ts'
import { readLabels, requireLength } from '../truth.ts'
import {
  addDeviceOptions,
  addSpeechOptions,
  type DeviceFlags,
  openChosenDevice,
  type SpeechFlags,
} from './shared-options.ts'

interface IndexFlags extends DeviceFlags, InputFlags, SpeechFlags {
  readonly images?: string
  readonly remove?: readonly number[]
  readonly out?: string
}

export function addIndexCommand(program: Command, session: Session): void {
  const command = program
    .command('index')
    .summary('index images by their visual words')
    .description(
      'Assigns every descriptor to its nearest visual word, and stores the images of every word. Given an index instead of a vocabulary, adds images to it or removes them.',
    )
    .argument('<from>', 'folder of a vocabulary (or of any run of centroidal cluster), or of an index to change')
    .argument('[vectors]', `the descriptors of the images to add: ${VECTOR_FILES}`)
    .option('--images <file>', 'the image number of each descriptor, one per row')
    .option('--remove <numbers>', 'images to remove first, such as 3,17', readNumbers)
    .option('-o, --out <folder>', 'folder for the index (default: index, or the index that is changed)')
    .action((from: string, vectors: string | undefined, flags: IndexFlags) =>
      indexImages(session, from, vectors, flags),
    )
    .addHelpText(
      'after',
      `
Example:
  centroidal index vocabulary descriptors.npy --images images.npy --out index
  centroidal index index more.npy --images more-images.npy
  centroidal index index --remove 3,17`,
    )
  addInputOptions(command)
  addDeviceOptions(command)
  addSpeechOptions(command)
}

function readNumbers(text: string): number[] {
  if (!/^\d{1,10}(,\d{1,10})*$/.test(text)) {
    throw badValue('--remove', text, 'give comma-separated image numbers, such as 3,17.')
  }
  return text.split(',').map(Number)
}

async function indexImages(
  session: Session,
  from: string,
  vectors: string | undefined,
  flags: IndexFlags,
): Promise<void> {
  const began = performance.now()
  const changes = existsSync(join(from, 'index.json'))
  if (vectors === undefined && flags.remove === undefined) {
    throw new CentroidalError(
      'bad-option',
      'Neither descriptors nor --remove are given: give descriptors to index, or images to remove.',
    )
  }
  const index = changes ? await loadIndex(from) : new ImageIndex(await loadModel(from))
  const before = index.size
  if (flags.remove) index.remove(flags.remove)
  const removed = before - index.size
  const out = await OutFolder.claim(flags.out ?? (changes ? from : 'index'))
  const descriptors = vectors === undefined ? 0 : await addVectors(session, index, vectors, flags)
  await index.save(out.path)
  const seconds = (performance.now() - began) / 1000
  const words = index.vocabulary.centers.rows
  const added = index.size - before + removed
  if (flags.json) {
    session.stdout.json({
      type: 'result',
      images: index.size,
      added,
      removed,
      descriptors,
      words,
      seconds,
      out: out.path,
    })
  } else if (!flags.quiet) {
    const { stdout } = session
    stdout.line(`${count(index.size, 'image')} indexed by ${count(words, 'word')}, in ${duration(seconds)}`)
    if (vectors !== undefined) {
      stdout.line(`  added     ${count(added, 'image')} with ${count(descriptors, 'descriptor')}`)
    }
    if (flags.remove) stdout.line(`  removed   ${count(removed, 'image')}`)
    stdout.line(`  index     ${out.path}`)
  }
}

/** How many vectors there were. */
async function addVectors(session: Session, index: ImageIndex, file: string, flags: IndexFlags): Promise<number> {
  if (flags.images === undefined) {
    throw new CentroidalError(
      'bad-option',
      'Option --images is missing: give the file with the image number of each descriptor.',
    )
  }
  const source = await openInput(session, file, flags)
  const signal = session.interruption()
  const view = createProgressView(session.stderr, flags.quiet === true, signal)
  try {
    const images = await readLabels(flags.images)
    requireLength(flags.images, images.length, source.rows, 'descriptors')
    const device = await openChosenDevice(flags)
    try {
      await index.add(source, images, {
        device,
        signal,
        onProgress: (share) => view.show({ label: 'assigning words', share }),
      })
    } finally {
      await device.close()
    }
    return source.rows
  } finally {
    view.stop()
    await source.close?.()
  }
}
