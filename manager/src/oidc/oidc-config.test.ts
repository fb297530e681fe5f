import { loadConfig } from '@wherry/service/config.ts';
import { z } from 'zod';
import { oidcConfig, oidcEnvironment, type OidcConfig } from './oidc-config.ts';

const SET = {
  WHERRY_OIDC_ISSUER: 'https://id.example.com/realms/team',
  WHERRY_OIDC_CLIENT_ID: 'wherry',
  WHERRY_OIDC_CLIENT_SECRET: 'CANARY',
  WHERRY_OIDC_ROLE_CLAIM: 'groups',
};
const config = (set: Record<string, string>): OidcConfig | undefined =>
  oidcConfig(loadConfig(z.object(oidcEnvironment), set));

describe('the configuration of sign-in with OpenID Connect', () => {
  it('is absent by default, and has the values of its variables', () => {
    expect(config({})).toBeUndefined();
    expect(config(SET)).toEqual({
      issuer: 'https://id.example.com/realms/team',
      clientId: 'wherry',
      clientSecret: 'CANARY',
      scopes: 'openid email profile',
      allowedDomains: [],
      roleClaim: 'groups',
      roles: [
        { role: 'viewer', value: 'viewer' },
        { role: 'editor', value: 'editor' },
        { role: 'admin', value: 'admin' },
      ],
      defaultRole: undefined,
    });
    const { WHERRY_OIDC_ROLE_CLAIM: _none, ...others } = SET;
    expect(config({ ...others, WHERRY_OIDC_ALLOWED_DOMAINS: 'Example.com, example.org' })).toMatchObject({
      allowedDomains: ['example.com', 'example.org'],
      roleClaim: undefined,
      defaultRole: 'editor',
    });
    const roles = 'admin=/wherry=admins,viewer=all staff';
    expect(config({ ...SET, WHERRY_OIDC_ROLES: roles, WHERRY_OIDC_DEFAULT_ROLE: 'viewer' })).toMatchObject({
      roles: [
        { role: 'admin', value: '/wherry=admins' },
        { role: 'viewer', value: 'all staff' },
      ],
      defaultRole: 'viewer',
    });
  });

  it.each([
    [
      'WHERRY_OIDC_ISSUER',
      'http://id.example.com',
      'WHERRY_OIDC_ISSUER: must be an https URL; http is accepted only for loopback',
    ],
    ['WHERRY_OIDC_ISSUER', 'id.example.com', 'WHERRY_OIDC_ISSUER: must be an https URL'],
    [
      'WHERRY_OIDC_ISSUER',
      '',
      'WHERRY_OIDC_ISSUER, WHERRY_OIDC_CLIENT_ID and WHERRY_OIDC_CLIENT_SECRET belong together',
    ],
    ['WHERRY_OIDC_CLIENT_SECRET', '', 'belong together'],
    ['WHERRY_OIDC_SCOPES', 'email', 'WHERRY_OIDC_SCOPES: must contain openid'],
    ['WHERRY_OIDC_ALLOWED_DOMAINS', '@example.com', 'WHERRY_OIDC_ALLOWED_DOMAINS: must be domains'],
    ['WHERRY_OIDC_ROLES', 'owner=x', 'WHERRY_OIDC_ROLES: must be pairs such as admin=wherry-admins'],
    ['WHERRY_OIDC_DEFAULT_ROLE', 'admin', 'WHERRY_OIDC_DEFAULT_ROLE: must be viewer or editor'],
    ['WHERRY_OIDC_ROLE_CLAIM', '', 'WHERRY_OIDC_ISSUER needs WHERRY_OIDC_ALLOWED_DOMAINS or WHERRY_OIDC_ROLE_CLAIM'],
  ])('is refused with %s=%j', (name, value, expected) => {
    const load = () => config({ ...SET, [name]: value });
    expect(load).toThrow(expected);
    expect(load).not.toThrow('CANARY');
  });

  it('is refused with roles of values, and no claim that has them', () => {
    const { WHERRY_OIDC_ROLE_CLAIM: _none, ...others } = SET;
    const set = { ...others, WHERRY_OIDC_ALLOWED_DOMAINS: 'example.com', WHERRY_OIDC_ROLES: 'admin=admins' };
    expect(() => config(set)).toThrow('WHERRY_OIDC_ROLES needs WHERRY_OIDC_ROLE_CLAIM');
  });
});
