import { runKeys, USAGE } from './keys-command.ts'
import { runProgram } from './program.ts'

await runProgram(runKeys, USAGE)
