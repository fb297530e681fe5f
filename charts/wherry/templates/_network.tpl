{{/* Parts of the NetworkPolicies. */}}

{{- define "wherry.dnsEgress" -}}
- to:
    {{- with .Values.networkPolicies.dnsTo }}
    {{- toYaml . | nindent 4 }}
    {{- else }}
    - namespaceSelector:
        matchLabels: { kubernetes.io/metadata.name: kube-system }
      podSelector:
        matchLabels: { k8s-app: kube-dns }
    {{- end }}
  ports:
    {{- range .Values.networkPolicies.dnsPorts }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
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

{{/* A program of this release, wherever its namespace is seen from: (dict "root" $ "component" "router") */}}
{{- define "wherry.program" -}}
namespaceSelector:
  matchLabels: { kubernetes.io/metadata.name: {{ .root.Release.Namespace }} }
podSelector:
  matchLabels:
    {{- include "wherry.selector" . | nindent 4 }}
{{- end }}

{{/* An IPv4 network as it is reached through NAT64 (RFC 6052): 169.254.0.0/16 is 64:ff9b::a9fe:0/112. */}}
{{- define "wherry.nat64" -}}
{{- $cidr := splitList "/" . -}}
{{- $octets := splitList "." (first $cidr) -}}
{{- $high := add (mul (atoi (index $octets 0)) 256) (atoi (index $octets 1)) -}}
{{- $low := add (mul (atoi (index $octets 2)) 256) (atoi (index $octets 3)) -}}
{{- printf "64:ff9b::%x:%x/%d" $high $low (add 96 (atoi (last $cidr))) -}}
{{- end }}

{{/* The bits of a network, as text: one network is in another where its bits begin with those of the other. */}}
{{- define "wherry.networkBits" -}}
{{- $cidr := splitList "/" . -}}
{{- $bits := "" -}}
{{- if contains ":" . -}}
{{- $halves := splitList "::" (first $cidr) -}}
{{- $left := without (splitList ":" (first $halves)) "" -}}
{{- $right := ternary (without (splitList ":" (last $halves)) "") list (eq (len $halves) 2) -}}
{{- $zeros := until (int (sub 8 (add (len $left) (len $right)))) -}}
{{- range $left }}{{ $bits = printf "%s%016b" $bits (int64 (printf "0x%s" .)) }}{{ end -}}
{{- range $zeros }}{{ $bits = printf "%s%016b" $bits 0 }}{{ end -}}
{{- range $right }}{{ $bits = printf "%s%016b" $bits (int64 (printf "0x%s" .)) }}{{ end -}}
{{- else -}}
{{- range splitList "." (first $cidr) }}{{ $bits = printf "%s%08b" $bits (atoi .) }}{{ end -}}
{{- end -}}
{{- printf "%s.%s" (ternary "v6" "v4" (contains ":" .)) (trunc (atoi (last $cidr)) $bits) -}}
{{- end }}

{{/*
What functions may never reach, as {v4: […], v6: […], named: […]}: private and shared networks, `functions.forbiddenNetworks`, and
beside them always where clouds answer for a machine's identity. 169.254.0.0/16 is most clouds', 168.63.129.16 Azure's, 192.0.0.0/24 Oracle's,
100.100.100.200 Alibaba's; fd00:ec2::/32 Amazon's, fd20:ce::254 Google's, fd00:c1::a9fe:a9fe Oracle's, fd00:42::42
Scaleway's; 198.18.0.0/15 is networks' own equipment. NAT64 and 6to4 lead to IPv4 addresses. IPv4-mapped ones
(::ffff:0:0/96) need no line: sockets send them as IPv4.
*/}}
{{- define "wherry.deniedNetworks" -}}
{{- $v4 := list "169.254.0.0/16" "168.63.129.16/32" "100.100.100.200/32" "192.0.0.0/24" "198.18.0.0/15" -}}
{{- $v6 := list "fe80::/10" "fd00:ec2::/32" "fd20:ce::254/128" "fd00:c1::a9fe:a9fe/128" "fd00:42::42/128" "64:ff9b:1::/48" "2002::/16" -}}
{{- $named := concat $v4 $v6 .Values.functions.forbiddenNetworks -}}
{{- $private := list "10.0.0.0/8" "100.64.0.0/10" "172.16.0.0/12" "192.168.0.0/16" "fc00::/7" -}}
{{- range concat $private .Values.functions.forbiddenNetworks -}}
{{- if contains ":" . }}{{ $v6 = append $v6 . }}{{ else }}{{ $v4 = append $v4 . }}{{ end -}}
{{- end -}}
{{- range $v4 }}{{ $v6 = append $v6 (include "wherry.nat64" .) }}{{ end -}}
{{- dict "v4" (uniq $v4) "v6" (uniq $v6) "named" (uniq $named) | toYaml -}}
{{- end }}

{{/* The private networks that functions may reach, each without what is forbidden by name in it. */}}
{{- define "wherry.allowedBlocks" -}}
{{- $named := (include "wherry.deniedNetworks" . | fromYaml).named -}}
{{- range $network := .Values.functions.allowedNetworks }}
{{- $bits := include "wherry.networkBits" $network }}
{{- $except := list }}
{{- range $named }}
{{- $denied := include "wherry.networkBits" . }}
{{- if hasPrefix $denied $bits }}
{{- fail (printf "functions.allowedNetworks: %s is in %s, which functions may never reach" $network .) }}
{{- end }}
{{- if hasPrefix $bits $denied }}{{ $except = append $except . }}{{ end }}
{{- end }}
- ipBlock:
    cidr: {{ $network }}
    {{- with $except }}
    except:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{- end }}
