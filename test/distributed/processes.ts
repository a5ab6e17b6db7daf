/** Workers and coordinators in processes of their own, and data for them. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { LEASES } from '../../src/distributed/queue-names.ts'
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
  /** Its exit code. */
  readonly ended: Promise<number | null>

  constructor(url: string, folder: string, name: string, lock: number, ...more: string[]) {
    this.name = name
    const flags = ['--data', folder, '--threads', '1', '--device', 'cpu', '--name', name, '--lock', String(lock)]
    this.child = startCli('worker', url, ...flags, ...more)
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.said += text
      })
    }
    this.ended = new Promise((resolve) => this.child.once('close', resolve))
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
    return this.ended
  }
}

/**
 * Names of what runs have left in a store: runs and blobs, and queues if nobody died. Workers may take a moment to remove
 * theirs.
 */
export async function leftInStore(url: string, queues = true): Promise<string[]> {
  for (let attempt = 0; ; attempt++) {
    const all = url.startsWith('redis') ? await leftInRedis(url) : await leftInPostgres(url)
    const left = queues ? all : all.filter((name) => !/^(bull:)?centroidal-/.test(name))
    if (left.length === 0 || attempt === 20) return left
    await pause(100)
  }
}

async function leftInRedis(url: string): Promise<string[]> {
  const redis = new Redis(url)
  try {
    const keys = [...(await redis.keys('centroidal:*')), ...(await redis.keys('bull:centroidal-*'))]
    const left: string[] = []
    // Some expire by themselves.
    for (const key of keys) if (!key.startsWith(`bull:${LEASES}:`) && (await redis.pttl(key)) === -1) left.push(key)
    return left
  } finally {
    redis.disconnect()
  }
}

async function leftInPostgres(url: string): Promise<string[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const runs = await client.query<{ name: string }>('select run as name from centroidal.runs')
    const blobs = await client.query<{ name: string }>('select key as name from centroidal.blobs')
    const tables = ['job', 'event', 'meta'].map((table) => `select queue from bullmq.${table}`).join(' union ')
    const jobs = await client.query<{ name: string }>(`select queue as name from (${tables}) q where queue <> $1`, [
      LEASES,
    ])
    return [...runs.rows, ...blobs.rows, ...jobs.rows].map(({ name }) => name)
  } finally {
    await client.end()
  }
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
