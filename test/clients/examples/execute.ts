import { retryDelayMs, toPetStoreError } from './errors.ts'

interface Body<Data> {
  data?: Data | null
  errors?: { message: string; extensions: object }[]
}

export function createExecute(url: string, key: string) {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    Accept: 'application/graphql-response+json, application/json;q=0.9',
  }

  async function send<Data>(operation: object) {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(operation) })
    const { data, errors } = (await response.json()) as Body<Data> // what every response of the endpoint is
    const retryAfter = response.headers.get('Retry-After')
    return { data, error: errors && toPetStoreError(errors), retryAfter }
  }

  /** @param mayRepeat false for a mutation without an idempotency key, which could write twice */
  return async function execute<Data>(operation: object, mayRepeat = true) {
    for (let attempt = 1; ; attempt++) {
      const result = await send<Data>(operation).catch((failure: unknown) => ({
        data: null,
        error: toPetStoreError([], failure),
        retryAfter: null,
      }))
      const delayMs = mayRepeat && result.error && retryDelayMs(result.error, attempt, result.retryAfter)
      if (!delayMs) return result
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}
