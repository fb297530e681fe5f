/**
 * kind's configuration of our one node. etcd need not survive a power cut here; and a node that runs whole suites
 * takes more pods than the 110 that the kubelet allows by default.
 */
export const kindConfig = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking:
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/16
nodes:
- role: control-plane
kubeadmConfigPatches:
- |
  kind: ClusterConfiguration
  etcd:
    local:
      extraArgs:
        unsafe-no-fsync: "true"
- |
  kind: KubeletConfiguration
  maxPods: 250
`;

/** Of kindConfig: routes to them lead over the node. */
export const CLUSTER_NETWORKS = ['10.244.0.0/16', '10.96.0.0/16'];
