/** The text of docs/benchmarks.md with every table as bench/results has it. */
export function withTables(text: string): string
