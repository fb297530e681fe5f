import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { findOrBuildProgram } from '../cluster/programs/build-programs.ts';
import { actionlint } from '../cluster/programs/program-table.ts';
import { root } from './run-command.ts';

const workflows = path.join(root, '.github/workflows');
const templates = path.join(root, '.github/ISSUE_TEMPLATE');

/** Built once for this machine, which takes some seconds and downloads. */
const BUILD_MS = 5 * 60_000;

let program: string;

/** What actionlint finds in a workflow. Programs of the machine that it would call too (shellcheck) are not used. */
function problemsOf(workflow: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = ['-no-color', '-shellcheck=', '-pyflakes=', '-stdin-filename=workflow.yml', '-'];
    const child = execFile(program, args, { cwd: tmpdir() }, (error, stdout, stderr) => {
      // It ends with 1 when it found something, with more when it failed.
      if (error === null || error.code === 1) resolve(stdout);
      else reject(new Error(`actionlint: ${stderr}`, { cause: error }));
    });
    child.stdin?.end(workflow);
  });
}

describe('the workflows of GitHub', () => {
  beforeAll(async () => {
    program = await findOrBuildProgram(actionlint);
  }, BUILD_MS);

  it.each(readdirSync(workflows))('%s is one that actionlint accepts', async (name) => {
    expect(await problemsOf(readFileSync(path.join(workflows, name), 'utf8'))).toBe('');
  });

  it('would be rejected with a mistake', async () => {
    const workflow = readFileSync(path.join(workflows, 'ci.yml'), 'utf8');
    expect(await problemsOf(workflow.replace('runs-on:', 'runs_on:'))).toContain('runs_on');
  });

  it('run what .ci/run runs', () => {
    const { jobs } = parse(readFileSync(path.join(workflows, 'ci.yml'), 'utf8')) as {
      jobs: { test: { steps: { run?: string }[] } };
    };
    expect(jobs.test.steps.at(-1)).toEqual({ run: '.ci/run' });
  });
});

const formSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  labels: z.array(z.string()),
  body: z.array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('markdown'), attributes: z.strictObject({ value: z.string() }) }),
      z.strictObject({
        type: z.literal('textarea'),
        id: z.string(),
        attributes: z.strictObject({ label: z.string(), description: z.string().optional() }),
        validations: z.strictObject({ required: z.boolean() }).optional(),
      }),
      z.strictObject({
        type: z.literal('dropdown'),
        id: z.string(),
        attributes: z.strictObject({ label: z.string(), options: z.array(z.string()).min(1) }),
        validations: z.strictObject({ required: z.boolean() }).optional(),
      }),
    ]),
  ),
});

describe('the issue templates of GitHub', () => {
  it.each(readdirSync(templates).filter((name) => name !== 'config.yml'))('%s is a form', (name) => {
    const { body } = formSchema.parse(parse(readFileSync(path.join(templates, name), 'utf8')));
    const ids = body.flatMap((field) => ('id' in field ? [field.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
  });
});
