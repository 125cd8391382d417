interface Result {
  source: string
  title: string
  outcome: 'ok' | 'skip' | Error
}

/** Collects the results of cases, and groups those that failed for the same reason. */
export function createReport() {
  const results: Result[] = []
  const failures = new Map<string, Result[]>()

  /** @returns a line for the result */
  function add(result: Result): string {
    results.push(result)
    const { source, title, outcome } = result
    const line = `${source.padEnd(6)}  ${title}`
    if (!(outcome instanceof Error)) return `${outcome.padEnd(4)}  ${line}`
    const reason = [outcome.message, outcome.cause].filter(Boolean).join(': ')
    failures.set(reason, [...(failures.get(reason) ?? []), result])
    return `FAIL  ${line}`
  }

  function summary(): string {
    const groups = [...failures].map(([reason, failed]) =>
      [
        `${failed.length === 1 ? '1 case failed' : `${failed.length} cases failed`}: ${reason.replaceAll('\n', '\n    ')}`,
        ...failed.map(({ source, title }) => `  ${source.padEnd(6)}  ${title}`),
      ].join('\n'),
    )
    const count = (outcome: Result['outcome']) => results.filter((result) => result.outcome === outcome).length
    const skipped = count('skip') ? `, ${count('skip')} skipped` : ''
    return ['', ...groups, `${count('ok')} passed, ${failed()} failed${skipped}`].join('\n\n').slice(1)
  }

  const failed = () => results.filter(({ outcome }) => outcome instanceof Error).length
  return { add, summary, failed }
}
