/** The commands under one name, and what is said about a command line that cannot be understood. */
import { Command, CommanderError } from 'commander'
import packageFile from '../../package.json' with { type: 'json' }
import { meantName } from '../index.ts'
import { addAssignCommand } from './commands/assign.ts'
import { addBenchCommand } from './commands/bench.ts'
import { addClusterCommand } from './commands/cluster.ts'
import { addCodeCommands } from './commands/codes.ts'
import { addConvertCommand } from './commands/convert.ts'
import { addEvaluateCommand } from './commands/evaluate.ts'
import { addIndexCommand } from './commands/index-images.ts'
import { addInfoCommand } from './commands/info.ts'
import { addIvfCommand } from './commands/ivf.ts'
import { addNearestCommand } from './commands/nearest.ts'
import { addQuantizeCommand } from './commands/quantize.ts'
import { addQueryCommand } from './commands/query.ts'
import { addReportCommand } from './commands/report.ts'
import { addSearchCommand } from './commands/search.ts'
import { addServeCommand } from './commands/serve.ts'
import { addShardCommand } from './commands/shard.ts'
import { addSweepCommand } from './commands/sweep.ts'
import { addTuneCommand } from './commands/tune.ts'
import { addVocabularyCommand } from './commands/vocabulary.ts'
import { addWorkerCommand } from './commands/worker.ts'
import { VECTOR_FILES } from './input-files.ts'
import type { Session } from './session.ts'

export function createProgram(session: Session): Command {
  const program = new Command('centroidal')
    .description('Clusters, quantizes and searches large sets of vectors on the GPU or the CPU.')
    .version(packageFile.version)
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .configureOutput({
      writeOut: (text) => session.stdout.write(text),
      // The error is reported like all others; commander would print the whole help for `help nonsense`.
      outputError: () => {},
      writeErr: () => {},
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? 100, 100),
    })
    .exitOverride((error) => {
      throw new CommanderError(error.exitCode, error.code, usageSentence(error))
    })
    .addHelpText(
      'after',
      `
Example:
  centroidal cluster vectors.npy -k 1000 --out run
  centroidal assign run more.npy --out labels.npy

Every command explains itself: centroidal cluster --help
Vectors may be ${VECTOR_FILES}`,
    )
  addClusterCommand(program, session)
  addSweepCommand(program, session)
  addAssignCommand(program, session)
  addQuantizeCommand(program, session)
  addCodeCommands(program, session)
  addSearchCommand(program, session)
  addIvfCommand(program, session)
  addServeCommand(program, session)
  addNearestCommand(program, session)
  addEvaluateCommand(program, session)
  addVocabularyCommand(program, session)
  addIndexCommand(program, session)
  addQueryCommand(program, session)
  addReportCommand(program, session)
  addBenchCommand(program, session)
  addShardCommand(program, session)
  addWorkerCommand(program, session)
  addConvertCommand(program, session)
  addInfoCommand(program, session)
  addTuneCommand(program, session)
  explainOptions(program)
  return program
}

/** Mistakes in the options of a command point to the help of that command, and to the nearest option it has. */
function explainOptions(command: Command): void {
  for (const inner of command.commands) {
    inner.exitOverride((error) => {
      throw new CommanderError(error.exitCode, error.code, usageSentence(error, inner))
    })
    explainOptions(inner)
  }
}

/** As it is typed: centroidal evaluate neighbours. */
function typedName(command: Command): string {
  return command.parent === null ? command.name() : `${typedName(command.parent)} ${command.name()}`
}

/** Commander's message as one sentence with a cure. */
function usageSentence({ code, message }: CommanderError, command?: Command): string {
  const [, named = ''] = /'([^']*)'/.exec(message) ?? []
  const help = `${command === undefined ? 'centroidal' : typedName(command)} --help`
  const flags = command?.options.flatMap(({ long, short }) => [long, short].filter((flag) => flag !== undefined)) ?? []
  const [, suggested] = /\(Did you mean (.*)\?\)/.exec(message) ?? []
  // What other libraries call it comes before what looks like it.
  const meant = meantName(named, flags) ?? suggested
  const lists = command === undefined ? '' : ` ${help} lists all.`
  const cure = meant === undefined ? `see ${help}.` : `did you mean ${meant}?${lists}`
  switch (code) {
    case 'commander.unknownOption':
      return `Unknown option ${named}: ${cure}`
    case 'commander.unknownCommand':
      return `Unknown command ${JSON.stringify(named)}: ${cure}`
    case 'commander.help':
      return 'Unknown command: centroidal --help lists the commands.'
    case 'commander.missingArgument':
      return `Argument <${named}> is missing: see ${help}.`
    case 'commander.optionMissingArgument':
      return `Option ${named} requires a value.`
    case 'commander.missingMandatoryOptionValue':
      return `Option ${named} is missing: see ${help}.`
    case 'commander.excessArguments':
      return `${message.replace(/^error: too many/, 'Too many').replace(/\.$/, '')}: put names with spaces in quotes; give several files as a folder, or as a pattern with * in quotes.`
    default:
      return message.replace(/^error: /, '').split('\n')[0]
  }
}
