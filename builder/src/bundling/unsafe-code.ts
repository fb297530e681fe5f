/**
 * Two things in code make esbuild read the disk by itself, past every plugin; both are found before it bundles (B2).
 *
 * 1. `import()` and `require()` of a path that is put together: it expands them as globs. Whether code has one is
 *    esbuild's to say (it reports it when it does not bundle); this only says whether esbuild must be called. No spelling passes:
 *    `import` is a keyword, so it has no escapes, and what follows it in code without such calls is listed.
 */
export const mayComputeImports = (code: string): boolean => /require|\\u|import(?!\s*[\w$*{'"]|\.meta\b)/.test(code);

/** 2. A comment that names a source map by a `file:` URL. The comment, if there is one. */
export const fileSourceMap = (code: string): RegExpExecArray | null =>
  /\/[/*][#@] sourceMappingURL=\s*file:/i.exec(code);
