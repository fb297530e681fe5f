/** A program that writes files which are committed. */
export interface Generator {
  name: string;
  /** The TypeScript file that Node runs at the root; it writes its outputs in place. */
  program: string;
  /** The files that it writes, relative to the root. */
  outputs: readonly string[];
}

/** Everything that `npm run verify` regenerates. */
export const generators: readonly Generator[] = [
  { name: "OpenAPI document", program: "manager/src/openapi/generate.ts", outputs: ["docs/reference/openapi.json"] },
];
