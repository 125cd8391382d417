import { readFileSync } from 'node:fs'

const page = readFileSync(new URL('../../docs/database.md', import.meta.url), 'utf8')
const [section = ''] = /^## Roles$[^]*?(?=^## )/m.exec(page) ?? []

/** The SQL of docs/database.md: an administrator creates the roles, and after the migrations the owner grants rights. */
export const [rolesSql = '', grantsSql = ''] = [...section.matchAll(/^```sql\n([^]*?)^```/gm)].map(
  ([, sql = '']) => sql,
)
