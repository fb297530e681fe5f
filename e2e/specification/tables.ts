import type { Table } from './row.ts';
import { auditAndEvents } from './tables/audit-and-events.ts';
import { commonRules } from './tables/common-rules.ts';
import { encryptionKeys } from './tables/encryption-keys.ts';
import { files } from './tables/files.ts';
import { functionFields } from './tables/function-fields.ts';
import { functionKeys } from './tables/function-keys.ts';
import { functionPort } from './tables/function-port.ts';
import { functions } from './tables/functions.ts';
import { keyGroups } from './tables/key-groups.ts';
import { keys } from './tables/keys.ts';
import { roles } from './tables/roles.ts';
import { secrets } from './tables/secrets.ts';
import { settings } from './tables/settings.ts';
import { sources } from './tables/sources.ts';
import { telemetry } from './tables/telemetry.ts';
import { users } from './tables/users.ts';

/** Every table. Each finds a service that has none of the objects of the tables before it. */
export const TABLES: readonly Table[] = [
  functions,
  functionFields,
  sources,
  files,
  keyGroups,
  keys,
  secrets,
  settings,
  encryptionKeys,
  telemetry,
  auditAndEvents,
  functionPort,
  functionKeys,
  // Begins without a user; the two after it have users of their own.
  users,
  roles,
  commonRules,
];
