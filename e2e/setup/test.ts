/**
 * `npm test`: installs what the tests need from the system, then runs the type check, lint, verify and jest.
 * `npm test -- router …` runs the test files alone whose paths match. The last line of the output is always
 * `N passed, N failed`: each jest test counts, and each other step counts as one.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { countResults } from "./count-results.ts";
import type { Counts, JestResults } from "./count-results.ts";
import { installPackages } from "./install-packages.ts";
import { systemPackages } from "./packages.ts";
import { runCommand } from "./run-command.ts";

/** The longest test file takes about three minutes on two cores, and prints its line at its end. */
const SILENCE_MINUTES = 12;

type Step = { name: string; run: () => Promise<Counts> };

async function runChecked(command: string, args: string[]): Promise<Counts> {
  const good = (await runCommand(command, args)) === 0;
  return { passed: good ? 1 : 0, failed: good ? 0 : 1, remarks: [] };
}

async function runJest(paths: readonly string[]): Promise<Counts> {
  const folder = mkdtempSync(path.join(tmpdir(), "wherry-jest-"));
  const outputFile = path.join(folder, "results.json");
  try {
    const code = await runCommand("jest", ["--ci", "--json", `--outputFile=${outputFile}`, ...paths], SILENCE_MINUTES);
    const counts = readResults(outputFile);
    if (code !== 0 && counts.failed === 0) {
      return { ...counts, failed: 1, remarks: [...counts.remarks, `jest ended with code ${code}`] };
    }
    return counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readResults(file: string): Counts {
  try {
    return countResults(JSON.parse(readFileSync(file, "utf8")) as JestResults);
  } catch (error) {
    return { passed: 0, failed: 1, remarks: [`jest left no results: ${String(error)}`] };
  }
}

function steps(paths: readonly string[]): Step[] {
  const tests: Step = { name: "tests", run: () => runJest(paths) };
  if (paths.length > 0) return [tests];
  return [
    { name: "type check", run: () => runChecked("tsc", ["--noEmit", "-p", "."]) },
    { name: "lint", run: () => runChecked("node", ["e2e/setup/lint.ts"]) },
    { name: "verify", run: () => runChecked("node", ["e2e/setup/verify.ts"]) },
    tests,
  ];
}

async function runStep({ name, run }: Step): Promise<Counts> {
  const start = performance.now();
  console.log(`\n== ${name}`);
  const counts = await run();
  for (const remark of counts.remarks) console.log(remark);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`== ${name}: ${counts.failed === 0 ? "ok" : "FAILED"} in ${seconds} s`);
  return counts;
}

async function main(paths: readonly string[]): Promise<void> {
  const results: Counts[] = [];
  if (paths.some((argument) => argument.startsWith("-"))) {
    console.error("npm test takes paths only. For jest's options: npm exec -- jest <options>");
    results.push({ passed: 0, failed: 1, remarks: [] });
  } else if (await installPackages(systemPackages)) {
    for (const step of steps(paths)) results.push(await runStep(step));
  } else {
    results.push({ passed: 0, failed: 1, remarks: [] });
  }
  const sum = (key: "passed" | "failed"): number => results.reduce((total, counts) => total + counts[key], 0);
  process.exitCode = sum("failed") === 0 ? 0 : 1;
  console.log(`\n${sum("passed")} passed, ${sum("failed")} failed`);
}

await main(process.argv.slice(2));
