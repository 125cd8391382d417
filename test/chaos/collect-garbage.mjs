// Loaded into a service whose memory is measured: it collects garbage on SIGUSR2.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
process.on('SIGUSR2', runInNewContext('gc'))
