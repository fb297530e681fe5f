{{/* Names and labels. Selectors never change: a Deployment's are immutable. */}}
{{- define "wherry.selector" -}}
app.kubernetes.io/name: wherry
app.kubernetes.io/instance: {{ .root.Values.name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "wherry.labels" -}}
{{ include "wherry.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: wherry
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{/* name, namespace and labels of an object: (dict "root" $ "component" "router" "name" "router" "namespace" "…") */}}
{{- define "wherry.metadata" -}}
name: {{ printf "%s-%s" .root.Values.name .name }}
namespace: {{ default .root.Release.Namespace .namespace }}
labels:
  {{- include "wherry.labels" . | nindent 2 }}
{{- end }}

{{/* The image of a program: the component's own value, else built of registry, program and tag. */}}
{{- define "wherry.image" -}}
{{- $images := .root.Values.images -}}
{{- $own := (index .root.Values .program).image -}}
{{- $repository := printf "wherry/%s" .program -}}
{{- if $images.registry }}{{ $repository = printf "%s/%s" (trimSuffix "/" $images.registry) $repository }}{{ end -}}
{{- default (printf "%s:%s" $repository (default .root.Chart.AppVersion $images.tag)) $own -}}
{{- end }}

{{/* Where callers reach the function port: the base of the URLs that the API shows. */}}
{{- define "wherry.functionUrl" -}}
{{- $v := .Values -}}
{{- if $v.functions.url }}{{ trimSuffix "/" $v.functions.url }}
{{- else if and $v.ingress.functions.enabled $v.ingress.functions.hosts }}{{ ternary "https" "http" (not (empty $v.ingress.functions.tls)) }}://{{ first $v.ingress.functions.hosts }}
{{- else if and $v.gateway.functions.enabled $v.gateway.functions.hostnames }}https://{{ first $v.gateway.functions.hostnames }}
{{- else }}http://{{ $v.name }}-router.{{ .Release.Namespace }}.svc:{{ $v.router.service.port }}
{{- end }}
{{- end }}

{{/* Environment: what the chart sets, then `env` of the values, which cannot set the same again. */}}
{{- define "wherry.environment" -}}
{{- $set := .set -}}
{{- range $name, $value := $set }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
- name: WHERRY_INSTANCE
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- range $name, $value := .extra }}
{{- if or (hasKey $set $name) (eq $name "WHERRY_INSTANCE") }}
{{- fail (printf "%s.env.%s: the chart sets this variable itself; see docs/guides/kubernetes-values.md" $.component $name) }}
{{- end }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "wherry.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* A start may take a minute; after it, a program that does not answer for half a minute is started again. */}}
{{- define "wherry.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: {{ . }} }
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /livez, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: { path: /readyz, port: {{ . }} }
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{/* Metadata of a pod: (dict "root" $ "component" "router") */}}
{{- define "wherry.podMetadata" -}}
{{- $values := index .root.Values .component -}}
labels:
  {{- include "wherry.labels" . | nindent 2 }}
  {{- with $values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  kubectl.kubernetes.io/default-container: {{ .component }}
  {{- if .root.Values.monitoring.annotations }}
  prometheus.io/scrape: "true"
  prometheus.io/port: "9464"
  prometheus.io/path: /metrics
  {{- end }}
  {{- with $values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* What every pod has. No pod gets a token by itself: containers that need one mount it. */}}
{{- define "wherry.pod" -}}
{{- $values := index .root.Values .component -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Replicas on different nodes where there are several. */}}
{{- define "wherry.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "wherry.selector" . | nindent 8 }}
{{- end }}

{{/* The token as Kubernetes itself mounts it, for one container of the pod. */}}
{{- define "wherry.tokenVolume" -}}
- name: kubernetes
  projected:
    sources:
      - serviceAccountToken: { path: token, expirationSeconds: 3607 }
      - configMap:
          name: kube-root-ca.crt
          items: [{ key: ca.crt, path: ca.crt }]
      - downwardAPI:
          items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }]
{{- end }}

{{- define "wherry.tokenMount" -}}
- name: kubernetes
  mountPath: /var/run/secrets/kubernetes.io/serviceaccount
  readOnly: true
{{- end }}
