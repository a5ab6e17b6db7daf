/** How to start a headless Chromium with WebGPU, for Playwright's launch options. */
export function chromiumLaunchOptions(): Promise<{
  executablePath: string
  args: string[]
  env?: Record<string, string>
}>
