// Builds the pages (GraphiQL, the API reference and the home page) into dist/public/: HTML without inline scripts, and its
// assets, whose names contain a hash so that clients may cache them forever. Each file but images has compressed variants.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { renderGraphiQL } from '@graphql-yoga/render-graphiql'
import { read, replace, root } from './files.mjs'

const require = createRequire(import.meta.url)

/** Brotli's highest level would take 15 seconds for GraphiQL, and save 8 %. */
const BROTLI_LEVEL = 9

/** Assets and the files that each consists of. With fewer assets, fewer requests can fail under load. */
const BUNDLES = {
  'docs.js': ['pages/key.js', 'pages/reference/start.js'],
  'docs.css': ['pages/header.css', 'pages/reference/page.css'],
  'home.css': ['pages/home/home.css'],
  'home.js': ['pages/home/home.js'],
}

write('graphql.html', graphiqlPage())
write('docs.html', page('pages/reference/page.html').replace('HEADER', header('docs')))
write('home.html', page('pages/home/home.html').replace('VERSION', require('../../package.json').version))

/** GraphiQL as graphql-yoga renders it, with the field for the API key. Its inline scripts and styles are assets. */
function graphiqlPage() {
  const examples = graphiqlExamples()
  const first = JSON.stringify(examples[0].query)
  const bootstrap = source('pages/graphiql/bootstrap.js').replace('FIRST_EXAMPLE', () => first)
  return renderGraphiQL({ title: 'Pet store GraphiQL', defaultTabs: examples, method: 'POST' })
    .replace('</head>', (end) => `<meta name="viewport" content="width=device-width, initial-scale=1">${end}`)
    .replace('<div id="root">', (start) => header('graphql') + start)
    .replace('</style>', (end) => source('pages/header.css') + source('pages/graphiql/graphiql.css') + end)
    .replace('<script>', (start) => `<script>${source('pages/key.js')}${bootstrap}</script>${start}`)
    .replace(/data:image\/x-icon;base64,([\w+/=]+)/, (_, icon) => asset('icon.ico', Buffer.from(icon, 'base64')))
    .replace(/<style>([^]*?)<\/style>/g, (_, css) => `<link rel="stylesheet" href="${asset('graphiql.css', css)}">`)
    .replace(/<script>([^]*?)<\/script>/g, (_, js) => `<script src="${asset('graphiql.js', js)}"></script>`)
}

/** The initial tabs: every root field has an example. */
function graphiqlExamples() {
  const files = readdirSync(join(root, 'src'), { recursive: true })
  const examples = files.filter((file) => /\bexamples\b.*\.graphql$/.test(file))
  return examples.sort().map((file) => ({
    query: source(file),
    variables: read(`src/${file.replace(/graphql$/, 'json')}`)
      ?.toString()
      .trim(),
  }))
}

/** A page in which the URLs of assets (BUNDLES, and files of Swagger UI) replace their names. */
function page(file) {
  return source(file).replace(/(?<=(?:href|src)=")[^"]+\.(?:css|js|png)(?=")/g, (name) => {
    const content = BUNDLES[name]?.map(source).join('') ?? readFileSync(require.resolve(`swagger-ui-dist/${name}`))
    return asset(name, content)
  })
}

/** The header of a page, which marks the link to the page itself. */
function header(path) {
  return source('pages/header.html').replace(`href="${path}"`, '$& aria-current="page"')
}

/** @returns the URL of the asset, relative to the pages */
function asset(name, content) {
  const [base, extension] = name.split(/\.(?=\w+$)/)
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
  const path = `assets/${base}-${hash}.${extension}`
  write(path, content)
  return path
}

/** Writes a file after its compressed variants, unless the same file exists: compressing GraphiQL takes a second. */
function write(name, content) {
  const path = `dist/public/${name}`
  const bytes = Buffer.from(content)
  if (read(path)?.equals(bytes)) return
  if (!/\.(ico|png)$/.test(path)) {
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants
    const params = { [BROTLI_PARAM_QUALITY]: BROTLI_LEVEL, [BROTLI_PARAM_SIZE_HINT]: bytes.length }
    replace(`${path}.br`, brotliCompressSync(bytes, { params }))
    replace(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
  replace(path, bytes)
}

function source(file) {
  return read(`src/${file}`).toString()
}
