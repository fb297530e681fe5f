{{/* Parts of the NetworkPolicies. */}}

{{- define "wherry.dnsEgress" -}}
- ports: # to any address: a node's own DNS cache is no pod
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- end }}

{{- define "wherry.portsEgress" -}}
- ports:
    {{- range . }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{/* Anybody in the cluster but functions: they must not reach what manages them. */}}

{{- define "wherry.notFunctions" -}}
- namespaceSelector:
    matchExpressions:
      - { key: kubernetes.io/metadata.name, operator: NotIn, values: [{{ .Values.functions.namespace }}] }
{{- end }}
