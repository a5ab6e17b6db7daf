/** Files that are dropped on the page, pasted into it, or picked. */
export function takeFiles(input: HTMLInputElement, highlight: HTMLElement, take: (files: File[]) => void): void {
  const offer = (list: FileList | null | undefined): void => {
    if (list && list.length > 0) take([...list])
  }
  input.addEventListener('change', () => {
    offer(input.files)
    // The same file can be picked again.
    input.value = ''
  })
  document.addEventListener('paste', ({ clipboardData }) => offer(clipboardData?.files))
  document.addEventListener('dragover', (event) => {
    event.preventDefault()
    highlight.classList.add('over')
  })
  document.addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) highlight.classList.remove('over')
  })
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    highlight.classList.remove('over')
    offer(event.dataTransfer?.files)
  })
}
