/** Text files that a caller saves together with a model, such as a report. */
import { type OptionChecks, optionsOf, recordOf } from '../core/arguments.ts'
import { badArgument } from '../core/errors.ts'
import { OBSOLETE } from './folder-complete.ts'
import type { FolderContents } from './folder-save.ts'
import { JSON_FILES } from './sealed-json.ts'

/** Options of saving. */
export interface SaveOptions {
  /**
   * Further text files for the folder, by name, such as `{ 'notes.txt': 'the first try' }`. They are saved and replaced
   * together with the rest; {@link readSavedText} reads them. Default: none.
   */
  readonly files?: Readonly<Record<string, string>> | undefined
}

const SAVE_CHECKS: OptionChecks<SaveOptions> = { files: textFiles }

const TEXT_NAME = /^[a-z][a-z0-9-]{0,63}\.(?:json|html|txt|md|csv|svg)$/
const OWN_NAMES: readonly string[] = [...JSON_FILES, OBSOLETE]

export function withTexts(contents: FolderContents, options: SaveOptions): FolderContents {
  const { files = {} } = optionsOf('save', options, SAVE_CHECKS)
  const texts = Object.entries(files).map(([name, text]) => [name, [new TextEncoder().encode(text)]] as const)
  return { ...contents, files: { ...contents.files, ...Object.fromEntries(texts) } }
}

function textFiles(value: unknown, thing: string): Readonly<Record<string, string>> {
  const files = Object.entries(recordOf(value, thing, 'texts by file name'))
  for (const [name, text] of files) {
    if (!TEXT_NAME.test(name) || OWN_NAMES.includes(name)) {
      throw badArgument(
        `a name in ${thing}`,
        name,
        'give names such as notes.txt or report.html, in lower case and other than model.json and index.json.',
      )
    }
    if (typeof text !== 'string') throw badArgument(`${thing}[${JSON.stringify(name)}]`, text, 'give a string.')
  }
  return Object.fromEntries(files as [string, string][])
}
