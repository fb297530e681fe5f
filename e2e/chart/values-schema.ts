import { z } from 'zod';
import {
  componentValues,
  dnsLabel,
  hostNames,
  keyOf,
  looseObjects,
  quantity,
  resources,
  texts,
  trustedProxies,
  oidc,
} from './values-parts.ts';

/*
 * The values of charts/wherry: what each is, its default, and what it may be. values.yaml, values.schema.json and
 * docs/guides/kubernetes-values.md are generated from this (generate.ts).
 */

const network = z
  .string()
  .max(64)
  .regex(/^[0-9a-fA-F.:]+\/\d{1,3}$/);

const images = z
  .strictObject({
    registry: z
      .string()
      .max(255)
      .regex(/^[^\s/]*(\/[^\s/]+)*\/?$/)
      .default('')
      .describe(
        'Prefix of `wherry/<program>`, such as `registry.example.com/team`. Empty: the images are already on the nodes.',
      ),
    tag: z
      .string()
      .max(128)
      .regex(/^[A-Za-z0-9_.-]*$/)
      .default('')
      .describe('Tag of all images. Empty: the version of the chart.'),
    pullPolicy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .default('IfNotPresent')
      .describe('When nodes pull images, including that of the functions.'),
    pullSecrets: z
      .array(dnsLabel)
      .default([])
      .describe("Names of Secrets in the release's namespace with which nodes pull the images."),
  })
  .describe(
    'The images of the five programs: operator, builder, router, manager, and runtime, in which functions run.',
  );

const functions = z
  .strictObject({
    namespace: dnsLabel
      .default('wherry-functions')
      .describe(
        "Namespace of all functions, keys and secrets, and of the pods that run functions. Not the release's own.",
      ),
    createNamespace: z
      .boolean()
      .default(true)
      .describe(
        'Creates that namespace, with the Pod Security labels for `restricted`. It stays when the release is uninstalled.',
      ),
    url: z
      .string()
      .max(2048)
      .regex(/^(https?:\/\/[^\s/]+(\/[^\s]*)?)?$/)
      .default('')
      .describe(
        "Where callers reach the function port: the base of the URLs that the API shows. Empty: the first host of `ingress.functions` or `gateway.functions`, else the router's Service.",
      ),
    lameDuckSeconds: z
      .int()
      .min(0)
      .max(600)
      .default(5)
      .describe('How long an instance that is being stopped still takes calls, so that every router notices.'),
    forbiddenNetworks: z
      .array(network)
      .default([])
      .describe(
        'Further networks (CIDR) that functions may not reach, in addition to all private and shared ones (including the cluster itself), link-local ones and cloud metadata addresses.',
      ),
    allowedNetworks: z
      .array(network)
      .default([])
      .describe(
        'Private networks (CIDR) that functions may reach nevertheless, such as that of a database. Addresses in `forbiddenNetworks`, link-local addresses and metadata addresses stay closed.',
      ),
    imagePullSecrets: z
      .array(dnsLabel)
      .default([])
      .describe("Names of Secrets in the functions' namespace with which nodes pull the runtime's image."),
  })
  .describe('The namespace of functions, and what they may reach.');

const operator = componentValues(
  { cpu: '100m', memory: '192Mi' },
  { memory: '1Gi' },
  {
    replicas: z
      .int()
      .min(1)
      .max(10)
      .default(1)
      .describe('One replica leads; all of them serve the feed. With 2, the other one takes over within seconds.'),
    cacheMiB: z
      .int()
      .min(64)
      .max(1_048_576)
      .default(1024)
      .describe(
        'How many MiB of artifacts and files are cached on the node, so that functions can start while the manager is not available.',
      ),
  },
).describe('The operator: it builds and runs functions, and sends routers what they serve.');

const builder = z
  .strictObject({
    image: z.string().max(512).default('').describe('Image to use instead of the default one.'),
    resources: resources({ cpu: '100m', memory: '256Mi' }, { memory: '3Gi' }).describe(
      'Resources of its container. Up to four builds run at once, each within 512 MiB.',
    ),
    env: texts('Additional environment variables, by name: [configuration](../reference/config.md).'),
  })
  .describe("The builder: a container in the operator's pod, without a token and without keys.");

const installer = z
  .strictObject({
    resources: resources({ cpu: '50m', memory: '96Mi' }, { memory: '1Gi' }).describe('Resources of its container.'),
    env: texts('Additional environment variables, by name: [configuration](../reference/config.md).'),
  })
  .describe(
    "The installer: a container in the operator's pod that fetches packages from the registry. It uses the builder's image. Only it has the registry's token, and it runs as a separate user.",
  );

const npm = z
  .strictObject({
    registry: z
      .string()
      .max(2048)
      .regex(/^(https?:\/\/[^\s]+)?$/)
      .default('')
      .describe("Registry of the npm packages that functions import. Empty: npm's public one."),
    proxy: z
      .string()
      .max(2048)
      .regex(/^(https?:\/\/[^\s]+)?$/)
      .default('')
      .describe('Proxy (http or https URL) through which the registry is reached.'),
    tokenSecret: keyOf('Secret', 'token').describe(
      "A Secret in the release's namespace with the bearer token for that registry.",
    ),
    caConfigMap: keyOf('ConfigMap', 'ca.crt').describe(
      "A ConfigMap in the release's namespace with certificates (PEM) to trust in addition to the system's.",
    ),
  })
  .describe('Where builds get npm packages from.');

const router = componentValues(
  { cpu: '100m', memory: '96Mi' },
  { memory: '512Mi' },
  {
    replicas: z.int().min(1).max(100).default(2).describe('How many routers take calls.'),
    lameDuckSeconds: z
      .int()
      .min(0)
      .max(300)
      .default(5)
      .describe('How long a router that is being stopped still takes new calls, so that every load balancer notices.'),
    drainSeconds: z.int().min(0).max(3600).default(30).describe('How long running calls have to finish after that.'),
    trustedProxies,
    service: z
      .strictObject({
        type: z
          .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
          .default('ClusterIP')
          .describe('`LoadBalancer` and `NodePort` expose the function port without an Ingress.'),
        port: z.int().min(1).max(65_535).default(8000).describe('Port of the Service.'),
        nodePort: z
          .int()
          .min(0)
          .max(65_535)
          .default(0)
          .describe('Port on every node, where the type has one. 0: any free port.'),
        externalTrafficPolicy: z
          .enum(['', 'Cluster', 'Local'])
          .default('')
          .describe("`Local` preserves callers' addresses with `NodePort` and `LoadBalancer`."),
        loadBalancerClass: z.string().max(253).default('').describe('Class of the load balancer.'),
        annotations: texts('Annotations of the Service.'),
      })
      .prefault({})
      .describe('The Service in front of the routers.'),
  },
).describe('The router: the function port.');

const manager = componentValues(
  { cpu: '100m', memory: '128Mi' },
  { memory: '1Gi' },
  {
    trustedProxies,
    telemetryMiB: z
      .int()
      .min(16)
      .max(1_048_576)
      .default(512)
      .describe(
        'How large the log database may grow on the volume, in MiB. When it is full, the oldest entries of the functions with the most entries are removed.',
      ),
    firstUser: z
      .strictObject({
        secret: z
          .string()
          .max(253)
          .default('')
          .describe(
            "Name of a Secret in the release's namespace with the `email` and `password` of an administrator, who is created if no user exists at a start. Empty: no user is created; the chart's notes show how to create the first one.",
          ),
      })
      .prefault({})
      .describe('The first user: [users](users.md).'),
    oidc,
    database: z
      .strictObject({
        type: z
          .enum(['sqlite'])
          .default('sqlite')
          .describe(
            'Where logs, users and audit records are kept. Only `sqlite`, on the volume, is supported; PostgreSQL is not supported yet.',
          ),
      })
      .prefault({})
      .describe('The databases.'),
    content: z
      .strictObject({
        type: z
          .enum(['folder'])
          .default('folder')
          .describe(
            'Where the files of sources are kept. Only `folder`, on the volume, is supported; S3 is not supported yet.',
          ),
      })
      .prefault({})
      .describe('The content store.'),
    persistence: z
      .strictObject({
        size: quantity
          .default('10Gi')
          .describe('Size of the volume that holds users, logs, audit records and the files of sources.'),
        storageClass: z
          .string()
          .max(253)
          .default('')
          .describe("Storage class of the volume. Empty: the cluster's default."),
        existingClaim: z
          .string()
          .max(253)
          .default('')
          .describe('An existing PersistentVolumeClaim to use instead of the one that the chart creates.'),
      })
      .prefault({})
      .describe('The volume. The claim stays when the release is uninstalled.'),
  },
).describe(
  'The manager: the management API. It has one replica, because it owns the volume; calls of functions do not depend on it.',
);

const ingressOf = (what: string) =>
  z
    .strictObject({
      enabled: z.boolean().default(false).describe(`Creates an Ingress for ${what}.`),
      className: z.string().max(253).default('').describe("Ingress class. Empty: the cluster's default."),
      annotations: texts('Annotations of the Ingress.'),
      hosts: hostNames('Host names.'),
      tls: looseObjects('As in an Ingress: `[{hosts: […], secretName: …}]`.'),
    })
    .prefault({})
    .describe(`Ingress for ${what}.`);

const routeOf = (what: string) =>
  z
    .strictObject({
      enabled: z.boolean().default(false).describe(`Creates an HTTPRoute for ${what}.`),
      annotations: texts('Annotations of the HTTPRoute.'),
      parentRefs: looseObjects('The Gateways, as in an HTTPRoute: `[{name: …, namespace: …}]`.'),
      hostnames: hostNames('Host names. Empty: all of the Gateway.'),
    })
    .prefault({})
    .describe(`HTTPRoute for ${what}.`);

const monitorOf = (kind: string, what = `A ${kind}`) =>
  z
    .strictObject({
      enabled: z.boolean().default(false).describe(`Creates a ${kind} for the Prometheus operator.`),
      labels: texts('Labels by which your Prometheus selects it.'),
    })
    .prefault({})
    .describe(`${what}.`);

const ports = (usual: number[]) => z.array(z.int().min(1).max(65_535)).min(1).default(usual);

export const valuesSchema = z.strictObject({
  name: dnsLabel
    .max(40)
    .default('wherry')
    .describe(
      "Prefix of the names of all of Wherry's objects. Do not change it later: Secrets and the volume are found by it.",
    ),
  logLevel: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe("The programs' own log lines (JSON, standard error)."),
  images: images.prefault({}),
  crds: z
    .strictObject({
      install: z
        .boolean()
        .default(true)
        .describe(
          'Installs and upgrades the CustomResourceDefinitions. They stay when the release is uninstalled. Turn this off for a second release in the same cluster, or where an administrator installs them.',
        ),
    })
    .prefault({})
    .describe('The six kinds of objects.'),
  functions: functions.prefault({}),
  runtime: z
    .strictObject({ image: z.string().max(512).default('').describe('Image to use instead of the default one.') })
    .prefault({})
    .describe('The image in which functions run.'),
  operator: operator.prefault({}),
  builder: builder.prefault({}),
  installer: installer.prefault({}),
  npm: npm.prefault({}),
  router: router.prefault({}),
  manager: manager.prefault({}),
  ingress: z
    .strictObject({
      functions: ingressOf('the function port, path `/run`'),
      management: ingressOf('the management port, paths `/api` and `/web`. Decide who should be able to reach it'),
    })
    .prefault({})
    .describe('Access from outside the cluster, through an ingress controller.'),
  gateway: z
    .strictObject({
      functions: routeOf('the function port, path `/run`'),
      management: routeOf('the management port, paths `/api` and `/web`. Decide who should be able to reach it'),
    })
    .prefault({})
    .describe('Access from outside the cluster, through the Gateway API, whose CRDs must be installed.'),
  networkPolicies: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe(
          "Creates NetworkPolicies for Wherry's own programs. They need a network plugin that enforces them. The one for the pods of functions is always created.",
        ),
      metricsFrom: looseObjects(
        "Who may read metrics, as `from` of a NetworkPolicy. Empty: every namespace except the functions'.",
      ),
      managementFrom: looseObjects(
        "Who may reach the management port, as `from` of a NetworkPolicy. Empty: every namespace except the functions'.",
      ),
      dnsTo: looseObjects(
        'The DNS servers, as `to` of a NetworkPolicy; functions can reach no others. Empty: the pods with the label `k8s-app: kube-dns` in `kube-system`. With NodeLocal DNSCache, name its addresses here.',
      ),
      dnsPorts: ports([53]).describe("Ports of those resolvers' pods: 5353 on OpenShift."),
      apiServerPorts: ports([443, 6443]).describe('Ports on which operator and manager reach the API server.'),
      registryPorts: ports([443]).describe(
        'Ports on which builds reach the registry of npm packages, or the proxy to it.',
      ),
      oidcPorts: ports([443]).describe('Ports on which the manager reaches the provider of `manager.oidc`.'),
    })
    .prefault({})
    .describe('Which connections are allowed.'),
  monitoring: z
    .strictObject({
      interval: z
        .string()
        .max(16)
        .regex(/^[0-9]+(ms|s|m)$/)
        .default('30s')
        .describe('How often Prometheus scrapes.'),
      annotations: z.boolean().default(true).describe('Puts the customary `prometheus.io/*` annotations on the pods.'),
      podMonitor: monitorOf('PodMonitor'),
      serviceMonitor: monitorOf('ServiceMonitor'),
      prometheusRule: monitorOf('PrometheusRule', 'Alerts'),
      dashboard: z
        .strictObject({
          enabled: z
            .boolean()
            .default(false)
            .describe('Creates a ConfigMap with the dashboard under the key `wherry.json`.'),
          labels: texts("Labels by which Grafana's sidecar selects it.", { grafana_dashboard: '1' }),
        })
        .prefault({})
        .describe('A ConfigMap with a dashboard for Grafana.'),
      scrapeConfig: z
        .strictObject({
          enabled: z
            .boolean()
            .default(false)
            .describe('Creates a ConfigMap with the scrape configuration under the key `wherry.yaml`.'),
        })
        .prefault({})
        .describe('A ConfigMap with a scrape configuration, for a Prometheus without its operator.'),
    })
    .prefault({})
    .describe('Prometheus.'),
});
