import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { Job } from 'kubernetes-types/batch/v1.d.ts'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { version } from '../../src/project.ts'
import { configOf, pathOf, read, secondsToStop } from './settings.ts'

const hasKubectl = spawnSync('kubectl', ['kustomize', '--help']).status === 0
const whySkipped = hasKubectl ? '' : ' (there is no kubectl on the PATH)'
const base = pathOf('deploy/kubernetes/base')

/** The manifests that both environments share, by file. typeErrors() checks them. */
const manifests = Object.fromEntries(
  readdirSync(base)
    .filter((file) => file !== 'kustomization.yaml')
    .map((file) => [file, parse(readFileSync(join(base, file), 'utf8'))]),
) as {
  'deployment.yaml': Deployment
  'migration.yaml': Job
  [file: string]: { apiVersion?: string; kind?: string }
}

const pod = manifests['deployment.yaml'].spec?.template.spec
const [container] = pod?.containers ?? []
/** What the service makes of the variables in the Deployment, which must be valid. */
const config = configOf(Object.fromEntries(container?.env?.map(({ name, value = '' }) => [name, value]) ?? []))

test('the manifests have only members that the Kubernetes API knows, of the right type', () => {
  expect(typeErrors(Object.values(manifests))).toEqual([])
})

test('a pod has the port of the service, and the time that it needs to drain', () => {
  expect(container?.ports?.[0]?.containerPort).toBe(config.PORT)
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
  expect(read('deploy/kubernetes/base/kustomization.yaml')).toContain(`newTag: ${version}\n`)
  expect(manifests['migration.yaml'].spec?.template.spec?.containers[0]?.image).toBe(container?.image)
})

const environments = ['staging', 'production']
test.skipIf(!hasKubectl).for(environments)(`%s is rendered by kubectl${whySkipped}`, (environment) => {
  const path = pathOf(`deploy/kubernetes/${environment}`)
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(parseAllDocuments(stdout)).toHaveLength(Object.keys(manifests).length)
})

/** Checks manifests against the types of the Kubernetes API: unknown, missing and wrong members are errors. */
function typeErrors(checked: { apiVersion?: string; kind?: string }[]): string[] {
  const text = checked.map((manifest, n) => {
    const { apiVersion = '', kind } = manifest
    const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion]
    const from = `kubernetes-types/${group.replace(/\.k8s\.io$/, '')}/${version}.d.ts`
    return `import type { ${kind} as Type${n} } from '${from}'\nexport const manifest${n}: Type${n} = ${JSON.stringify(manifest)}`
  })
  const folder = mkdtempSync(pathOf('dist/test-manifests-'))
  writeFileSync(join(folder, 'manifests.ts'), text.join('\n'))
  const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', types: [], lib: ['es5'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript-compiler/package.json')), 'bin/tsc')
  const { stdout } = spawnSync(process.execPath, [compiler, '--project', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  })
  rmSync(folder, { recursive: true })
  return [...stdout.matchAll(/error TS\d+: (.*)/g)].map(([, message = '']) => message)
}
