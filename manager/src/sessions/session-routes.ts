import { routes, type Call, type Route } from '../http/endpoint.ts';
import type { UserPrincipal } from '../http/principal.ts';
import { SUCCESS } from '../object-access/shape.ts';
import { userActor, userObject } from '../users/user-routes.ts';
import { userView } from '../users/user-schemas.ts';
import type { UserService } from '../users/user-service.ts';
import { sessionEndpoints } from './session-endpoints.ts';
import type { Sessions } from './sessions.ts';
import type { SignInService } from './sign-in-service.ts';

interface SessionRoutesOptions {
  sessions: Sessions;
  signIn: SignInService;
  users: UserService;
}

export function sessionRoutes({ sessions, signIn, users }: SessionRoutesOptions): Route[] {
  return routes(sessionEndpoints, {
    signIn: async (call) => {
      const user = await signIn.verify(call.body, call.clientAddress ?? '');
      const cookie = await sessions.begin(user, call);
      return {
        json: { user: userView(user) },
        headers: { 'Set-Cookie': cookie },
        objects: [userObject(user)],
        actor: userActor(user),
      };
    },
    signOut: async ({ principal, connection }) => {
      const { id, email, session } = signedIn(principal);
      const cookie = await sessions.end(session, connection);
      return { json: SUCCESS, headers: { 'Set-Cookie': cookie }, objects: [{ id, name: email }] };
    },
    current: async ({ principal }) => ({ json: { user: userView(users.get(signedIn(principal).id)) } }),
  });
}

/** Their permission admits nobody else. */
function signedIn(principal: Call<(typeof sessionEndpoints)['current']>['principal']): UserPrincipal {
  if (principal?.type !== 'user') throw new Error('a session endpoint was called without a session');
  return principal;
}
