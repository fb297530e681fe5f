import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';

const parameter = z.string().optional();

const common = { tag: 'Sessions', permission: 'public', method: 'get', status: 302, reply: {} } as const;

export const oidcEndpoints = {
  start: endpoint({
    ...common,
    operationId: 'startOidcSignIn',
    path: '/api/auth/oidc/start',
    summary: 'Sign in with the OpenID Connect provider: sends the browser there',
    query: z.strictObject({
      to: parameter.describe('Path of this origin to return to; by default, and for anything else, the home page'),
    }),
    errors: ['not_found'],
  }),
  callback: endpoint({
    ...common,
    operationId: 'finishOidcSignIn',
    path: '/api/auth/oidc/callback',
    summary: 'Where the provider sends the browser back to; the answer sets the session cookie',
    audit: { action: 'session.sign-in', kind: 'User' },
    // Providers add parameters of their own.
    query: z.looseObject({ state: parameter, code: parameter, error: parameter }),
    errors: ['forbidden', 'not_found', 'conflict'],
  }),
};
