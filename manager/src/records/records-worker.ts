/** The thread of `audit.db`, `metrics.db` and `users.db`: no operation on them takes long. */
import { serveAudit } from '../audit/serve-audit.ts';
import { serveMetrics } from '../metric-store/serve-metrics.ts';
import { serveDatabases } from '../sqlite-thread/serve-databases.ts';
import { serveUsers } from '../users/serve-users.ts';

serveDatabases({ audit: serveAudit, metrics: serveMetrics, users: serveUsers });
