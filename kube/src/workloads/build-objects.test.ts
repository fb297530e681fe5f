import { readFileSync } from 'node:fs';
import type { DesiredWorkload } from '@wherry/core/ports/workloads.ts';
import { stringify } from 'yaml';
import { TEST_SETTINGS, testWorkload } from '../testing/test-workload.ts';
import { buildObjects, type WorkloadObjects } from './build-objects.ts';
import type { WorkloadSettings } from './workload-settings.ts';

const build = (changes: Partial<DesiredWorkload> = {}, settings: Partial<WorkloadSettings> = {}): WorkloadObjects =>
  buildObjects(
    { desired: testWorkload(changes), settings: { ...TEST_SETTINGS, ...settings } },
    'the-token-of-the-function',
  );

/** As `kubectl apply` would take it; objects that there are none of are left out. */
const yamlOf = (objects: WorkloadObjects): string =>
  Object.values(objects)
    .filter((object) => object !== undefined)
    .map((object: object) => `---\n${stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 })}`)
    .join('');
const golden = (name: string): string => readFileSync(new URL(`golden/${name}.yaml`, import.meta.url), 'utf8');

describe('buildObjects', () => {
  it.each<[string, Partial<DesiredWorkload>]>([
    ['one-instance', {}],
    ['three-large-instances', { replicas: 3, template: { memoryMiB: 2048, cpuMillis: 1500 }, drainSeconds: 3600 }],
  ])('makes exactly the objects of golden/%s.yaml', (name, changes) => {
    expect(yamlOf(build(changes))).toBe(golden(name));
  });

  it('S1: gives pods no token of the API, no Service links, and no secret in the environment', () => {
    const { deployment } = build();
    const pod = deployment.spec?.template.spec;
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(JSON.stringify(pod?.containers)).not.toContain('token');
  });

  it('names a Service as Kubernetes allows it, also where the workload begins with a digit', () => {
    const long = build({ functionName: '9'.repeat(63) });
    expect(long.service.metadata?.name).toMatch(/^[a-z][-a-z0-9]{0,62}$/);
    expect(build({ functionName: '1st' }).service.metadata?.name).toMatch(/^w1st-/);
    expect(build({ functionName: 'first' }).service.metadata?.name).toBe(
      build({ functionName: 'first' }).deployment.metadata?.name,
    );
  });

  it.each([
    [64, 10, '64Mi', '10m'],
    [1024, 1000, '1Gi', '1'],
    [1536, 64_000, '1536Mi', '64'],
  ])('writes %i MiB and %i millis as Kubernetes writes them back', (memoryMiB, cpuMillis, memory, cpu) => {
    const { deployment } = build({ template: { memoryMiB, cpuMillis } });
    expect(deployment.spec?.template.spec?.containers[0]?.resources?.limits).toMatchObject({ memory, cpu });
  });

  it.each([
    [null, { requests: { memory: '128Mi', cpu: '5m' }, limits: { memory: '128Mi' } }],
    [10, { requests: { memory: '128Mi', cpu: '10m' }, limits: { memory: '128Mi', cpu: '10m' } }],
    [500, { requests: { memory: '128Mi', cpu: '500m' }, limits: { memory: '128Mi', cpu: '500m' } }],
  ])(
    "requests for an instance what its function requests, and lets it take no more, nor the node's disk: %s millis",
    (cpuMillis, { requests, limits }) => {
      const { deployment } = build({ template: { memoryMiB: 128, cpuMillis } });
      expect(deployment.spec?.template.spec?.containers[0]?.resources).toEqual({
        requests: { ...requests, 'ephemeral-storage': '16Mi' },
        limits: { ...limits, 'ephemeral-storage': '512Mi' },
      });
    },
  );

  it.each([
    [null, 3],
    [2000, 3],
    [500, 6],
    [100, 30],
    [10, 30],
  ])('S3: with %s millis of CPU, the event loop may be blocked for %i s', (cpuMillis, seconds) => {
    const { deployment } = build({ template: { memoryMiB: 64, cpuMillis } });
    expect(deployment.spec?.template.spec?.containers[0]?.livenessProbe).toMatchObject({
      periodSeconds: 1,
      failureThreshold: seconds,
    });
  });

  it('K3: does not let scaling change the pods', () => {
    expect(build({ replicas: 5 }).deployment.spec?.template).toEqual(build({ replicas: 1 }).deployment.spec?.template);
  });
});
