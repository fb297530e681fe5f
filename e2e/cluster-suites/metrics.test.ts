// The same suite as on one machine: `startPlatform` finds the cluster.
import '../suites/metrics.test.ts';
