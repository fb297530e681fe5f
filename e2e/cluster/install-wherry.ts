import path from "node:path";
import { root } from "../setup/run-command.ts";
import type { Cluster } from "./cluster.ts";
import { findOrBuildImages } from "./images/build-images.ts";
import { progress } from "./progress.ts";
import { kindName, RELEASE, SYSTEM_NAMESPACE } from "./names.ts";

const CHART = path.join(root, "charts/wherry");
const VOLUMES = 3;

/** Values of the chart, as an object. */
export type ChartValues = Record<string, unknown>;

/** Builds the images and puts them on the node, makes volumes, and installs or upgrades the release with these values. */
export async function installWherry(cluster: Cluster, values: ChartValues = {}): Promise<void> {
  await loadImages(cluster);
  if (cluster.way === "namespaces") await makeVolumes(cluster);
  await progress("  helm upgrade --install", async () => {
    const where = ["--namespace", SYSTEM_NAMESPACE, "--create-namespace"];
    // JSON is YAML.
    const input = JSON.stringify(values);
    await cluster.helm(["upgrade", "--install", RELEASE, CHART, ...where, "--values", "-", "--wait", "--timeout", "5m"], { input });
  });
}

/** A cluster that KUBECONFIG named gets its images from a registry, which its values name. */
async function loadImages(cluster: Cluster): Promise<void> {
  if (cluster.way === "given") return;
  const { archive } = await findOrBuildImages(cluster.start);
  await progress("  images to the node", async () => {
    const { code, stderr } = await cluster.run("kind", ["load", "image-archive", archive, "--name", kindName(cluster.name)]);
    if (code !== 0) throw new Error(`The images could not be loaded: ${stderr.trim()}`);
  });
}

/** Nothing provisions volumes on our node: these lie on its disk, and go with it. */
async function makeVolumes(cluster: Cluster): Promise<void> {
  const node = `${kindName(cluster.name)}-control-plane`;
  const names = Array.from({ length: VOLUMES }, (_, index) => `volume-${index + 1}`);
  const folders = names.map((name) => `/var/lib/wherry-volumes/${name}`);
  await cluster.run("docker", ["exec", node, "mkdir", "-p", ...folders]);
  const volumes = names.map((name, index) => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "100Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "standard",
      persistentVolumeReclaimPolicy: "Retain",
      // Not hostPath: of a local volume the kubelet hands the files to the pod's group.
      local: { path: folders[index] },
      nodeAffinity: {
        required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [node] }] }] },
      },
    },
  }));
  await cluster.apply(JSON.stringify({ apiVersion: "v1", kind: "List", items: volumes }));
}
