import { z } from 'zod';

const BASE64 = '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$';

/** A file as JSON. */
export const fileUploadSchema = z
  .strictObject({ content: z.string(), encoding: z.enum(['utf-8', 'utf8', 'base64']).nullish() })
  .meta({
    if: { properties: { encoding: { const: 'base64' } }, required: ['encoding'] },
    then: { properties: { content: { pattern: BASE64 } } },
  });

/** Bodies that are read as they come; for the document. */
export const bytesSchema = z.string().meta({ format: 'binary' });
export const fileFormSchema = z
  .looseObject({ file: bytesSchema })
  .describe('The part may also be named content; parts with other names are ignored');
export const treeFormSchema = z.strictObject({
  file: z.array(bytesSchema).min(1).describe("The files, each with its path as its part's filename"),
});

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
