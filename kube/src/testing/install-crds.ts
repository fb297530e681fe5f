import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDomainError } from '@wherry/core/errors.ts';
import { parse } from 'yaml';
import type { KubeClient } from '../client/kube-client.ts';

const GENERATED = path.join(import.meta.dirname, '../../../crds/generated');
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const SERVED_LIMIT_MS = 15_000;
const POLL_MS = 20;

interface Crd {
  spec: { group: string; names: { plural: string }; versions: { name: string }[] };
}

/** Gives a fresh API server Wherry's kinds (crds/generated) and waits until it serves them. */
export async function installCrds(client: KubeClient): Promise<void> {
  const files = readdirSync(GENERATED).filter((file) => file.endsWith('.yaml'));
  const crds = files.map((file) => parse(readFileSync(path.join(GENERATED, file), 'utf8')) as Crd);
  for (const body of crds) await client.request({ method: 'POST', path: CRDS, body });
  const end = machineTime() + SERVED_LIMIT_MS;
  for (const crd of crds) {
    while (!(await isServed(client, crd))) {
      if (machineTime() > end) throw new Error(`the API server does not serve ${crd.spec.names.plural}`);
      await delay(POLL_MS);
    }
  }
}

let namespaces = 0;

/** Makes a namespace of its own for one test. */
export async function makeNamespace(client: KubeClient, prefix = 'test'): Promise<string> {
  namespaces += 1;
  const name = `${prefix}-${namespaces}`;
  await client.request({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
  });
  return name;
}

async function isServed(client: KubeClient, { spec }: Crd): Promise<boolean> {
  try {
    await client.request({ method: 'GET', path: `/apis/${spec.group}/${spec.versions[0]?.name}/${spec.names.plural}` });
    return true;
  } catch (error) {
    if (isDomainError(error, 'unavailable')) return false;
    throw error;
  }
}
