import { z } from 'zod';

export const fileListSchema = z.strictObject({
  files: z.array(z.strictObject({ path: z.string(), size: z.int(), mtime: z.iso.datetime() })),
});
export const fileViewSchema = z.strictObject({
  path: z.string(),
  content: z.string(),
  contentType: z.string(),
  size: z.int(),
  encoding: z.enum(['utf-8', 'base64']),
});
export type FileView = z.output<typeof fileViewSchema>;
export const filePutSchema = z.strictObject({ success: z.literal(true), path: z.string(), created: z.boolean() });
export const fileDeletedSchema = z.strictObject({
  success: z.literal(true),
  path: z.string(),
  deleted: z.literal(true),
});
export const treePutSchema = z.strictObject({
  success: z.literal(true),
  files: z.int().describe('How many files the source now has'),
});
