// Loaded by --require into every process of npm run nodes: a deprecation warning is an error, as with
// --throw-deprecation, unless it is listed here. Node emits each of its warnings once for a process.

/** Warnings that cannot be avoided, by code and by where the stack of the warning must contain a call. */
const UNAVOIDABLE = [
  // Express's router calls url.parse for a request target in absolute form. Node 24 and newer do not warn of packages.
  { code: 'DEP0169', from: '/node_modules/parseurl/' },
]

process.on('warning', (warning) => {
  const isUnavoidable = ({ code, from }) => warning.code === code && warning.stack.includes(from)
  if (warning.name === 'DeprecationWarning' && !UNAVOIDABLE.some(isUnavoidable)) throw warning
})
