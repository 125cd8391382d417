import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { version } from '../../src/project.ts'
import { manifests, typeErrors } from './manifests.ts'
import { configOf, secondsToStop } from './settings.ts'

const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0
const whySkipped = hasKubectl ? '' : ' (there is no kubectl on the PATH)'
const folder = new URL('../../deploy/kubernetes/', import.meta.url)

const pod = manifests['deployment.yaml'].spec?.template.spec
const [container] = pod?.containers ?? []
/** What the service makes of the variables in the Deployment, which must be valid. */
const config = configOf(Object.fromEntries(container?.env?.map(({ name, value = '' }) => [name, value]) ?? []))

test('the manifests have only members that the Kubernetes API knows, of the right type', () => {
  expect(typeErrors(Object.values(manifests))).toEqual([])
  const misspelt = JSON.stringify(manifests['deployment.yaml']).replace('readinessProbe', 'readinesProbe')
  expect(typeErrors([JSON.parse(misspelt)])).toEqual([expect.stringContaining('readinesProbe')])
})

test('the ports are those on which the service listens, and only Prometheus reaches that of the metrics', () => {
  expect(container?.ports).toEqual([
    { name: 'http', containerPort: config.PORT },
    { name: 'metrics', containerPort: config.METRICS_PORT },
  ])
  const rules = manifests['network-policy.yaml'].spec?.ingress ?? []
  expect(rules.map(({ ports, from }) => [ports?.[0]?.port, from?.length])).toEqual([
    [config.PORT, undefined],
    [config.METRICS_PORT, 1],
  ])
})

test('/livez decides about life and /readyz about traffic', () => {
  const probes = [container?.startupProbe, container?.livenessProbe, container?.readinessProbe]
  expect(probes.map((probe) => `${probe?.httpGet?.port} ${probe?.httpGet?.path}`)).toEqual([
    'http /livez',
    'http /livez',
    'http /readyz',
  ])
})

test('a pod has the time that the service needs to drain', () => {
  expect(config.DRAIN_DELAY_MS).toBeGreaterThan(0) // the cluster needs time to stop routing to the pod
  expect(pod?.terminationGracePeriodSeconds).toBe(secondsToStop(config))
})

test('a pod has more memory than docs/capacity.md measures for a process', () => {
  const [, measuredMB] = /\| memory of a process +\| (\d+) MB/.exec(read('../../docs/capacity.md')) ?? []
  const [, limitMB] = /^(\d+)Mi$/.exec(String(container?.resources?.limits?.memory)) ?? []
  expect(Number(limitMB)).toBeGreaterThan(Number(measuredMB))
})

test('the variables are those of production, and the image is that of this version', () => {
  expect(config).toMatchObject({ NODE_ENV: 'production', MIGRATE_ON_START: false })
  expect(read('base/kustomization.yaml')).toContain(`newTag: ${version}\n`)
  expect(manifests['migration.yaml'].spec?.template.spec?.containers[0]?.image).toBe(container?.image)
})

describe.for(['staging', 'production'] as const)('%s', (environment) => {
  test('replaces only address and size in the base, and has the address that the service has for it', () => {
    const text = read(`${environment}/kustomization.yaml`)
    expect(text.match(/(?<=path: \/spec\/)[^,]+/g)).toEqual([
      ...['rules/0/host', 'tls/0/hosts/0', 'minReplicas', 'maxReplicas'],
      'template/spec/containers/0/resources/requests/cpu',
    ])
    const { host } = new URL((environment === 'staging' ? config.STAGING_URL : config.PRODUCTION_URL) ?? '')
    expect(text).toContain(`path: /spec/rules/0/host, value: ${host} }`)
  })

  test.skipIf(!hasKubectl)(`is rendered by kubectl${whySkipped}`, () => {
    const path = fileURLToPath(new URL(environment, folder))
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(parseAllDocuments(stdout)).toHaveLength(Object.keys(manifests).length)
  })
})

function read(path: string): string {
  return readFileSync(new URL(path, folder), 'utf8')
}
