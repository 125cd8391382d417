import { keysHelp, runKeys } from './keys-command.ts'
import { runProgram } from './program.ts'

await runProgram(runKeys, keysHelp)
