import { Harness, readUntil, routerFunction } from '../testing/harness.ts';

describe('R12: connections', () => {
  it('over real sockets: a crowd of one address shuts out nobody who shares it', async () => {
    const harness = await Harness.start({
      capacity: { calls: 100, connections: 100, connectionsPerAddress: 10, idlePerAddress: 10, upstreams: 100 },
    });
    await harness.serve([routerFunction({ instances: [await harness.instance((_req, res) => void res.end('ok'))] })]);
    const crowd = Array.from({ length: 50 }, () => harness.connect());
    const gone = crowd.slice(0, 40).map((socket) => readUntil(socket).catch(() => ''));
    expect((await harness.call('/run/hello')).body).toBe('ok');
    await Promise.all(gone);
    expect(crowd.slice(42).map(({ destroyed }) => destroyed)).not.toContain(true);
    await harness.stop();
  });
});
