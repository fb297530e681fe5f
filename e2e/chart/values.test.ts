import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mustRun } from '../cluster/command.ts';
import { kubernetesVersion } from '../cluster/programs/program-table.ts';
import { chartFolder, everything, render, tryRender } from './helm.ts';
import { programPath } from './programs.ts';

describe('helm lint --strict', () => {
  it.each([
    ['by default', []],
    ['with everything on', ['-f', everything]],
  ])('finds nothing %s', async (_what, args) => {
    const said = await mustRun(
      programPath('helm'),
      ['lint', '--strict', '--kube-version', kubernetesVersion(), chartFolder, ...args],
      {},
    );
    expect(said).toContain('0 chart(s) failed');
  });
});

describe('values', () => {
  it.each<[string, string[], RegExp]>([
    ['a name that there is not', ['--set', 'replicas=2'], /replicas/],
    ['a typing error deep in it', ['--set', 'router.service.prot=80'], /router.*service[\s\S]*prot/],
    ['a text for a number', ['--set-string', 'router.replicas=two'], /router.*replicas/],
    ['no replica', ['--set', 'router.replicas=0'], /router.*replicas/],
    ['an unknown log level', ['--set', 'logLevel=loud'], /logLevel/],
    ['a namespace that is no name', ['--set', 'functions.namespace=My_functions'], /functions.*namespace/],
    ['a size that is none', ['--set', 'manager.persistence.size=large'], /persistence.*size/],
    [
      'resources of a kind that there is not',
      ['--set', 'router.resources.limit.memory=1Gi'],
      /router.*resources[\s\S]*limit/,
    ],
    ['PostgreSQL, which is not there yet', ['--set', 'manager.database.type=postgres'], /manager.*database.*type/],
    ['S3, which is not there yet', ['--set', 'manager.content.type=s3'], /manager.*content.*type/],
    ["functions beside Wherry's keys", ['--set', 'functions.namespace=wherry-system'], /functions\.namespace/],
    ['an Ingress without a host', ['--set', 'ingress.functions.enabled=true'], /ingress\.functions\.hosts/],
    ['a route without a Gateway', ['--set', 'gateway.management.enabled=true'], /gateway\.management\.parentRefs/],
    [
      'a variable that the chart sets itself',
      ['--set-string', 'router.env.FUNCTION_PORT=80'],
      /router\.env\.FUNCTION_PORT/,
    ],
  ])('refuses %s by name', async (_what, args, name) => {
    const { code, stderr } = await tryRender(...args);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(name) });
  });

  it('take what a parent chart shares', async () => {
    expect((await tryRender('--set', 'global.team=hooks')).code).toBe(0);
  });
});

describe('the URL of functions', () => {
  const ingress = 'ingress.functions.enabled=true,ingress.functions.hosts={f.example.com}';
  it.each([
    ["the router's Service, in the cluster", [], 'http://wherry-router.wherry-system.svc:8000'],
    ['of the Ingress', ['--set', ingress], 'http://f.example.com'],
    [
      'of the Ingress with TLS',
      ['--set', `${ingress},ingress.functions.tls[0].secretName=tls`],
      'https://f.example.com',
    ],
    [
      'of the Gateway',
      [
        '--set',
        'gateway.functions.enabled=true,gateway.functions.parentRefs[0].name=public,gateway.functions.hostnames={g.example.com}',
      ],
      'https://g.example.com',
    ],
    ['what is said', ['--set', `${ingress},functions.url=https://fn.example.com/`], 'https://fn.example.com'],
  ])('is %s', async (_what, args, url) => {
    const deployments = (await render(...args)).filter(({ kind }) => kind === 'Deployment');
    const said = deployments
      .flatMap(
        ({ spec }) =>
          (spec as { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } }).template.spec
            .containers,
      )
      .flatMap(({ env }) => env)
      .filter(({ name }) => name === 'WHERRY_FUNCTION_URL')
      .map(({ value }) => value);
    expect(said).toEqual([url, url]);
  });
});

describe('values from a file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'wherry-values-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('may leave a default out with null, as Helm has it', async () => {
    const file = path.join(folder, 'values.yaml');
    writeFileSync(file, 'router: { resources: { limits: null } }\n');
    const router = (await render('-f', file)).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'wherry-router',
    );
    expect(
      (router?.spec as { template: { spec: { containers: { resources: object }[] } } }).template.spec.containers[0]
        ?.resources,
    ).toEqual({ requests: { cpu: '100m', memory: '96Mi' } });
  });
});
