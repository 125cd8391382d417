import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('the workflow of GitHub Actions has no errors', async () => {
  const content = readFileSync(new URL('../../.github/workflows/ci.yml', import.meta.url), 'utf8')
  const { context, value } = parseWorkflow({ name: 'ci.yml', content }, new NoOperationTraceWriter())
  if (!value) throw new Error(JSON.stringify(context.errors.getErrors()))
  const { errors, jobs } = await convertWorkflowTemplate(context, value)
  expect(errors ?? []).toEqual([])
  expect(jobs.map(({ id }) => id.value)).toEqual(['linux', 'systems'])
})
