import { describePath, statusError } from './status-error.ts';

const PUT = { method: 'PUT', path: '/apis/wherry.dev/v1alpha1/namespaces/x/functions/hello' };

describe('statusError', () => {
  it.each([
    ['Invalid value: "se: cr\\"et: x": must be short', 'must be short'],
    ['Unsupported value: "secret": supported values: "GET"', 'supported values: "GET"'],
    ['Duplicate value: "secret"', 'is not valid'],
    ['Invalid value: {"a":"secret"}: must be empty', 'is not valid'],
    ['Invalid value: -1: should be greater than 0', 'should be greater than 0'],
    ['Required value: name it', 'name it'],
    ['Required value', 'is required'],
    ['Too long: may not be more than 3 bytes', 'may not be more than 3 bytes'],
    ['secret', 'is not valid'],
  ])('reports of %j only what is wrong', (message, expected) => {
    const error = statusError(
      422,
      { details: { name: 'hello', kind: 'Function', group: 'wherry.dev', causes: [{ field: 'spec.x', message }] } },
      PUT,
    );
    expect(error.details).toEqual([{ path: 'spec.x', message: expected }]);
    expect(error.message).toBe(`Function.wherry.dev "hello" is not valid: spec.x: ${expected}`);
    expect(error.message).not.toContain('cr\\"et');
  });

  it.each([
    [401, 'unavailable'],
    [405, 'internal_error'],
    [410, 'conflict'],
    [413, 'too_large'],
    [429, 'unavailable'],
    [500, 'unavailable'],
    [503, 'unavailable'],
    [504, 'unavailable'],
  ])('reports %d as %s, and nothing of what the server says', (code, expected) => {
    const error = statusError(code, { message: 'secret', reason: 'secret' }, PUT);
    expect(error.code).toBe(expected);
    expect(error.message).not.toContain('secret');
  });

  it.each([
    ['pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2', 'exceeded quota: q'],
    ['pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true', 'violates PodSecurity'],
    ['unable to create new content in namespace x because it is being terminated', 'because it is being terminated'],
    ['admission webhook "w" denied the request: secret', 'a policy or the role'],
  ])('says of the refusal %j what to do about', (message, expected) => {
    const error = statusError(403, { message }, PUT);
    expect(error).toMatchObject({ code: 'forbidden', message: expect.stringContaining(expected) });
    expect(error.message).toContain('update functions.wherry.dev "hello" in namespace "x"');
    expect(error.message).not.toContain('secret');
  });

  it.each([
    ['/api/v1/namespaces/x', 'namespaces "x"'],
    ['/api/v1/nodes', 'nodes'],
    ['/api/v1/namespaces/x/pods/a/log', 'pods/log "a" in namespace "x"'],
    ['/apis/apps/v1/namespaces/x/deployments', 'deployments.apps in namespace "x"'],
    ['/version', '/version'],
  ])('names %s', (path, name) => {
    expect(describePath(path)).toBe(name);
  });
});
