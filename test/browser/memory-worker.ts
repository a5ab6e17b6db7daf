/** Answers with what the platform remembers, in a worker, and remembers something itself. */
import { platform } from '#platform'

self.onmessage = async ({ data }: MessageEvent<{ recall: string; remember: string }>) => {
  const found = await platform.recall(data.recall)
  await platform.remember(data.remember, 'from a worker')
  self.postMessage(found)
}
