/**
 * `npm run cluster -- up|status|down|in CMD…|programs [--name NAME]`: a real Kubernetes with Wherry on it.
 * See docs/guides/development-cluster.md.
 */
import { parseArgs } from "node:util";
import { bringUpBare } from "./bring-up.ts";
import { openCluster } from "./cluster.ts";
import { clusterNames, isThere, readState } from "./cluster-state.ts";
import { findOrBuildPrograms } from "./programs/build-programs.ts";
import { say } from "./progress.ts";
import { takeDown } from "./take-down.ts";
import { withLock } from "./with-lock.ts";

const USAGE = `npm run cluster -- COMMAND [--name NAME]

  up         brings the cluster up, and says how to reach it
  status     says which clusters are up
  down       takes it down, without a trace
  in CMD…    runs a command where kubectl, helm, kind and docker know the cluster
  programs   builds the Kubernetes programs and says where they are

The name is "dev" unless --name says otherwise; it comes before CMD.`;

async function up(name: string): Promise<void> {
  const cluster = await bringUpBare({ name });
  console.log(await cluster.kubectl(["get", "nodes", "-o", "wide"]));
  const option = name === "dev" ? "" : ` --name ${name}`;
  console.log(`It is up. Talk to it with\n  npm run cluster --${option} in kubectl get pods -A\nand take it down with\n  npm run cluster --${option} down`);
}

async function status(): Promise<void> {
  const states = clusterNames().map((name) => ({ name, state: readState(name) }));
  if (states.length === 0) console.log("No cluster is up.");
  for (const { name, state } of states) {
    if (state === undefined || !isThere(state)) {
      console.log(`${name}: gone, but for its files; \`down\` removes them`);
      continue;
    }
    console.log(`${name}: ${state.isReady ? "up" : "not up yet"} (${state.way}), KUBECONFIG=${state.kubeconfig}`);
    if (!state.isReady) continue;
    const { stdout, stderr } = await openCluster(state).run("kubectl", ["get", "nodes,pods", "-A"], { timeoutMs: 10_000 });
    console.log(stdout + stderr);
  }
}

async function down(name: string): Promise<void> {
  await withLock(`cluster-${name}`, `it brings the cluster "${name}" up or down`, () => takeDown(name));
  say(`The cluster "${name}" is gone.`);
}

async function runInside(name: string, [command, ...args]: readonly string[]): Promise<number> {
  const state = readState(name);
  if (state === undefined || !isThere(state)) throw new Error(`The cluster "${name}" is not up: run \`npm run cluster -- up\`.`);
  if (command === undefined) throw new Error("Which command? Such as `npm run cluster -- in kubectl get pods -A`.");
  const child = openCluster(state).start(command, args, { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}

async function main(args: readonly string[]): Promise<number> {
  // What follows `in` is the command's, options included.
  const end = args.indexOf("in");
  const own = end === -1 ? args : args.slice(0, end + 1);
  const { values, positionals } = parseArgs({
    args: [...own],
    options: { name: { type: "string", default: "dev" }, help: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const [command] = positionals;
  if (command === "up") await up(values.name);
  else if (command === "status") await status();
  else if (command === "down") await down(values.name);
  else if (command === "in") return runInside(values.name, args.slice(end + 1));
  else if (command === "programs") console.log(await findOrBuildPrograms("cluster"));
  else {
    console.log(USAGE);
    return values.help ? 0 : 1;
  }
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
