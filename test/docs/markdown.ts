/** The code blocks of the documents, by the heading they stand under. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

export interface CodeBlock {
  readonly language: string
  readonly code: string
  /** Of the fence in the file, from 1. */
  readonly line: number
}

export interface Section {
  /** README.md#Library */
  readonly name: string
  readonly blocks: readonly CodeBlock[]
}

/** Every document people read before or while they use the package. */
export function documents(): string[] {
  const inDocs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
  return ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', ...inDocs.map((name) => `docs/${name}`).sort()]
}

/** Sections of a document that have code blocks. */
export function sectionsOf(path: string): Section[] {
  const sections: { name: string; blocks: CodeBlock[] }[] = []
  let heading = path
  let open: { language: string; line: number; code: string[] } | undefined
  readFileSync(join(ROOT, path), 'utf8')
    .split('\n')
    .forEach((text, i) => {
      const fence = /^\s*```(\S*)/.exec(text)
      if (open && fence) {
        const name = `${path}#${heading}`
        if (sections.at(-1)?.name !== name) sections.push({ name, blocks: [] })
        sections.at(-1)?.blocks.push({ language: open.language, line: open.line, code: open.code.join('\n') })
        open = undefined
      } else if (open) open.code.push(text)
      else if (fence) open = { language: fence[1], line: i + 1, code: [] }
      else heading = /^#+ (.*)$/.exec(text)?.[1] ?? heading
    })
  if (open) throw new Error(`${path} ends inside a code block`)
  return sections
}

/**
 * The ts blocks of a section as one module. A line that ends with `// => value` has to come to that value:
 * a statement `const x = ...` by what x is then, any other by what the expression is.
 */
export function moduleOf(section: Section, prelude = ''): string {
  const blocks = section.blocks.filter(({ language }) => language === 'ts')
  const lines = blocks.flatMap(({ code, line }) =>
    code.split('\n').map((text, i) => checked(text, `${section.name}, line ${line + 1 + i}`)),
  )
  return ['export {}', prelude, ...lines].join('\n')
}

function checked(text: string, place: string): string {
  const match = /^(?<statement>\S.*?)\s*\/\/ => (?<value>.+)$/.exec(text)
  if (!match?.groups) {
    if (text.includes('// =>')) throw new Error(`${place}: a value can only stand behind a statement of one line`)
    return text
  }
  const { statement, value } = match.groups
  const declared = /^const (\w+) = /.exec(statement)?.[1]
  const where = JSON.stringify(place)
  return declared
    ? `${statement}; expectValue(${declared}, ${value}, ${where})`
    : `expectValue(${statement}, ${value}, ${where})`
}
