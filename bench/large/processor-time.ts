/** Seconds of the processor that this process has used on all its threads. */
export function processorSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
