/** docs/api.md from the model that api-extractor makes of the types: one page, by theme. */
import { ApiItemKind, ReleaseTag } from '@microsoft/api-extractor-model'

/** Themes in their order, and the files of src whose exports belong to each. */
const THEMES = [
  ['Clustering', /^(clustering|models)\//],
  ['Devices', /^(device\/|kernels\/|vectors\/)/],
  ['Data', /^(data|math|core\/(?!errors))/],
  ['Quantizers', /^quantize\//],
  ['Search', /^search\//],
  ['Retrieval', /^retrieval\//],
  ['Several machines', /^distributed\//],
  ['Metrics', /^metrics\//],
  ['Errors', /^core\/errors/],
]
/** What a program calls comes before what it names. */
const KINDS = [
  ApiItemKind.Function,
  ApiItemKind.Class,
  ApiItemKind.Interface,
  ApiItemKind.TypeAlias,
  ApiItemKind.Variable,
]

/** The page; what is missing in the sources is added to `problems`. */
export function renderReference(apiPackage, problems) {
  const exported = apiPackage.entryPoints[0].members.filter(isPublic)
  const themes = THEMES.map(([name, files]) => ({
    name,
    items: exported.filter((item) => files.test(fileOf(item))).sort(byKind),
  }))
  for (const item of exported) {
    if (!themes.some(({ items }) => items.includes(item))) {
      problems.push(`${item.displayName} of ${fileOf(item)} belongs to no theme: name its room in reference-page.mjs.`)
    }
  }
  const page = new Page(themes, problems)
  const lines = [
    '# API reference',
    '',
    "Everything that `import { ... } from 'centroidal'` gives, made from the comments in the sources by",
    '`node scripts/reference.mjs`. Every example is run by a test; a value behind `// =>` is what comes out.',
    '',
    ...themes.map(({ name, items }) => {
      const called = items.filter(isCalled).map(({ displayName }) => page.link(displayName))
      return `- ${page.link(name)}: ${called.join(', ')}`
    }),
    '',
    ...themes.flatMap(({ name, items }) => [`## ${name}`, '', ...items.flatMap((item) => page.item(item))]),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}

const isPublic = (item) => item.releaseTag !== ReleaseTag.Internal
const isCalled = ({ kind }) => kind === ApiItemKind.Function || kind === ApiItemKind.Class
const fileOf = ({ fileUrlPath = '' }) => fileUrlPath.replace(/^.*types\/src\//, '')

function byKind(a, b) {
  return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.displayName < b.displayName ? -1 : 1)
}

class Page {
  /** Headings that differ in case alone are numbered, as Markdown viewers do. */
  #anchors = new Map()
  #problems

  constructor(themes, problems) {
    this.#problems = problems
    const taken = new Map()
    const headings = themes.flatMap(({ name, items }) => [name, ...items.map(({ displayName }) => displayName)])
    for (const heading of headings) {
      const plain = heading.toLowerCase()
      const count = taken.get(plain) ?? 0
      taken.set(plain, count + 1)
      this.#anchors.set(heading, count === 0 ? plain : `${plain}-${count}`)
    }
  }

  link(name, text = name) {
    const anchor = this.#anchors.get(name)
    if (anchor === undefined) this.#problems.push(`A comment links to ${name}, which is not at the public door.`)
    return `[${text}](#${anchor})`
  }

  item(item) {
    const { displayName, kind } = item
    const lines = [`### ${displayName}`, '', ...this.#paragraphs(item), '']
    if (kind !== ApiItemKind.Interface && kind !== ApiItemKind.Class) {
      // Declarations are "typescript", what runs is "ts".
      lines.push('```typescript', signature(item), '```', '')
    }
    const bases = [...(item.extendsTypes ?? []), ...(item.extendsType ? [item.extendsType] : [])]
    for (const { excerpt } of bases) lines.push(`Extends ${this.#type(excerpt.text)}.`, '')
    const members = (item.members ?? []).filter(isPublic)
    for (const member of members) lines.push(this.#member(member))
    if (members.length > 0) lines.push('')
    const examples = examplesOf(item)
    if (isCalled(item) && examples.length === 0) this.#problems.push(`${displayName} has no @example.`)
    for (const example of examples) lines.push('```ts', example, '```', '')
    return lines
  }

  /** An option, property or method: name and type, then what it is. */
  #member(member) {
    const { displayName, kind, isOptional } = member
    const text = this.#paragraphs(member).join('\n').replaceAll('\n', '\n  ')
    if (kind !== ApiItemKind.PropertySignature && kind !== ApiItemKind.Property) {
      return `- \`${signature(member).replace(/\s+/g, ' ')}\`: ${text}`
    }
    const type = member.propertyTypeExcerpt.text.replace(/\s+/g, ' ')
    const said = isOptional ? type.replace(/ \| undefined$/, '') : type
    return `- \`${displayName}${isOptional ? '?' : ''}\` (${this.#type(said)}): ${text}`
  }

  /** A type as code; those of this page are links where they stand alone. */
  #type(text) {
    return this.#anchors.has(text) ? this.link(text) : `\`${text}\``
  }

  #paragraphs({ tsdocComment }) {
    const nodes = tsdocComment?.summarySection.nodes ?? []
    const texts = nodes.map((node) => this.#inline(node).trim()).filter((text) => text !== '')
    return texts.flatMap((text, i) => (i === 0 ? [text] : ['', text]))
  }

  #inline(node) {
    switch (node.kind) {
      case 'PlainText':
        return node.text
      case 'EscapedText':
        return node.decodedText
      case 'CodeSpan':
        return `\`${node.code}\``
      case 'SoftBreak':
        return '\n'
      case 'LinkTag': {
        const names = node.codeDestination.memberReferences.map(({ memberIdentifier }) => memberIdentifier.identifier)
        return this.link(names[0], names.join('.'))
      }
      default:
        return node
          .getChildNodes()
          .map((child) => this.#inline(child))
          .join('')
    }
  }
}

function signature({ kind, excerpt }) {
  const text = excerpt.text.replace(/^export (declare )?/, '').replace(/;$/, '')
  return kind === ApiItemKind.Variable ? `const ${text}` : text
}

function examplesOf({ tsdocComment }) {
  const blocks = tsdocComment?.customBlocks.filter(({ blockTag }) => blockTag.tagName === '@example') ?? []
  return blocks.flatMap(({ content }) => fences(content)).map(({ code }) => code.trim())
}

function fences(node) {
  return node.kind === 'FencedCode' ? [node] : node.getChildNodes().flatMap(fences)
}
