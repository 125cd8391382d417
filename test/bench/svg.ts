import type { Result } from './report.ts'

const row = 17
const column = 470
const label = 210
/** Position of the ratio 1. Longer bars are cut at the edge. */
const one = 43
const longest = 195

const apis = [
  { name: 'REST', prefix: 'rest-' },
  { name: 'GraphQL', prefix: 'graphql-' },
]

/** The service with another part of its own, which decisions compare, is not in the picture. */
const hidden = new Set(['without-executor', 'query-raw'])

/**
 * The comparison as bars, one column an API. A thin line shows the least and the greatest round. Colours of its own for
 * light and for dark, on a ground of its own: it reads the same wherever it is shown.
 */
export function draw(results: Result[], about: Record<string, string>): string {
  const shown = results.filter(({ variant }) => !hidden.has(variant))
  const columns = apis
    .map(({ name, prefix }) => ({ name, results: shown.filter(({ workload }) => workload.startsWith(prefix)) }))
    .filter(({ results }) => results.length)
    .map(({ name, results }, i) => drawApi(name, results, 20 + i * column))
  const height = Math.max(...columns.map(({ bottom }) => bottom)) + 62
  const width = 20 + columns.length * column
  const notes = [
    'Requests a second against the peer at the dotted line: longer is faster, up to 4.5, where bars end. Thin lines: least and greatest round.',
    `Node ${about.node?.slice(1)}; ${about.cores}; ${about.load}; ${about.rounds}; ${about.rows}.`,
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>Requests a second of the service and of its peers, as ratios</title>
<style>
  :root { --ground: #fff; --ink: #1f2328; --faint: #59636e; --peer: #b6c0cc; --ours: #1a7f37; --line: #59636e }
  @media (prefers-color-scheme: dark) {
    :root { --ground: #0d1117; --ink: #f0f6fc; --faint: #9198a1; --peer: #4d5866; --ours: #3fb950; --line: #9198a1 }
  }
  text { font: 12px system-ui, sans-serif; fill: var(--ink) }
  .api { font-size: 16px; font-weight: 600 }
  .workload { font-weight: 600 }
  .note { fill: var(--faint) }
  .ours { font-weight: 600; fill: var(--ours) }
  .end { text-anchor: end }
</style>
<rect width="100%" height="100%" rx="6" style="fill: var(--ground)"/>
${columns.map(({ svg }) => svg).join('\n')}
${notes.map((note, i) => text(20, height - 34 + i * 18, 'note', note)).join('\n')}
</svg>
`
}

function drawApi(name: string, results: Result[], x: number): { svg: string; bottom: number } {
  let y = 34
  const parts = [text(x, y, 'api', name)]
  for (const workload of new Set(results.map((result) => result.workload))) {
    y += row + 10
    parts.push(text(x, y, 'workload', titles[workload.slice(workload.indexOf('-') + 1)] ?? workload))
    const sorted = results
      .filter((result) => result.workload === workload)
      .sort((a, b) => b.ratio.median - a.ratio.median)
    const top = y + 5
    for (const result of sorted) parts.push(drawBar(result, x, (y += row)))
    const at = x + label + one
    parts.push(`<path d="M${at} ${top}V${y + 4}" style="stroke: var(--line)" stroke-dasharray="1 3"/>`)
  }
  return { svg: parts.join('\n'), bottom: y }
}

function drawBar({ variant, title, ratio }: Result, x: number, y: number): string {
  const ours = variant === 'service'
  const left = x + label
  const end = (value: number) => left + Math.min(longest, value * one)
  const colour = ours ? 'var(--ours)' : 'var(--peer)'
  return [
    text(left - 8, y, ours ? 'ours end' : 'end', title),
    `<rect x="${left}" y="${y - 10}" width="${(end(ratio.median) - left).toFixed(1)}" height="12" rx="2" style="fill: ${colour}"/>`,
    `<path d="M${end(ratio.min).toFixed(1)} ${y - 4}H${end(ratio.max).toFixed(1)}" style="stroke: var(--ink)"/>`,
    text(end(Math.max(ratio.max, ratio.median)) + 6, y, ours ? 'ours' : '', ratio.median.toFixed(2)),
  ].join('')
}

function text(x: number, y: number, kind: string, content: string): string {
  return `<text x="${x.toFixed(1)}" y="${y}"${kind && ` class="${kind}"`}>${content.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</text>`
}

const titles: Record<string, string> = {
  'list-hot': 'list of 20, identical requests',
  'list-spread': 'list of 20, anywhere in the table',
  'get-hot': 'one animal, identical requests',
  'get-spread': 'one animal, any',
  create: 'create',
}
