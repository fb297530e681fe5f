// The same suite as on one machine, of the rows that Kubernetes can make a difference to: `startPlatform` finds the cluster.
import '../suites/specification.test.ts';
