// Ends npm ci and npm start with one line on a Node that package.json excludes: npm itself only warns.
import { readFileSync } from 'node:fs'

const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const [major, minor] = process.versions.node.split('.').map(Number)
const supported = engines.node.split(' || ').some((range) => {
  const [from, minorFrom = 0] = range.replace(/^\D+/, '').split('.').map(Number)
  return major === from ? minor >= minorFrom : major > from && range.startsWith('>=')
})
if (!supported) {
  console.error(`Node ${process.versions.node} cannot run this service: install Node ${engines.node}.`)
  process.exit(1)
}
