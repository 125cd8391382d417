/** @returns the result of `create`, which is called once, when it is needed */
export function lazy<T>(create: () => T): () => T {
  let result: { value: T } | undefined
  return () => (result ??= { value: create() }).value
}
