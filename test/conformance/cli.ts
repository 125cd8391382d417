import { runCommand } from './command.ts'
import { runSuite, USAGE } from './suite.ts'

await runCommand(USAGE, runSuite)
