import { z } from 'zod';
import { pageQuery, paginationSchema } from '../http/cursor.ts';
import { timeSchema } from '../object-access/shape.ts';
import { AUDIT_RESULTS } from './audit-record.ts';

const filters = {
  actor: z.string().min(1).max(256).optional().describe('Id or name of the actor'),
  action: z.string().min(1).max(64).optional(),
  objectId: z.string().min(1).max(256).optional(),
  since: z.iso.datetime({ offset: true }).optional().describe('Records from this time on'),
  until: z.iso.datetime({ offset: true }).optional().describe('Records before this time'),
};

export const auditExportQuerySchema = z.strictObject(filters);
export type AuditExportQuery = z.output<typeof auditExportQuerySchema>;

export const auditQuerySchema = z.strictObject({
  ...filters,
  // The id of the last record.
  ...pageQuery(1),
});
export type AuditPageQuery = z.output<typeof auditQuerySchema>;

const auditRecordSchema = z
  .strictObject({
    id: z.string(),
    timestamp: timeSchema,
    actor: z.strictObject({
      type: z.enum(['user', 'key', 'kubernetes', 'system']),
      id: z.string().nullable().describe('null for the service itself and for an unknown caller'),
      name: z.string(),
    }),
    action: z.string().describe('The kind and the verb: key.create'),
    object: z.strictObject({ kind: z.string(), id: z.string().nullable(), name: z.string().nullable() }),
    result: z.enum(AUDIT_RESULTS),
    requestId: z.string().nullable(),
    clientAddress: z.string().nullable(),
  })
  .meta({ id: 'AuditRecord' });
export type AuditRecordView = z.output<typeof auditRecordSchema>;

export const auditPageSchema = z.strictObject({
  data: z.strictObject({
    records: z.array(auditRecordSchema),
    pagination: paginationSchema,
  }),
});
export type AuditPage = z.output<typeof auditPageSchema>;
