import { codeIn } from './files.ts'

/** The SQL of docs/database.md: an administrator creates the roles, and after the migrations the owner grants rights. */
export const [rolesSql = '', grantsSql = ''] = codeIn('docs/database.md', 'Roles')
