import { readdirSync, statSync } from 'node:fs'

const files = readdirSync(new URL('../../dist/public/assets/', import.meta.url))

/** The paths of all assets of the pages, without their compressed forms. */
export const assets = files.filter((file) => !/\.(br|gz)$/.test(file)).map((file) => `/assets/${file}`)

const sizeOf = (path: string) => statSync(new URL(`../../dist/public${path}`, import.meta.url)).size

export const largestAsset = assets.toSorted((a, b) => sizeOf(b) - sizeOf(a))[0] ?? ''

/** An asset that is small. */
export const docsScript = assets.find((path) => /^\/assets\/docs-.*\.js$/.test(path)) ?? ''
