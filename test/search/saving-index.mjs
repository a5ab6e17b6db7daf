/**
 * Adds, removes and saves in steps, until it is ended: saving-index.mjs <library> <index> <folder> <whole?>. Says the number of
 * every step that is saved. saved-changes.test.ts takes the same steps.
 */
const [library, from, folder, whole] = process.argv.slice(2)
const { CodeIndex, InvertedFile, matrix } = await import(library)
const kind = from.endsWith('.file') ? InvertedFile : CodeIndex
const index = await kind.load(from)
const { cols } = index.quantizer.codec
await index.save(folder)
process.stdout.write('saved 0\n')
for (let step = 1; step < 200; step++) {
  const count = 1 + (step % 7)
  const data = Float32Array.from({ length: count * cols }, (_, i) => Math.sin(step * 31 + i))
  await index.add(matrix(data, count, cols), { ids: Array.from({ length: count }, (_, i) => 1000 + step * 10 + i) })
  index.remove([step, 1000 + (step - 1) * 10])
  // An index whose last save went elsewhere writes everything.
  if (whole === 'whole') await index.save(`${folder}-other`)
  await index.save(folder)
  process.stdout.write(`saved ${step}\n`)
}
