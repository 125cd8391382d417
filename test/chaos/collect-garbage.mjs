// Loaded into a service whose memory is measured: it collects garbage on SIGUSR2.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')
process.on('SIGUSR2', () => gc()) // with an argument it would collect only the young generation
