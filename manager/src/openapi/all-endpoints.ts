import { docsEndpoints } from '../api-docs/docs-endpoints.ts';
import { auditEndpoints } from '../audit/audit-endpoints.ts';
import { eventEndpoints } from '../events/event-endpoints.ts';
import type { AnyEndpoint } from '../http/endpoint.ts';
import { encryptionKeyEndpoints } from '../encryption-keys/encryption-key-endpoints.ts';
import { fileEndpoints } from '../files/file-endpoints.ts';
import { functionEndpoints } from '../functions/function-endpoints.ts';
import { keyGroupEndpoints } from '../key-groups/key-group-endpoints.ts';
import { keyEndpoints } from '../keys/key-endpoints.ts';
import { logEndpoints } from '../logs/log-endpoints.ts';
import { metricEndpoints } from '../metrics/metric-endpoints.ts';
import { oidcEndpoints } from '../oidc/oidc-endpoints.ts';
import { secretEndpoints } from '../secrets/secret-endpoints.ts';
import { sessionEndpoints } from '../sessions/session-endpoints.ts';
import { settingEndpoints } from '../settings/setting-endpoints.ts';
import { sourceEndpoints } from '../sources/source-endpoints.ts';
import { userEndpoints } from '../users/user-endpoints.ts';
import { openapiEndpoints } from './openapi-endpoints.ts';

/** Every endpoint of the API, in the order of the document. */
export const ALL_ENDPOINTS: readonly AnyEndpoint[] = [
  functionEndpoints,
  sourceEndpoints,
  fileEndpoints,
  keyGroupEndpoints,
  keyEndpoints,
  secretEndpoints,
  userEndpoints,
  sessionEndpoints,
  oidcEndpoints,
  logEndpoints,
  metricEndpoints,
  auditEndpoints,
  eventEndpoints,
  settingEndpoints,
  encryptionKeyEndpoints,
  openapiEndpoints,
  docsEndpoints,
].flatMap((endpoints) => Object.values<AnyEndpoint>(endpoints));
