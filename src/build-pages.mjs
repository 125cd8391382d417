// Builds the pages, GraphiQL and the API reference, into dist/public/: HTML without inline scripts, and the assets that
// it refers to, named by their content so that clients may cache them forever. Each file has compressed variants.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const require = createRequire(import.meta.url)
const out = new URL('../dist/public', import.meta.url)
const stamp = new URL('../dist/public/stamp', import.meta.url)
/** Built here and then renamed: programs that start at the same time must not see, or build, half of the files. */
const temporary = new URL(`../dist/public-${process.pid}/`, import.meta.url)

/** Brotli's highest level would take 15 seconds for GraphiQL, and save 8 %. */
const BROTLI_LEVEL = 9

/** Assets of several files: fewer requests that can fail under load. */
const BUNDLES = {
  'docs.js': ['pages/key.js', 'rest/docs/start.js'],
  'docs.css': ['pages/header.css', 'rest/docs/page.css'],
  'home.css': ['pages/home.css'],
}

const sources = ['build-pages.mjs', ...['graphql/graphiql/', 'pages/', 'rest/docs/'].flatMap(list)]
const versions = ['@graphql-yoga/render-graphiql', 'swagger-ui-dist'].map(
  (name) => require(`${name}/package.json`).version,
)
const fingerprint = sha256([...versions, ...sources.map(read)].join('\0'))

if (!isFresh()) {
  mkdirSync(new URL('assets/', temporary), { recursive: true })
  write('graphql.html', await graphiqlPage())
  write(
    'docs.html',
    page('rest/docs/page.html').replace('HEADER', () => header('Pet store API')),
  )
  write('home.html', page('pages/home.html'))
  writeFileSync(new URL('stamp', temporary), fingerprint)
  replaceOutput()
}

function isFresh() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint
}

function replaceOutput() {
  try {
    if (!isFresh()) rmSync(out, { recursive: true, force: true })
    renameSync(temporary, out)
  } catch (error) {
    if (!isFresh()) throw error
    rmSync(temporary, { recursive: true }) // another program was faster
  }
}

/** GraphiQL as graphql-yoga renders it, with the field for the API key, and its inline parts as assets. */
async function graphiqlPage() {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const examples = graphiqlExamples()
  const first = JSON.stringify(examples[0].query)
  const bootstrap = read('graphql/graphiql/bootstrap.js').replace('FIRST_EXAMPLE', () => first)
  return renderGraphiQL({ title: 'Pet store GraphiQL', defaultTabs: examples, method: 'POST' })
    .replace('</head>', (end) => `<meta name="viewport" content="width=device-width, initial-scale=1">${end}`)
    .replace('<div id="root">', (root) => header('Pet store GraphiQL') + root)
    .replace('</style>', (end) => read('pages/header.css') + read('graphql/graphiql/header.css') + end)
    .replace('<script>', (start) => `<script>${read('pages/key.js')}${bootstrap}</script>${start}`)
    .replace(/data:image\/x-icon;base64,([\w+/=]+)/, (_, icon) => asset('icon.ico', Buffer.from(icon, 'base64')))
    .replace(/<style>([^]*?)<\/style>/g, (_, css) => `<link rel="stylesheet" href="${asset('graphiql.css', css)}">`)
    .replace(/<script>([^]*?)<\/script>/g, (_, js) => `<script src="${asset('graphiql.js', js)}"></script>`)
}

/** The initial tabs: every field of Query and Mutation has an example. */
function graphiqlExamples() {
  const files = list('graphql/graphiql/examples/')
  return files
    .filter((file) => file.endsWith('.graphql'))
    .map((file) => ({ query: read(file), variables: file.replace(/graphql$/, 'json') }))
    .map(({ query, variables }) => ({ query, ...(files.includes(variables) && { variables: read(variables).trim() }) }))
}

/** A page with the URLs of its assets: bundles and files of Swagger UI. */
function page(file) {
  return read(file).replace(/(?<=(?:href|src)=")[^"]+\.(?:css|js|png)(?=")/g, (name) => {
    const content = BUNDLES[name]?.map(read).join('') ?? readFileSync(require.resolve(`swagger-ui-dist/${name}`))
    return asset(name, content)
  })
}

/** The header of both pages, with the field for the API key. */
function header(title) {
  return read('pages/header.html').replace('TITLE', title)
}

/** Writes an asset. @returns its URL, relative to the pages */
function asset(name, content) {
  const [base, extension] = name.split(/\.(?=\w+$)/)
  const path = `assets/${base}-${sha256(content).slice(0, 16)}.${extension}`
  write(path, content)
  return path
}

function write(path, content) {
  const bytes = Buffer.from(content)
  writeFileSync(new URL(path, temporary), bytes)
  if (/\.(ico|png)$/.test(path)) return
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants
  const params = { [BROTLI_PARAM_QUALITY]: BROTLI_LEVEL, [BROTLI_PARAM_SIZE_HINT]: bytes.length }
  writeFileSync(new URL(`${path}.br`, temporary), brotliCompressSync(bytes, { params }))
  writeFileSync(new URL(`${path}.gz`, temporary), gzipSync(bytes, { level: 9 }))
}

/** The files of a folder, and of its subfolders, in order. */
function list(folder) {
  const names = readdirSync(new URL(folder, import.meta.url), { recursive: true })
  return names
    .filter((name) => /\.(?!ts$)\w+$/.test(name))
    .map((name) => folder + name)
    .sort()
}

function read(file) {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex')
}
