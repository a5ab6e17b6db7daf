/** Names of rows, one a line. Fewer or more than rows are a mistake worth a sentence. */
export function parseNames(text: string, fileName: string, rows: number): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  if (lines.length !== rows) {
    throw new Error(
      `"${fileName}" has ${lines.length.toLocaleString('en')} lines and the vectors ${rows.toLocaleString('en')} rows: give one name a line.`,
    )
  }
  return lines
}
