/** Saves two models to the same folder in turn until it is ended: saving-process.mjs <library> <folder> <model> <model> */
const [library, folder, ...models] = process.argv.slice(2)
const { loadModel } = await import(library)
const loaded = await Promise.all(models.map((model) => loadModel(model)))
process.stdout.write('ready\n')
for (let i = 0; ; i++) await loaded[i % loaded.length].save(folder, { files: { 'notes.txt': `${i % loaded.length}` } })
