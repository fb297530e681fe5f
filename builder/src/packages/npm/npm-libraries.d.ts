/* eslint-disable no-restricted-exports -- these libraries have default exports */
// What we use of npm's own libraries, which come without types.

declare module 'npm-package-arg' {
  interface Spec {
    registry?: boolean;
    type: string;
    name: string | null;
    raw: string;
    fetchSpec: string | null;
    subSpec?: Spec;
  }
  const npa: { (spec: string): Spec; resolve(name: string, spec: string, where: string): Spec };
  export { type Spec };
  export default npa;
}

declare module 'npm-pick-manifest' {
  /** Throws with the code ETARGET or ENOVERSIONS when nothing fits. */
  export default function pickManifest(
    packument: object,
    range: string,
    options: object,
  ): { name: string; version: string };
}

declare module 'npm-registry-fetch/lib/default-opts.js' {
  const defaults: { registry: string };
  export default defaults;
}

declare module '@npmcli/arborist' {
  interface Edge {
    name: string;
    spec: string;
    type: 'prod' | 'dev' | 'optional' | 'peer' | 'peerOptional' | 'workspace';
    from: Node;
    to: Node | null;
    error: 'MISSING' | 'INVALID' | 'DETACHED' | 'PEER LOCAL' | null;
  }
  interface Node {
    name: string;
    packageName: string;
    version: string;
    /** Path from the root, such as `node_modules/a`. */
    location: string;
    integrity: string | null;
    isLink: boolean;
    errors: Error[];
    package: Record<string, unknown>;
    edgesOut: Map<string, Edge>;
  }
  export default class Arborist {
    constructor(options: object);
    loadVirtual(): Promise<Node>;
    buildIdealTree(): Promise<Node>;
  }
  export { type Edge, type Node };
}
