// node save-openapi.mjs http://localhost:4000/openapi.json openapi.json
import { writeFile } from 'node:fs/promises'

const [url, file] = process.argv.slice(2)
const text = await (await fetch(url)).text()
// A JavaScript number would round an int64, so the generated types have strings.
const document = JSON.parse(text, (_key, value) =>
  value?.format === 'int64' ? { type: 'string', pattern: '^-?\\d+$', description: value.description } : value,
)
await writeFile(file, JSON.stringify(document, null, 2))
