// The same suite as on one machine: `startPlatform` finds the cluster.
import '../suites/main-job.test.ts';
