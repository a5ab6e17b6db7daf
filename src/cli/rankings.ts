/** Rankings as files: one JSON object a line, `{"query": 7, "images": [7, 12], "scores": [1, 0.4]}`, as --json prints them. */
import { rm, writeFile } from 'node:fs/promises'
import { CentroidalError, type QueryRanking, readIntegers } from '../index.ts'
import { cannotWrite } from './out-folder.ts'
import { replaceFile } from './replace-file.ts'
import { temporaryBeside } from './temporary.ts'
import { readTextFile } from './text-file.ts'

export interface RankingsFile {
  write(rankings: readonly QueryRanking[]): Promise<void>
  /** Removes everything except the finished file. */
  release(): Promise<void>
}

/** Checks immediately whether the file can be written. The file appears under its name only when it is complete. */
export async function claimRankings(path: string): Promise<RankingsFile> {
  const probe = await temporaryBeside(path)
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      throw cannotWrite(path, error)
    }
  }
  await attempt(() => writeFile(probe, ''))
  return {
    write: (rankings) =>
      attempt(async () => {
        const lines = rankings.map(({ query, images, scores }) =>
          JSON.stringify({ query, images: Array.from(images), scores: Array.from(scores) }),
        )
        await replaceFile(path, `${lines.join('\n')}\n`)
      }),
    release: () => rm(probe, { force: true }),
  }
}

export async function readRankings(file: string): Promise<{ query: number; images: number[] }[]> {
  const rankings: { query: number; images: number[] }[] = []
  const text = await readTextFile(file)
  if (text === undefined) {
    throw new CentroidalError('bad-file', `Cannot read ${JSON.stringify(file)}: there is no such file; check the name.`)
  }
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const { type = 'ranking', query, images } = parsed(line)
    // The last line of --json.
    if (type !== 'ranking') continue
    if (!Number.isInteger(query) || !Array.isArray(images) || !images.every(Number.isInteger)) {
      throw new CentroidalError(
        'bad-file',
        `Line ${i + 1} of ${JSON.stringify(file)} is not a ranking: give a file written by centroidal query --out.`,
      )
    }
    rankings.push({ query: query as number, images })
  }
  return rankings
}

function parsed(line: string): Record<string, unknown> {
  try {
    return (JSON.parse(line) as Record<string, unknown> | null) ?? {}
  } catch {
    return {}
  }
}

/** Rows of an image and its group; or one group a row, for images 0, 1, 2... */
export async function readGroups(file: string): Promise<Map<number, number>> {
  const { rows, cols, data } = await readIntegers(file)
  if (cols === 2) return new Map(Array.from({ length: rows }, (_, i) => [data[2 * i], data[2 * i + 1]]))
  if (cols === 1 || rows === 1) return new Map(Array.from(data, (group, image) => [image, group]))
  throw new CentroidalError(
    'bad-data',
    `${JSON.stringify(file)} is ${rows} x ${cols}: give one group per row (of images 0, 1, 2...), or an image and its group per row.`,
  )
}
