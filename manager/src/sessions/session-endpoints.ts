import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { successSchema } from '../object-access/shape.ts';
import { userViewSchema } from '../users/user-schemas.ts';

const signInSchema = z.strictObject({ email: z.string().min(1).max(254), password: z.string().min(1).max(256) });
const sessionSchema = z.strictObject({ user: userViewSchema });

const common = { tag: 'Sessions', status: 200 } as const;

export const sessionEndpoints = {
  signIn: endpoint({
    ...common,
    permission: 'public',
    isForBrowsers: true,
    operationId: 'signIn',
    method: 'post',
    path: '/api/auth/sign-in/email',
    summary: 'Sign in with email and password; the answer sets the session cookie',
    audit: { action: 'session.sign-in', kind: 'User', nameField: 'email' },
    body: { kind: 'json', schema: signInSchema },
    reply: { json: sessionSchema },
    errors: ['forbidden'],
  }),
  signOut: endpoint({
    ...common,
    permission: 'session',
    operationId: 'signOut',
    method: 'post',
    path: '/api/auth/sign-out',
    summary: 'End the session of this request',
    audit: { action: 'session.sign-out', kind: 'User' },
    reply: { json: successSchema },
    errors: ['forbidden'],
  }),
  current: endpoint({
    ...common,
    permission: 'session',
    operationId: 'getSession',
    method: 'get',
    path: '/api/auth/session',
    summary: 'Get the user who is signed in',
    reply: { json: sessionSchema },
    errors: [],
  }),
};
