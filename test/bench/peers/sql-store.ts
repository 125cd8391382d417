import type { Animal, Store } from './store.ts'

const columns = 'id, name, category_id AS "categoryId", status'

/** SQL by hand, a statement for each request. @param query prepares a statement under its name */
export function createSqlStore<Int>(
  query: (name: string, text: string, values: unknown[]) => Promise<Animal<Int>[]>,
): Store<Int> {
  return {
    async list(limit, olderThan) {
      const rows = olderThan
        ? await query('page', `SELECT ${columns} FROM animal WHERE id < $2 ORDER BY id DESC LIMIT $1`, [
            limit + 1,
            olderThan,
          ])
        : await query('first', `SELECT ${columns} FROM animal ORDER BY id DESC LIMIT $1`, [limit + 1])
      return { animals: rows.slice(0, limit), more: rows.length > limit }
    },
    async get(id) {
      const [row] = await query('get', `SELECT ${columns} FROM animal WHERE id = $1`, [id])
      return row
    },
    async create({ name, categoryId, status = null }) {
      const insert = `INSERT INTO animal (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${columns}`
      const [row] = await query('create', insert, [name, categoryId, status])
      if (!row) throw new Error('INSERT returned nothing')
      return row
    },
  }
}
