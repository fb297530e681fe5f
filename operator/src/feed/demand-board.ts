/** Calls of one function at one router. */
interface Demand {
  inFlight: number;
  waiting: number;
}

/** What routers last reported of the calls that they hold: the input of a scaler. */
export interface DemandBoard {
  /** Replaces all that this router reported before. */
  report(router: object, functions: Record<string, Demand>): void;
  /** The router is gone, and its calls with it. */
  forget(router: object): void;
  /** Over all routers. */
  of(functionName: string): Demand;
}

export function createDemandBoard(): DemandBoard {
  const reports = new Map<object, Map<string, Demand>>();
  return {
    report: (router, functions) => void reports.set(router, new Map(Object.entries(functions))),
    forget: (router) => void reports.delete(router),
    of(functionName) {
      const sum = { inFlight: 0, waiting: 0 };
      for (const report of reports.values()) {
        const demand = report.get(functionName);
        sum.inFlight += demand?.inFlight ?? 0;
        sum.waiting += demand?.waiting ?? 0;
      }
      return sum;
    },
  };
}
