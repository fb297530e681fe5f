/**
 * For the environment of a program under test that sees nothing else of ours: where Node keeps the modules that it has
 * compiled. Without it each start of a program takes twice the time.
 */
export const compileCache: Record<string, string> =
  process.env['NODE_COMPILE_CACHE'] === undefined ? {} : { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] };
