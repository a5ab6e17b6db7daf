/** The result of a campaign as text and as JSON. */
import type { AreaTally, DistinctFailure } from './campaign.ts'

export function tableOf(tallies: readonly AreaTally[]): string {
  const rows = tallies.map(({ area, tries, failures, seconds, distinct }) => [
    area.title,
    number(tries),
    failures === 0 ? '0' : `${number(failures)}: ${kindsOf([...distinct.values()])}`,
    seconds.toFixed(0),
  ])
  const sum = (of: (tally: AreaTally) => number): number => tallies.reduce((total, tally) => total + of(tally), 0)
  rows.push(['all', number(sum(({ tries }) => tries)), number(sum(({ failures }) => failures)), ''])
  return markdownTable(['area', 'tries', 'failures', 'seconds'], rows)
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')
}

/** A line for each distinct failure, with the command that shows it again. */
export function failureLines(tallies: readonly AreaTally[], seed: number): string[] {
  return tallies.flatMap(({ distinct }) =>
    [...distinct.values()].map(
      ({ area, kind, message, note, number: at, count }) =>
        `${area}: ${kind} (${count}x): ${oneLine(message)}${note === '' ? '' : ` [${oneLine(note)}]`}\n` +
        `  npm run fuzz -- --repeat ${area}:${seed}:${at}`,
    ),
  )
}

export function asJson(tallies: readonly AreaTally[], seed: number, seconds: number): string {
  const areas = tallies.map(({ area, tries, failures, seconds: spent, distinct }) => ({
    area: area.name,
    title: area.title,
    tries,
    failures,
    seconds: Math.round(spent),
    distinct: [...distinct.values()],
  }))
  return `${JSON.stringify({ seed, seconds: Math.round(seconds), areas }, undefined, 2)}\n`
}

/** "12 hangs, 3 raw errors". */
function kindsOf(failures: readonly DistinctFailure[]): string {
  const counts = new Map<string, number>()
  for (const { kind, count } of failures) counts.set(kind, (counts.get(kind) ?? 0) + count)
  return [...counts].map(([kind, count]) => `${number(count)} ${kind}`).join(', ')
}

function number(value: number): string {
  return value.toLocaleString('en')
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 300 ? `${line.slice(0, 300)}...` : line
}
