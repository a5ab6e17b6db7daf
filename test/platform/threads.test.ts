/** Threads of the CPU device start whatever flags the process was started with. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const LIBRARY = fileURLToPath(new URL('../../dist/index.js', import.meta.url))

test.each([
  [['--input-type=module']],
  [['--input-type=module', '--expose-gc', '--title=flags', '--conditions=browser', '--no-warnings']],
])('the library works in node %j -e', async (flags) => {
  if (!existsSync(LIBRARY)) throw new Error('dist/index.js is missing: node scripts/build.mjs makes it')
  const script = `
    import { cluster } from ${JSON.stringify(pathToFileURL(LIBRARY).href)}
    const model = await cluster([[1], [2], [8], [9]], { k: 2, device: { kind: 'cpu', threads: 2 } })
    console.log(model.sizes.join())
  `
  const env = { ...process.env, NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '-e', script], { env, timeout: 30_000 })
  expect(stdout).toBe('2,2\n')
})
