/** The front page: a picture of points that are clustered by themselves, the device in one line, a button that copies. */
import { Engine } from '../engine/engine.ts'
import type { DeviceReport } from '../engine/protocol.ts'
import { element, put } from '../shell/dom.ts'
import { isolate } from '../shell/isolation.ts'
import { LivePicture } from './picture.ts'

const picture = new LivePicture(element('picture'), (text) => put('picture-state', text))

element('copy-install').addEventListener('click', async () => {
  const text = element('install').textContent ?? ''
  try {
    await navigator.clipboard.writeText(text)
    put('copy-install', 'Copied')
    put('announcement', `Copied: ${text}`)
  } catch {
    // Insecure pages may not write to the clipboard; selected text can be copied by hand.
    getSelection()?.selectAllChildren(element('install'))
    put('announcement', 'Selected. Press Control or Command and C to copy.')
  }
  setTimeout(() => put('copy-install', 'Copy'), 2000)
})

// If the page is about to load again, nothing should begin.
if (await isolate('./')) {
  const engine = new Engine({
    onDevice: showDevice,
    onFailure: ({ message }) => {
      put('device-line', `This browser cannot run centroidal: ${message}`)
      put('picture-state', 'Points in the plane')
    },
  })
  engine.open('auto')
  void picture.run(engine)
}

/** One line; why it is this device is shown to a pointer that rests on it. */
function showDevice({ kind, name, reason }: DeviceReport): void {
  put('device-line', kind === 'webgpu' ? `Your device: ${name}, by WebGPU.` : `Your device: ${name}.`)
  element('device-line').title = reason
}
