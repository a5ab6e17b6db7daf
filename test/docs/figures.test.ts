/** Figures in the guide are those of bench/results: whoever measures anew is told which sentences to look at. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './markdown.ts'
import { fixed, type Row, results, row, share } from './results.ts'

const guide = readFileSync(join(ROOT, 'docs/which-method.md'), 'utf8').replaceAll(/\s+/g, ' ')

const lloyd = (name: string) => fixed(row(results('lloyd').results, { name }).seconds, 2)
const sharp = (run: string) => row(results('sharp').lloyd.rows, { run })
const faiss = (file: string, data: string, k: number, run: string) =>
  row(results(file)[`faiss, ${data}`].table, { k, run })
const curve = (method: string) => row(results('closures').curves, { k: 10000, method })
const words = (method: string) => row(results('retrieval').results, { method })
const digits = (method: string) =>
  Number(row(results('sharp')['labels, handwritten digits'].rows, { method, metric: 'euclidean' }).distortion)
const recall = (quantizer: string, distance: string) => row(results('quantizers-recall').rows, { quantizer, distance })
const bits = (quantizer: string, count: number) => row(results('quantizers-bits').rows, { quantizer, bits: count })
const checks = (count: number) => row(results('agm-checks').rows, { checks: count })['share of the start']
const memory = (k: number) => row(results('sharp')['faiss, vectors'].memory, { k })['device, times']
const paperForm = () => row(results('defaults-cost').runs, { name: 'agm, paper' })
const onDevice = (method: string) => row(results('agm').peak, { method })['device, MB']
const ofTime = (file: string, data: string, k: number): number =>
  Number(faiss(file, data, k, 'faiss 1.7.3').seconds) / Number(faiss(file, data, k, 'closures-sharp, before').seconds)

test.each([
  `25 rounds in ${lloyd('centroidal cpu')} seconds, where scikit-learn takes ${lloyd('scikit-learn 1.2.1')} and faiss ${lloyd('faiss 1.7.3')}`,
  `it ends ${share(faiss('sharp', 'vectors', 2000, 'closures-sharp, before')['against faiss'])} below`,
  `${share(faiss('sharp', 'vectors', 10000, 'closures-sharp, before')['against faiss'])} below in less than a fifteenth`,
  `ends ${share(faiss('sharp-words', 'words', 10000, 'closures-sharp, before')['against faiss'])} below in 1/${fixed(ofTime('sharp-words', 'words', 10000), 0)} of the time`,
  `after ${sharp('sharp, random')['passes it in rounds']} rounds and in ${sharp('sharp, random')["of lloyd's"]} of its time, and ends ${share(sharp('sharp, random')['against lloyd'])} lower`,
  `passes it in ${sharp('nearest 50')["of lloyd's"]} of the time and ends ${share(sharp('nearest 50')['against lloyd'])} lower`,
  `\`hkm\` takes ${fixed(curve('hkm').seconds, 2)} seconds and ends ${curve('hkm')['against faiss']} above`,
  `trained in ${fixed(words('hkm')['training s'], 2)} seconds and reaches a mAP of ${fixed(words('hkm')['mAP, 1 word'], 3)}`,
  `\`closures-sharp\` in ${fixed(words('closures-sharp')['training s'], 2)} seconds with ${fixed(words('closures-sharp')['mAP, 1 word'], 3)}`,
  `ends ${fixed((digits('bisecting') / digits('sharp') - 1) * 100, 1)} % above the best`,
  `\`minibatch\` ends ${fixed((digits('minibatch') / digits('lloyd') - 1) * 100, 2)} % above \`lloyd\``,
  `it leaves ${Number(results('agm').rounds.at(-1).components).toLocaleString('en')} after ${results('agm').rounds.length} rounds`,
  `after the first round ${checks(50)} with 50, ${checks(100)} with 100, ${checks(200)} with 200`,
  `(${memory(2000)} times at k = 2,000, ${memory(10000)} at k = 10,000,`,
  `${Math.round(Number(paperForm().deviceBytes) / 2 ** 20)} MB (\`defaults-cost.json\`) where \`akm\` takes ${onDevice('akm')} (`,
  `${recall('ck, natural', 'asymmetric')['recall@1']} % of nearest neighbours come first with 64 bits, ${recall('ck, natural', 'asymmetric')['@10']} % among`,
  `\`pq\`: ${recall('pq, natural', 'asymmetric')['recall@1']} % and ${recall('pq, natural', 'asymmetric')['@10']} %`,
  `\`ok\`: ${recall('ok', 'Hamming')['@10']} % among the first 10 by Hamming distance, ${recall('ok', 'asymmetric')['@10']} %`,
  `128 bits ${bits('ck', 128)['@10']} % among the first 10, with 32 bits ${bits('ck', 32)['@10']} %`,
  `re-ranked give ${row(results('quantizers-files').rows, { 'clusters looked into': '16 of 256', 're-ranked': 'yes' })['recall@1']} %`,
  `here it is ${fixed(Number(curve('akm').seconds) / Number(curve('rakm').seconds), 1)} times as fast and ends ${fixed((Number(curve('rakm').distortion) / Number(curve('akm').distortion) - 1) * 100, 1)} % above`,
  ...['closures', 'rakm', 'akm', 'canopy', 'lloyd'].map((name) => {
    const { seconds, 'against faiss': against, 'centres looked at': looked } = curve(name)
    const signed = String(against).startsWith('-') ? against : `+${against}`
    return `| \`${name}\` | ${Number(Number(seconds).toPrecision(3))} | ${signed} | ${looked} |`
  }),
])('the guide says: %s', (sentence) => {
  expect(guide).toContain(sentence)
})

test('what is put in words is so', () => {
  const ends = results('lloyd').results.map(({ distortion }: Row) => Number(distortion))
  expect(Math.max(...ends) / Math.min(...ends) - 1).toBeLessThan(1e-4)
  expect(ofTime('sharp', 'vectors', 2000)).toBeGreaterThan(5)
  expect(ofTime('sharp', 'vectors', 10000)).toBeGreaterThan(15)
  expect(digits('bisecting, refined') / digits('sharp') - 1).toBeLessThan(0.001)
})
