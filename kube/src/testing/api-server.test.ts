import { existsSync } from 'node:fs';
import { Agent, fetch } from 'undici';
import { startApiServer } from './api-server.ts';
import { kubernetesPrograms } from './config.ts';

describe('startApiServer', () => {
  it('serves a real kube-apiserver that trusts its token alone, and leaves nothing behind', async () => {
    const server = await startApiServer();
    const dispatcher = new Agent({ connect: { ca: server.ca } });
    const read = (headers: Record<string, string>) => fetch(`${server.url}/api/v1/namespaces`, { dispatcher, headers });
    expect((await read({ authorization: `Bearer ${server.token}` })).status).toBe(200);
    expect((await read({})).status).toBe(403);
    await dispatcher.close();
    await server.stop();
    await expect(fetch(`${server.url}/readyz`)).rejects.toThrow('fetch failed');
    expect(existsSync(server.folder)).toBe(false);
  }, 120_000);

  it('says what to run when the programs are missing', () => {
    expect(() => kubernetesPrograms({ KUBEBUILDER_ASSETS: '/nowhere' })).toThrow(/not in \/nowhere.*npm run cluster/);
    expect(() => kubernetesPrograms({ XDG_CACHE_HOME: '/nowhere' })).toThrow('/nowhere/wherry/kubernetes');
  });
});
