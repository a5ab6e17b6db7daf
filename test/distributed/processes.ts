/** Workers and coordinators in processes of their own, and data for them. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { blobs, writeShards, writeVectors } from '../../src/index.ts'
import { startCli } from '../cli/run-cli.ts'

export interface TestData {
  readonly folder: string
  readonly manifest: string
  remove(): void
}

/** 12 shards in 4 files. */
export async function writeData(rows = 3000, cols = 16): Promise<TestData> {
  const folder = mkdtempSync(join(tmpdir(), 'centroidal-shards-'))
  const files: string[] = []
  for (let i = 0; i < 4; i++) {
    const file = join(folder, `part-${i}.npy`)
    await writeVectors(file, blobs({ rows, cols, clusters: 30, seed: i }).vectors)
    files.push(file)
  }
  const manifest = join(folder, 'shards.json')
  await writeShards(manifest, files, { rows: Math.ceil(rows / 3) })
  return { folder, manifest, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export class TestWorker {
  readonly child: ChildProcess
  readonly name: string
  said = ''
  readonly #ended: Promise<number | null>

  constructor(url: string, folder: string, name: string, lock: number, ...more: string[]) {
    this.name = name
    const flags = ['--data', folder, '--threads', '1', '--device', 'cpu', '--name', name, '--lock', String(lock)]
    this.child = startCli('worker', url, ...flags, ...more)
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.said += text
      })
    }
    this.#ended = new Promise((resolve) => this.child.once('close', resolve))
  }

  /** Waits until it has said something. */
  async says(what: RegExp): Promise<this> {
    while (!what.test(this.said)) {
      if (this.child.exitCode !== null) throw new Error(`Worker ${this.name} ended: ${this.said}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return this
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  /** Ends it, and returns its exit code. */
  async end(name: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    this.child.kill(name)
    return this.#ended
  }
}

/** Everything of a saved run that must not depend on who computed it. */
export function savedBits(folder: string): object {
  const model = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8').replace(/^[^{]*/, '')) as {
    iterations: { seconds: number }[]
    stopped: string
  }
  return {
    centers: readFileSync(join(folder, 'centers.npy')).toString('base64'),
    labels: readFileSync(join(folder, 'labels.npy')).toString('base64'),
    stopped: model.stopped,
    iterations: model.iterations.map(({ seconds: _, ...rest }) => rest),
  }
}
