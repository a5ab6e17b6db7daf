/**
 * Objects in S3, or in a store that speaks its protocol: read by ranges, written at once. Credentials, region and endpoint
 * come from where the AWS SDK looks for them: environment variables, shared files, the role of the machine.
 */
import type { S3Client } from '@aws-sdk/client-s3'
import type { ByteSource } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import { optionalPackage } from '../data/optional-package.ts'

type Sdk = typeof import('@aws-sdk/client-s3')

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.*)$/

export function isObjectAddress(location: string): boolean {
  return location.startsWith('s3://')
}

/** Bucket and key. */
function addressOf(address: string): { Bucket: string; Key: string } {
  const [, Bucket, Key] = ADDRESS.exec(address) ?? []
  if (Bucket && Key) return { Bucket, Key }
  throw new CentroidalError(
    'bad-file',
    `${JSON.stringify(address)} is not the address of an object: use the form s3://bucket/key.`,
  )
}

/** One client for the process: it keeps connections and credentials. */
const shared: { opening?: Promise<{ sdk: Sdk; client: S3Client }> | undefined } = {}

function client(): Promise<{ sdk: Sdk; client: S3Client }> {
  shared.opening ??= optionalPackage<Sdk>('@aws-sdk/client-s3', 'Reading objects in S3', '@aws-sdk/client-s3').then(
    (sdk) => {
      // Stores other than Amazon's mostly serve buckets by path.
      const forcePathStyle = process.env.AWS_ENDPOINT_URL !== undefined || process.env.AWS_ENDPOINT_URL_S3 !== undefined
      return { sdk, client: new sdk.S3Client({ forcePathStyle }) }
    },
  )
  shared.opening.catch(() => {
    shared.opening = undefined
  })
  return shared.opening
}

export async function openObject(address: string): Promise<ByteSource> {
  const place = addressOf(address)
  const { sdk, client: s3 } = await client()
  const head = await s3.send(new sdk.HeadObjectCommand(place)).catch((error: unknown) => {
    throw failed('read', address, error)
  })
  const size = head.ContentLength ?? 0
  // A reader must not mix two versions of an object.
  const unchanged = head.ETag === undefined ? {} : { IfMatch: head.ETag }
  return {
    name: address,
    size,
    async read(start, end) {
      if (end > size) {
        throw new CentroidalError('bad-file', `${address} ends at byte ${size}: bytes up to ${end} were expected.`)
      }
      if (start === end) return new Uint8Array()
      const range = { ...place, ...unchanged, Range: `bytes=${start}-${end - 1}` }
      try {
        const { Body } = await s3.send(new sdk.GetObjectCommand(range))
        const bytes = await Body?.transformToByteArray()
        if (bytes?.length === end - start) return bytes
        throw new Error(`${bytes?.length ?? 0} bytes were received instead of ${end - start}`)
      } catch (error) {
        throw failed('read', address, error)
      }
    },
    async close() {},
  }
}

export async function createObject(address: string, bytes: Uint8Array): Promise<void> {
  const { sdk, client: s3 } = await client()
  try {
    await s3.send(new sdk.PutObjectCommand({ ...addressOf(address), Body: bytes }))
  } catch (error) {
    throw failed('written', address, error)
  }
}

function failed(what: 'read' | 'written', address: string, error: unknown): CentroidalError {
  if (error instanceof CentroidalError) return error
  const { name, message } = error as Error
  const why = message && message !== name ? `${name}: ${message}` : name
  return new CentroidalError(
    'bad-file',
    `${address} cannot be ${what} (${why}): check the address and your credentials.`,
    {
      cause: error,
    },
  )
}
