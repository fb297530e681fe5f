import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { root, toolEnvironment } from "./run-command.ts";

/** What jest said of these test files, run by themselves. */
async function jest(files: Record<string, string>): Promise<string> {
  const folder = mkdtempSync(path.join(root, "e2e/setup/tmp-"));
  try {
    for (const [name, code] of Object.entries(files)) writeFileSync(path.join(folder, name), code);
    return await new Promise((resolve) => {
      const options = { cwd: root, env: toolEnvironment() };
      execFile("jest", ["--ci", "--colors=false", folder], options, (_error, _stdout, stderr) => resolve(stderr));
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const GOOD = "it('passes', () => { expect(1).toBe(1); });";

describe("a run", () => {
  it.each([
    ["a rejection that nobody handles", "it('x', async () => { void Promise.reject(new Error('nobody')); await new Promise((r) => setTimeout(r, 500)); });", "code 1"],
    ["an exit in the middle", "it('x', () => { process.exit(0); });", "code 0"],
    ["a signal", "it('x', async () => { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}); });", "SIGKILL"],
  ])("goes on after %s, and says which file it was", async (...[, code, said]) => {
    const output = await jest({ "a.test.ts": GOOD, "b.test.ts": code, "c.test.ts": GOOD, "d.test.ts": GOOD });
    expect(output).toContain(`The process of the tests ended (${said}).`);
    expect(output).toMatch(/FAIL .*b\.test\.ts/);
    expect(output).toContain("Test Suites: 1 failed, 3 passed, 4 total");
  }, 60_000);

  it("tells of a failure with what only the process itself can hold", async () => {
    const code = "it('x', () => { const e: any = new Error('odd one'); e.self = e; e.big = 1n; e.call = () => 1; throw e; });";
    expect(await jest({ "a.test.ts": code })).toMatch(/odd one[^]*Tests: +1 failed, 1 total/);
  }, 60_000);
});
