import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { Job } from 'kubernetes-types/batch/v1.d.ts'
import type { Service } from 'kubernetes-types/core/v1.d.ts'
import type { Ingress } from 'kubernetes-types/networking/v1.d.ts'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { VERSION } from '../../src/project.ts'
import { pathOf, read } from '../support/files.ts'
import { findProgram } from '../support/shell.ts'
import { configOf, secondsToStop } from './settings.ts'

const { installed, whySkipped } = findProgram('kubectl', 'kustomize', '--help')
const base = 'deploy/kubernetes/base'

/** The manifests that both environments share, by file. compile() checks them. */
const manifests = Object.fromEntries(
  readdirSync(pathOf(base))
    .filter((file) => file !== 'kustomization.yaml')
    .map((file) => [file, parse(read(join(base, file)))]),
) as {
  'deployment.yaml': Deployment
  'ingress.yaml': Ingress
  'migration.yaml': Job
  'service.yaml': Service
  [file: string]: { apiVersion?: string; kind?: string }
}

const pod = manifests['deployment.yaml'].spec?.template.spec
const [container] = pod?.containers ?? []
/** What the service makes of the variables in the Deployment, which must be valid. */
const config = configOf(Object.fromEntries(container?.env?.map(({ name, value = '' }) => [name, value]) ?? []))

test('the manifests have only members that the Kubernetes API knows, of the right type', () => {
  expect(compile(Object.values(manifests))).toMatchObject({ status: 0, stdout: '' })
})

test('the port is that on which the service listens, and Prometheus scrapes it on every pod', () => {
  expect(container?.ports).toEqual([{ name: 'http', containerPort: config.PORT }])
  const { scrape_configs: jobs } = parse(read('deploy/prometheus/kubernetes.yaml')) as {
    scrape_configs: { kubernetes_sd_configs: { selectors: { label: string }[] }[]; relabel_configs: object[] }[]
  }
  const labels = Object.entries(manifests['deployment.yaml'].spec?.selector.matchLabels ?? {})
  expect(jobs[0]?.kubernetes_sd_configs[0]?.selectors[0]?.label).toBe(labels.map((label) => label.join('=')).join())
  const source = '__meta_kubernetes_pod_container_port_name'
  expect(jobs[0]?.relabel_configs).toEqual([{ source_labels: [source], regex: 'http', action: 'keep' }])
})

test('/readyz decides when a pod gets its first request; without a database it goes on responding', () => {
  const probes = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]
  const addresses = probes.map((probe) => `${probe?.httpGet?.port} ${probe?.httpGet?.path}`)
  expect(addresses).toEqual(['http /readyz', 'http /livez', 'http /livez'])
})

test('a pod has the time that the service needs to drain', () => {
  expect(config.DRAIN_DELAY_MS).toBeGreaterThan(0) // the cluster needs time to stop routing to the pod
  expect(pod?.terminationGracePeriodSeconds).toBe(secondsToStop(config))
})

test('a pod has more memory than docs/capacity.md measures for a process', () => {
  const [, measuredMB] = /\| memory of a process +\| (\d+) MB/.exec(read('docs/capacity.md')) ?? []
  const [, limitMB] = /^(\d+)Mi$/.exec(String(container?.resources?.limits?.memory)) ?? []
  expect(Number(limitMB)).toBeGreaterThan(Number(measuredMB))
})

test('the variables are those of production, and the image is that of this version', () => {
  expect(config).toMatchObject({ NODE_ENV: 'production', MIGRATE_ON_START: false })
  expect(read('deploy/kubernetes/base/kustomization.yaml')).toContain(`newTag: ${VERSION}\n`)
  expect(manifests['migration.yaml'].spec?.template.spec?.containers[0]?.image).toBe(container?.image)
})

describe.for(['staging', 'production'] as const)('%s', (environment) => {
  test('replaces only address and size in the base, and has the address that the service has for it', () => {
    const text = read(`deploy/kubernetes/${environment}/kustomization.yaml`)
    expect(text.match(/(?<=path: \/spec\/)[^,]+/g)).toEqual([
      ...['rules/0/host', 'tls/0/hosts/0', 'minReplicas', 'maxReplicas'],
      'template/spec/containers/0/resources/requests/cpu',
    ])
    const { host } = new URL((environment === 'staging' ? config.STAGING_URL : config.PRODUCTION_URL) ?? '')
    expect(text).toContain(`path: /spec/rules/0/host, value: ${host} }`)
  })

  test.skipIf(!installed)(`is rendered by kubectl${whySkipped}`, () => {
    const path = pathOf(`deploy/kubernetes/${environment}`)
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(parseAllDocuments(stdout)).toHaveLength(Object.keys(manifests).length)
  })
})

/** Compiles manifests as constants of the Kubernetes API's types: unknown, missing and wrong members are errors. */
function compile(checked: { apiVersion?: string; kind?: string }[]) {
  const text = checked.map((manifest, n) => {
    const { apiVersion = '', kind } = manifest
    const [version, group = 'core'] = apiVersion.split('/').toReversed()
    const from = `kubernetes-types/${group.replace(/\.k8s\.io$/, '')}/${version}.d.ts`
    return `import type { ${kind} as Type${n} } from '${from}'\nexport const manifest${n}: Type${n} = ${JSON.stringify(manifest)}`
  })
  const folder = mkdtempSync(pathOf('dist/test-manifests-'))
  writeFileSync(join(folder, 'manifests.ts'), text.join('\n'))
  const options = ['--ignoreConfig', '--strict', '--noEmit', '--module', 'nodenext', '--lib', 'es5']
  const args = [pathOf('node_modules/typescript-compiler/bin/tsc'), ...options, join(folder, 'manifests.ts')]
  const result = spawnSync(process.execPath, args, { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return result
}
