import { describe, expect, test } from 'vitest'
import { openCsv } from '../../src/data/csv.ts'
import { csvEncoder } from '../../src/data/csv-write.ts'
import { fc } from '../properties.ts'
import { failure } from './failure.ts'
import { encoded, memorySource } from './memory-source.ts'

async function parse(text: string): Promise<{ cols: number; values: number[] }> {
  const table = await openCsv(memorySource('a.csv', text))
  const values = [...(await table.read(0, table.rows))]
  expect(values.length).toBe(table.rows * table.cols)
  return { cols: table.cols, values }
}

describe('what is read', () => {
  test.each([
    ['commas', '1,2\n3,4\n'],
    ['no newline at the end', '1,2\n3,4'],
    ['tabs', '1\t2\n3\t4\n'],
    ['semicolons', '1;2\n3;4\n'],
    ['blanks', '  1  2\n3 \t 4  \n'],
    ['indented with tabs', '\t1 2\n\t3 4\n'],
    ['blanks around commas', ' 1 , 2 \n\t3\t,4\n'],
    ['Windows line ends', '1,2\r\n3,4\r\n'],
    ['blank lines and comments', '# made by hand\n\n1,2\n   \n  # half-way\n3,4\n\n'],
    ['a header', 'x,y\n1,2\n3,4\n'],
    ['a header with one number in it', 'x,1\n1,2\n3,4\n'],
    ['an index without a title', ',x,y\n7,1,2\n8,3,4\n'],
    ['row names of R, without a title', '"x","y"\n"1",1,2\n"2",3,4\n'],
    ['names in the first column', 'name,x,y\nant,1,2\nbee,3,4\n'],
    ['names in the last column, with separators in quotes', 'x,y,name\n1,2,"a, b"\n3,4,"c ""d"""\n'],
    ['names without a header, as in GloVe', 'the 1 2\n" 3 4\n'],
    ['the sizes of the table first, as in word2vec', '2 2\nthe 1 2\nof 3 4\n'],
    ['a header that counts', '0,1\n1,2\n3,4\n'],
    ['a header in quotes, with another separator in it', '"x, in m";"y"\n1;2\n3;4\n'],
    ['a header after comments', '#\n# c\nx y\n\n1 2\n3 4\n'],
    ['cells in quotes', '"1","2"\n"3","4"\n'],
    ['a byte order mark', '\ufeff1,2\n3,4\n'],
    ['signs, points and exponents', '+1,2.\n.3e1,4.0E+0\n'],
  ])('%s', async (_, text) => {
    expect(await parse(text)).toEqual({ cols: 2, values: [1, 2, 3, 4] })
  })

  test('a name that looks like a comment is a row, a comment is not', async () => {
    const table = await openCsv(memorySource('a.txt', 'the 1 2\nof 3 4\n# 5 6\n# made by hand\n'))
    expect(table.rows).toBe(3)
    expect(await table.names?.()).toEqual(['the', 'of', '#'])
    expect([...(await table.read(0, 3))]).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('data that counts is not a header', async () => {
    expect((await parse('0,1\n2,3\n')).values).toEqual([0, 1, 2, 3])
  })

  test('several columns of text: the first names the rows, the others are told', async () => {
    const table = await openCsv(memorySource('a.csv', 'id,city,x\na,Rome,1\nb,Oslo,2\n'))
    expect(await table.names?.()).toEqual(['a', 'b'])
    expect(table.notes).toEqual(['Column "id" holds text and names the rows.', 'Not part of the vectors: "city".'])
    const chosen = await openCsv(memorySource('a.csv', 'id,city,x\na,Rome,1\nb,Oslo,2\n'), { names: 'city' })
    expect(await chosen.names?.()).toEqual(['Rome', 'Oslo'])
    expect([...(await chosen.read(0, 2))]).toEqual([1, 2])
  })

  test('one column', async () => {
    expect(await parse('label\n3\n1\n')).toEqual({ cols: 1, values: [3, 1] })
  })

  test('NaN and infinity are numbers, also in the first line', async () => {
    expect((await parse('nan,inf,-inf\nNaN,Infinity,-Infinity\n')).values).toEqual([
      Number.NaN,
      Infinity,
      -Infinity,
      Number.NaN,
      Infinity,
      -Infinity,
    ])
  })

  test('every decimal reads as Number() reads it', async () => {
    const decimal = fc.oneof(
      fc.double({ noDefaultInfinity: true, noNaN: true }).map(String),
      fc.tuple(fc.integer(), fc.nat()).map(([whole, decimals]) => `${whole}.${decimals}`),
      fc.double({ noDefaultInfinity: true, noNaN: true, min: -1e6, max: 1e6 }).map((value) => value.toFixed(12)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(decimal, { minLength: 1, maxLength: 20 }), async (cells) => {
        expect((await parse(cells.join(','))).values).toEqual(cells.map(Number))
      }),
    )
  })
})

describe('reading in pieces', () => {
  /** Several pieces of a megabyte, with lines of different lengths, comments in between and a header. */
  const rows = 250_000
  const line = (row: number) => `${row},${(row * 0.37).toFixed(row % 9)},-${row % 7}`
  const thousand = (row: number) => (row % 1000 === 0 ? '# thousand\n\n' : '')
  const text = `a,b,c\n${Array.from({ length: rows }, (_, row) => thousand(row) + line(row)).join('\n')}\n`

  test('any order of reads gives what one read gives', async () => {
    const table = await openCsv(memorySource('a.csv', text))
    expect([table.rows, table.cols]).toEqual([rows, 3])
    const whole = await table.read(0, rows)
    expect(whole[3 * 249_999]).toBe(249_999)
    const bounds = [0, 1, 999, 1000, 25_000, 141_000, 249_999, rows]
    for (const [start, end] of [
      ...bounds.slice(1).map((end, i) => [bounds[i], end]),
      [141_000, 141_003],
      [10, 20],
      [0, 0],
      [rows, rows],
    ]) {
      expect((await table.read(start, end)).every((value, i) => value === whole[3 * start + i])).toBe(true)
      expect((await table.read(start, end)).length).toBe(3 * (end - start))
    }
  })

  test('rows at the end are read without the beginning', async () => {
    const source = memorySource('a.csv', text)
    const table = await openCsv(source)
    const opened = source.bytesRead()
    await table.read(rows - 1, rows)
    expect(source.bytesRead() - opened).toBeLessThan(text.length / 2)
  })

  test('an error in the last piece names its line, read by itself', async () => {
    const table = await openCsv(memorySource('a.csv', `${text}1,x,3\n`))
    const lineNumber = text.split('\n').length
    expect(await failure(() => table.read(rows, rows + 1))).toContain(`line ${lineNumber}, column 2:`)
  })

  test('a line longer than a piece', async () => {
    const wide = Array.from({ length: 700_000 }, (_, i) => i % 1000)
    const { cols, values } = await parse(`${wide.join(',')}\n${wide.join(',')}\n`)
    expect(cols).toBe(700_000)
    expect(values.findIndex((value, i) => value !== wide[i % cols])).toBe(-1)
  })

  test('an error far into the file names its line', async () => {
    const lines = Array.from({ length: 400_000 }, () => '1,2')
    lines[399_998] = '1,x'
    expect(await failure(() => parse(lines.join('\n')))).toContain('"a.csv", line 399999, column 2:')
  })
})

describe('errors', () => {
  test.each([
    ['a word', '1,2\n3,four\n', '"a.csv", line 2, column 2: expected a number, found "four".'],
    [
      'a word after a header and a comment',
      'x,y\n#\n1,2\n?,2',
      '"a.csv", line 4, column 1: expected a number, found "?".',
    ],
    ['an empty cell', '1,2,3\n4,,6\n', '"a.csv", line 2, column 2: expected a number, found nothing.'],
    ['an empty last cell', '1,2\n4,\n', '"a.csv", line 2, column 2: expected a number, found nothing.'],
    ['two numbers in a cell', '1,2\n3,4 5\n', '"a.csv", line 2, column 2: expected a number, found "4 5".'],
    ['a number with a unit', '1 2\n3 4kg\n', '"a.csv", line 2, column 2: expected a number, found "4kg".'],
    ['a hexadecimal number', '1,2\n0x10,4\n', '"a.csv", line 2, column 1: expected a number, found "0x10".'],
    ['a decimal comma', '0;0\n1,5;2,5\n', '"a.csv", line 2, column 1: expected a number, found "1,5".'],
    ['decimal commas everywhere', '1,5;2\n3,5;4\n', '"a.csv", line 2, column 1: expected a number, found "3,5".'],
    ['decimal commas between tabs', '1,5\t2\n3,5\t4\n', '"a.csv", line 2, column 1: expected a number, found "3,5".'],
    ['too few cells', '\n1,2,3\n4,5\n', '"a.csv", line 3: expected 3 numbers, as in line 2, found 2.'],
    ['too many cells', '1 2\n4 5 6 7\n', '"a.csv", line 2: expected 2 numbers, as in line 1, found 4.'],
    ['two cells for one', '1\n4 5\n', '"a.csv", line 2: expected 1 number, as in line 1, found 2.'],
    ['a word beyond ASCII', 'é\n1\n 2é', '"a.csv", line 3, column 1: expected a number, found "2é".'],
    ['a missing number in the first row', 'x,y\n1,NA\n', '"a.csv", line 2, column 2: expected a number, found "NA".'],
    [
      'only text',
      'x,y\na,b\nc,d\n',
      '"a.csv" has no column of numbers: its columns are 0 to 1. Choose columns with the option columns.',
    ],
    ['an empty file', '', '"a.csv" is empty: expected lines of numbers.'],
    ['only comments', '# 1\n\n# 2', '"a.csv" is empty: expected lines of numbers.'],
    ['only a header', 'x,y\n', '"a.csv" has a header line but no rows: expected a line of numbers.'],
    [
      'a long cell, shortened',
      `1\n${'z'.repeat(99)}`,
      `"a.csv", line 2, column 1: expected a number, found "${'z'.repeat(40)}...".`,
    ],
  ])('%s', async (_, text, sentence) => {
    expect(await failure(() => parse(text))).toBe(`bad-file: ${sentence}`)
  })

  test('UTF-16', async () => {
    const utf16 = new Uint8Array(Buffer.from('\ufeff1,2\n', 'utf16le'))
    expect(await failure(() => openCsv(memorySource('a.csv', utf16)))).toBe(
      'bad-file: "a.csv" is UTF-16 text: save it as UTF-8.',
    )
  })

  test('a file that loses rows after it was opened', async () => {
    const source = memorySource('a.csv', '1,2\n3,4\n')
    const table = await openCsv(source)
    const changed = memorySource('a.csv', '1,2\n#,4\n')
    source.read = changed.read
    expect(await failure(() => table.read(0, 2))).toBe(
      'bad-file: "a.csv" changed while it was being read: row 1 is gone; read it again.',
    )
  })
})

describe('writing', () => {
  const text = (cols: number, separator: string, data: Float32Array | Uint8Array | Uint32Array) =>
    new TextDecoder().decode(encoded(csvEncoder(cols, separator), data))

  test('the fewest digits that a float needs', () => {
    expect(text(2, ',', Float32Array.of(0.1, 1e-7, 16777216, -0, Number.NaN, -Infinity))).toBe(
      '0.1,1e-7\n16777216,-0\nnan,-inf\n',
    )
    expect(text(1, '\t', Uint32Array.of(0, 4_000_000_000))).toBe('0\n4000000000\n')
    expect(text(3, '\t', Uint8Array.of(0, 1, 255))).toBe('0\t1\t255\n')
  })

  test('large, small and everyday floats', () => {
    const floats = Float32Array.of(-0.001, 123.456, 8388607.5, 1.0000001, 0.33333334, 1000.5, 3.4028235e38, 1.4e-45)
    expect(text(1, ',', floats)).toBe(
      '-0.001\n123.456\n8388607.5\n1.0000001\n0.33333334\n1000.5\n3.4028235e+38\n1.401298e-45\n',
    )
  })

  test('reads back as the same floats', async () => {
    const everyday = fc.float({ min: -5000, max: 5000, noNaN: true })
    const arrays = fc.oneof(
      fc.float32Array({ minLength: 1, maxLength: 30 }),
      fc.array(everyday, { minLength: 1, maxLength: 30 }).map((values) => Float32Array.from(values)),
    )
    await fc.assert(
      fc.asyncProperty(arrays, async (data) => {
        const { values } = await parse(text(data.length, ',', data))
        expect(Float32Array.from(values)).toEqual(data)
      }),
      { numRuns: 500 },
    )
  })

  test('whole numbers of every length', () => {
    const lengths = Array.from({ length: 10 }, (_, power) => [10 ** power - 1, 10 ** power]).flat()
    expect(text(lengths.length, ',', Uint32Array.from(lengths))).toBe(`${lengths.join(',')}\n`)
    expect(text(1, ',', Float32Array.of(-12, 2 ** 60))).toBe('-12\n1152921500000000000\n')
  })
})
