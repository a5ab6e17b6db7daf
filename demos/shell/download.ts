/** Hands bytes out as a file. */
export function download(bytes: Uint8Array<ArrayBuffer>, name: string, type = 'application/octet-stream'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([bytes], { type }))
  link.download = name
  link.click()
  // The browser has taken the bytes over when the click returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
