import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient, send } from '../testing/api-client.ts';
import { startService, type Service } from '../testing/embedded-service.ts';

const KEY = 'the-key-of-this-test';

/** The service as it is started by default, its log level among that. */
describe('audit records of the service (M9)', () => {
  let folder: string;
  let service: Service | undefined;
  const start = async (): Promise<ApiClient> => {
    service = await startService({ dataDirectory: join(folder, 'data'), environment: { WHERRY_MANAGEMENT_KEY: KEY } });
    return new ApiClient(service.managementUrl, KEY);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wherry-e2e-'));
  });
  afterAll(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 30_000);

  it('are there after kill -9 right after the answers, of a key that was made and of all values that were read', async () => {
    const first = await start();
    const { id } = (
      await first.expect('POST', '/api/keys', { groupId: 'management', name: 'made', value: 'CANARY-value-of-a-key' })
    ).body;
    await first.expect('GET', '/api/keys?includeValues=true');
    await send(`${service?.managementUrl}/api/keys/${id}`, {
      method: 'DELETE',
      headers: { 'x-api-key': 'a-key-that-nobody-has' },
    });
    await first.expect('DELETE', `/api/keys/${id}`);
    await service?.stop('SIGKILL');
    const api = await start();
    const { records } = (await api.expect('GET', '/api/audit?limit=100')).body.data;
    const facts = records.map(({ actor, action, object, result }: Record<string, Record<string, string>>) => [
      actor?.['name'],
      action,
      object?.['name'],
      result,
    ]);
    // The refused one does not wait for the disk; what was allowed does.
    expect(facts.filter(([, , , result]: string[]) => result === 'ok')).toEqual([
      ['bootstrap', 'key.delete', 'made', 'ok'],
      ['bootstrap', 'key.read-values', 'made', 'ok'],
      ['bootstrap', 'key.read-values', 'bootstrap', 'ok'],
      ['bootstrap', 'key.create', 'made', 'ok'],
      ['wherry', 'key.create', 'bootstrap', 'ok'],
      ['wherry', 'key-group.create', 'management', 'ok'],
    ]);
    expect(JSON.stringify(records)).not.toContain('CANARY');
  }, 60_000);
});
