import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { ApiError, invalidArgumentError } from '../../errors.ts'
import { OperatorError } from '../../lib/operator-error.ts'
import type { Plugin, TrustedDocuments } from '../context.ts'
import type { RequestParams } from '../params.ts'

/** The prefix `sha256:` is GraphQL over HTTP's, and graphql-codegen's since its client preset 6. */
const withoutPrefix = (id: string) => id.replace(/^sha256:/, '')

const Manifest = z.record(z.string().regex(/^(sha256:)?[0-9a-f]{64}$/), z.string())

/** Reads a JSON object from hash to document, as graphql-codegen and Relay write it. @throws OperatorError */
export async function readManifest(file: string): Promise<ReadonlyMap<string, string>> {
  try {
    const manifest = Manifest.parse(JSON.parse(await readFile(file, 'utf8')))
    const documents = Object.entries(manifest).map(([id, text]) => [withoutPrefix(id), text] as const)
    const wrong = documents.find(([id, text]) => hash('sha256', text) !== id)
    if (wrong) throw new Error(`${wrong[0]} is not the SHA-256 of its document`)
    return new Map(documents)
  } catch (cause) {
    const isMalformed = cause instanceof z.ZodError || cause instanceof SyntaxError // whose messages have several lines
    const problem = isMalformed ? 'is not a JSON object from SHA-256 to document' : (cause as Error).message
    throw new OperatorError(`TRUSTED_DOCUMENTS_FILE ${file}: ${problem}`, { cause })
  }
}

/** Replaces the id of a document by its text. @param trusted if undefined, ids are ignored */
export function useTrustedDocuments(trusted: TrustedDocuments | undefined): Plugin {
  return {
    onParams({ params, setParams }) {
      const { variables, operationName, extensions } = params
      const query = resolveDocument(trusted, params)
      setParams({ query, variables, operationName, extensions } as typeof params) // Yoga's type has no undefined members
      params.variables = params.extensions = {} // this object stays in memory as long as the execution
    },
  }
}

/** The document of a request. In mode `allow`, a document that is sent with its hash need not be trusted. */
function resolveDocument(trusted: TrustedDocuments | undefined, { query, documentId: id }: RequestParams): string {
  if (id != null && trusted) {
    if (typeof id !== 'string') throw invalidArgumentError([{ path: ['documentId'], message: 'must be a string' }])
    const textHash = withoutPrefix(id)
    if (trusted.mode === 'allow' && query != null) {
      if (hash('sha256', query) === textHash) return query
      throw invalidArgumentError([{ path: ['documentId'], message: 'is not the SHA-256 of query' }])
    }
    const text = trusted.byHash.get(textHash)
    if (text === undefined) throw invalidArgumentError([{ path: ['documentId'], message: 'unknown trusted document' }])
    return text
  }
  if (trusted?.mode === 'only') {
    throw new ApiError('INVALID_ARGUMENT', 'Only trusted documents are accepted: send a documentId.')
  }
  if (query == null) throw invalidArgumentError([{ path: ['query'], message: 'must be a string' }])
  return query
}
