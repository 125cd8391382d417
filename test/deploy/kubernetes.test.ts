import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { version } from '../../src/project.ts'
import { folderOf, type Manifest, manifestOf, podOf, render, typeErrors } from './manifests.ts'
import { configOf, secondsToStop } from './settings.ts'

const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0
const whySkipped = hasKubectl ? '' : ' (skipped: there is no kubectl on the PATH)'

const environments = ['staging', 'production']

const byKind = (a: { kind?: string }, b: { kind?: string }) => String(a.kind).localeCompare(String(b.kind))

/** The container of the service with its environment variables, and the pod around it. */
function apiOf(manifests: Manifest[]) {
  const { spec } = manifestOf(manifests, 'Deployment')
  const pod = spec?.template.spec
  const [container] = pod?.containers ?? []
  if (!spec || !pod || !container) throw new Error('The Deployment has no container')
  const environment = Object.fromEntries(container.env?.map(({ name, value = '' }) => [name, value]) ?? [])
  return { spec, pod, container, environment, config: configOf(environment) }
}

describe.for(environments)('%s', (environment) => {
  const manifests = render(environment)

  test('has only members that the Kubernetes API knows, of the right type', () => {
    expect(typeErrors(manifests)).toEqual([])
  })

  test.skipIf(!hasKubectl)(`is what kubectl kustomize prints${whySkipped}`, () => {
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folderOf(environment)], { encoding: 'utf8' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const printed = parseAllDocuments(stdout).map((document): Manifest => document.toJS())
    expect(printed.sort(byKind)).toEqual(manifests.toSorted(byKind))
  })

  test('configures the service with valid variables', () => {
    expect(apiOf(manifests).config).toMatchObject({ NODE_ENV: 'production', MIGRATE_ON_START: false })
  })

  test('gives a pod the time that the service needs to drain', () => {
    const { pod, config } = apiOf(manifests)
    expect(config.DRAIN_DELAY_MS).toBeGreaterThan(0) // the cluster needs time to stop routing to the pod
    expect(pod.terminationGracePeriodSeconds).toBe(secondsToStop(config))
  })

  test('probes /livez for life and /readyz for readiness, on the port of the service', () => {
    const { container } = apiOf(manifests)
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
    expect(probes.map((probe) => probe?.httpGet)).toEqual([
      { path: '/livez', port: 'http' },
      { path: '/livez', port: 'http' },
      { path: '/readyz', port: 'http' },
    ])
  })

  test('uses the ports on which the service listens', () => {
    const { container, config } = apiOf(manifests)
    expect(container.ports).toEqual([
      { name: 'http', containerPort: config.PORT },
      { name: 'metrics', containerPort: config.METRICS_PORT },
    ])
    expect(manifestOf(manifests, 'Service').spec?.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }])
    const [rule] = manifestOf(manifests, 'Ingress').spec?.rules ?? []
    expect(rule?.http?.paths.map(({ backend }) => backend.service)).toEqual([
      { name: 'pet-store', port: { name: 'http' } },
    ])
  })

  test('lets only Prometheus connect to the port of the metrics', () => {
    const { config } = apiOf(manifests)
    const { podSelector, policyTypes, ingress = [] } = manifestOf(manifests, 'NetworkPolicy').spec ?? {}
    expect({ podSelector, policyTypes }).toEqual({
      podSelector: apiOf(manifests).spec.selector,
      policyTypes: ['Ingress'],
    })
    expect(ingress.map(({ ports, from }) => [ports, from?.length])).toEqual([
      [[{ port: config.PORT }], undefined],
      [[{ port: config.METRICS_PORT }], 1],
    ])
    expect(ingress[1]?.from?.[0]).toMatchObject({
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
      podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } },
    })
  })

  test('selects the pods of the service, and not those of the migration', () => {
    const { spec, pod } = apiOf(manifests)
    const labels = spec.template.metadata?.labels
    expect(spec.selector.matchLabels).toEqual(labels)
    expect(manifestOf(manifests, 'Service').spec?.selector).toEqual(labels)
    expect(manifestOf(manifests, 'PodDisruptionBudget').spec?.selector?.matchLabels).toEqual(labels)
    expect(pod.topologySpreadConstraints?.map(({ labelSelector }) => labelSelector?.matchLabels)).toEqual([
      labels,
      labels,
    ])
    expect(manifestOf(manifests, 'Job').spec?.template.metadata?.labels).not.toMatchObject(labels ?? {})
    const { kind, metadata, apiVersion } = manifestOf(manifests, 'Deployment')
    expect(manifestOf(manifests, 'HorizontalPodAutoscaler').spec?.scaleTargetRef).toEqual({
      apiVersion,
      kind,
      name: metadata?.name,
    })
  })

  test('never has fewer pods in a rollout, and allows a node to be drained', () => {
    expect(apiOf(manifests).spec.strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 })
    const { minReplicas = 1, maxReplicas = 0 } = manifestOf(manifests, 'HorizontalPodAutoscaler').spec ?? {}
    expect(minReplicas).toBeGreaterThan(1) // else the budget of one would be all there is
    expect(maxReplicas).toBeGreaterThanOrEqual(minReplicas)
    expect(manifestOf(manifests, 'PodDisruptionBudget').spec?.maxUnavailable).toBe(1)
    expect(apiOf(manifests).spec).not.toHaveProperty('replicas') // would undo what the autoscaler did
  })

  test('runs without privileges, without an API token and on a read-only root', () => {
    for (const pod of manifests.map(podOf).filter((one) => one !== undefined)) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      expect(pod.containers.map(({ securityContext }) => securityContext)).toEqual([
        { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
      ])
      expect(pod.containers[0]?.resources?.limits).toEqual({ memory: '512Mi' }) // no limit of CPU
    }
  })

  test('refers to the secret of the database, and contains none', () => {
    expect(JSON.stringify(manifests)).not.toMatch(/postgres(ql)?:|"kind":"Secret"|password/i)
    const pods = manifests.map(podOf).filter((one) => one !== undefined)
    expect(pods.map(({ volumes }) => volumes?.map(({ secret }) => secret?.secretName))).toEqual([
      ['pet-store-database'],
      ['pet-store-database'],
    ])
    for (const { containers, volumes } of pods) {
      const file = `${containers[0]?.volumeMounts?.[0]?.mountPath}/${volumes?.[0]?.secret?.items?.[0]?.path}`
      expect(containers[0]?.env).toContainEqual({ name: 'DATABASE_URL_FILE', value: file })
    }
  })

  test('migrates with the image of the service, which has the version of package.json', () => {
    const [migration] = podOf(manifestOf(manifests, 'Job'))?.containers ?? []
    expect(migration?.image).toBe(apiOf(manifests).container.image)
    expect(migration?.image).toBe(`registry.example.com/pet-store:${version}`)
    expect(migration?.args).toEqual(['dist/cli/migrate.js', 'deploy'])
  })
})

test('the environments differ in address and size only', () => {
  const [staging, production] = environments.map((environment) => flatten(render(environment)))
  const paths = new Set([...(staging?.keys() ?? []), ...(production?.keys() ?? [])])
  const different = [...paths].filter((path) => staging?.get(path) !== production?.get(path))
  expect(different.filter((path) => !/^\w+\.metadata\.namespace$/.test(path))).toEqual([
    'Deployment.spec.template.spec.containers.0.resources.requests.cpu',
    'Ingress.spec.tls.0.hosts.0',
    'Ingress.spec.rules.0.host',
    'HorizontalPodAutoscaler.spec.minReplicas',
    'HorizontalPodAutoscaler.spec.maxReplicas',
  ])
})

test('the hosts of the environments are those of PRODUCTION_URL and STAGING_URL', () => {
  const hosts = environments.map((environment) => {
    const [rule] = manifestOf(render(environment), 'Ingress').spec?.rules ?? []
    return `https://${rule?.host}/v1`
  })
  const { STAGING_URL, PRODUCTION_URL } = apiOf(render('staging')).config
  expect(hosts).toEqual([STAGING_URL, PRODUCTION_URL])
})

test('the Kubernetes types find a misspelt, a missing and a wrong member', () => {
  const text = JSON.stringify(manifestOf(render('staging'), 'Deployment'))
  const broken = [
    text.replace('readinessProbe', 'readinesProbe'),
    text.replace('"selector"', '"selectors"'),
    text.replace('"containerPort":4000', '"containerPort":"4000"'),
  ]
  expect(typeErrors(broken.map((one) => JSON.parse(one)))).toEqual([
    expect.stringContaining('readinesProbe'),
    expect.stringContaining('selectors'),
    "Type 'string' is not assignable to type 'number'.",
  ])
})

test('base/kustomization.yaml lists each manifest', () => {
  const listed = readFileSync(`${folderOf('base')}/kustomization.yaml`, 'utf8')
  expect(render('staging')).toHaveLength(listed.match(/^ {2}- .*\.yaml$/gm)?.length ?? 0)
})

/** Every value of the manifests by its path, which begins with the kind. */
function flatten(manifests: Manifest[]): Map<string, unknown> {
  const values = new Map<string, unknown>()
  function add(path: string, value: unknown): void {
    if (typeof value !== 'object' || value === null) values.set(path, value)
    else for (const [key, member] of Object.entries(value)) add(`${path}.${key}`, member)
  }
  for (const manifest of manifests) add(String(manifest.kind), manifest)
  return values
}
