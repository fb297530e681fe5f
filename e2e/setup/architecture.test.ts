import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { root } from "./run-command.ts";

/** The table of parts in ARCHITECTURE.md: what each may import, by its folder. */
function describedImports(): Record<string, string[]> {
  const text = readFileSync(path.join(root, "ARCHITECTURE.md"), "utf8");
  const rows = text.matchAll(/^\| `([a-z0-9-]+)\/` \| .* \| ([^|]+) \|$/gm);
  return Object.fromEntries([...rows].map(([, part, imports]) => [part ?? "", (imports ?? "").split(", ").sort()]));
}

describe("ARCHITECTURE.md", () => {
  it("tells of every part that is there, and of no other", () => {
    const parts = readdirSync(root).filter((folder) => existsSync(path.join(root, folder, "package.json")) && folder !== "node_modules");
    expect(Object.keys(describedImports()).sort()).toEqual(parts.sort());
  });

  it("tells which part may import which, as lint holds it", async () => {
    const { importTable: table } = (await import(path.join(root, ".dependency-cruiser.js"))) as { importTable: Record<string, readonly string[]> };
    // zod is core's one package; what e2e and bench may do is said in words.
    const { core, e2e, bench, ...described } = describedImports();
    expect({ core, e2e, bench }).toEqual({ core: ["zod"], e2e: ["no other part"], bench: ["anything"] });
    for (const [part, imports] of Object.entries(described)) expect({ part, imports }).toEqual({ part, imports: [...(table[part] ?? [])].sort() });
  });
});
