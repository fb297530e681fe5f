// The same suite as on one machine: `startPlatform` finds the cluster.
import '../suites/secrets.test.ts';
