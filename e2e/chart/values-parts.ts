import { z } from 'zod';

/* What several values have in common. */

export const dnsLabel = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);

/** A Kubernetes quantity of bytes or cores, such as `512Mi` or `100m`. */
export const quantity = z
  .string()
  .max(32)
  .regex(/^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/);

export const texts = (description: string, usual: Record<string, string> = {}) =>
  z.record(z.string().min(1).max(317), z.string().max(65_536)).default(usual).describe(description);

/** Objects of Kubernetes' own, whose fields the API server knows. */
export const looseObjects = (description: string) => z.array(z.looseObject({})).default([]).describe(description);

export const hostNames = (description: string) =>
  z
    .array(
      z
        .string()
        .max(253)
        .regex(/^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/),
    )
    .default([])
    .describe(description);

export const trustedProxies = z
  .array(
    z
      .string()
      .max(64)
      .regex(/^[0-9a-fA-F.:]+(\/\d{1,3})?$/),
  )
  .default([])
  .describe(
    'Networks (CIDR) of proxies whose `X-Forwarded-*` and `X-Request-Id` headers are trusted: those of the ingress controller.',
  );

/** A key of a Secret or ConfigMap; without a name, none is used. */
export const keyOf = (kind: string, key: string) =>
  z
    .strictObject({
      name: z.string().max(253).default('').describe(`Name of the ${kind}. Empty: none.`),
      key: z.string().min(1).max(253).default(key).describe('The key in it.'),
    })
    .prefault({});

const amounts = z.strictObject({
  cpu: quantity.optional(),
  memory: quantity.optional(),
  'ephemeral-storage': quantity.optional(),
});
type Amounts = z.input<typeof amounts>;

/** `requests` and `limits` of a container. */
export const resources = (requests: Amounts, limits: Amounts) =>
  z.strictObject({ requests: amounts.optional(), limits: amounts.optional() }).default({ requests, limits });

/** What the pods of operator, router and manager all can be given, and the values of their own. */
export function componentValues<Shape extends z.ZodRawShape>(requests: Amounts, limits: Amounts, own: Shape) {
  return z.strictObject({
    image: z.string().max(512).default('').describe('Image to use instead of the default one.'),
    ...own,
    resources: resources(requests, limits).describe('Resources of its container.'),
    env: texts('Additional environment variables, by name: [configuration](../reference/config.md).'),
    podAnnotations: texts('Annotations of its pods.'),
    podLabels: texts('Labels of its pods.'),
    nodeSelector: texts('Labels that nodes must have to run it.'),
    tolerations: looseObjects('Taints of nodes that it tolerates.'),
    affinity: z.looseObject({}).default({}).describe('Affinity of its pods.'),
    priorityClassName: z.string().max(253).default('').describe('Priority class of its pods.'),
  });
}

/** Of the manager. */
export const oidc = z
  .strictObject({
    issuer: z
      .string()
      .max(2048)
      .regex(/^(https?:\/\/.+)?$/)
      .default('')
      .describe("The provider's issuer, an https URL. Empty: users sign in with email and password alone."),
    secret: z
      .string()
      .max(253)
      .default('')
      .describe("Name of a Secret in the release's namespace with `client-id` and `client-secret`."),
    scopes: z
      .array(z.string().regex(/^[!-~]+$/))
      .default(['openid', 'email', 'profile'])
      .describe('Scopes that are requested.'),
    allowedDomains: z
      .array(z.string())
      .default([])
      .describe('Domains of verified emails that may sign in. Empty: all; then `roleClaim` is needed.'),
    roleClaim: z.string().max(256).default('').describe('Claim that has the role. Empty: administrators give roles.'),
    roles: z
      .array(z.string().regex(/^(viewer|editor|admin)=.+$/))
      .default([])
      .describe(
        'Which values of the claim stand for which role: `admin=platform-team`. Empty: admin, editor and viewer themselves.',
      ),
    defaultRole: z
      .enum(['', 'viewer', 'editor'])
      .default('')
      .describe(
        'Role of users to whom the claim gives none. Empty: they may not sign in; without a claim, they are editors.',
      ),
  })
  .prefault({})
  .describe('Sign-in with an OpenID Connect provider: [the guide](openid-connect.md).');
