/**
 * Every form of the kernels that have several, on this machine's WebGPU adapter: what tuning sees, and what it takes.
 *
 *   npm run bench -- forms
 *
 * Only forms that give the same bits as the default one are exchanged; of the others, the table shows what they would
 * gain. Another adapter is chosen by VK_ICD_FILENAMES, such as lavapipe's.
 */
import { openDevice, tune } from '../src/index.ts'
import { keepResults, printTable } from './table.ts'

const device = await openDevice({ kind: 'webgpu', tune: false })
const began = performance.now()
const automatic = await tune({ device })
const automaticSeconds = (performance.now() - began) / 1000
const { adapter, forms, timings, speed } = await tune({ device, all: true })
await device.close()

const formOf = (kernel: string, shape: string): unknown => {
  const narrow = forms.narrow as Readonly<Record<string, string>> | undefined
  return (shape === 'narrow' ? narrow?.[kernel] : undefined) ?? forms[kernel]
}
const rows = timings.map(({ kernel, shape, form, seconds, gflops, exchangeable }) => {
  const rivals = timings.filter((other) => other.kernel === kernel && other.shape === shape)
  const [standard] = rivals
  const alone = rivals.filter((other) => other.exchangeable).length === 1
  const taken = exchangeable && (alone || formOf(kernel, shape) === form)
  return {
    kernel,
    rows: shape,
    form,
    ms: seconds * 1e3,
    'GFLOP/s': gflops,
    'of the default': gflops / standard.gflops,
    bits: exchangeable ? 'same' : 'other',
    taken: taken ? 'yes' : '',
  }
})
printTable(`Forms of kernels, ${adapter}`, rows)
printTable('Speeds that auto goes by', [
  { 'exact GFLOP/s': speed.exact.gflops, 'closures-sharp': speed.closures.gflops, 'seconds to tune': automaticSeconds },
])
keepResults('forms', {
  adapter,
  forms,
  timings,
  speed,
  automatic: { forms: automatic.forms, seconds: automaticSeconds },
})
