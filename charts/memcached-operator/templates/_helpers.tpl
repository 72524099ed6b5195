{{/* The common prefix of all names. */}}
{{- define "memcached-operator.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name -}}
{{- end -}}
{{- end -}}

{{/*
The name of an object: fullname and suffix, as in config/. Names of Services have at
most 63 characters; a longer one is cut, and ends with a hash, so that two long
releases do not meet.
Takes (list $ SUFFIX).
*/}}
{{- define "memcached-operator.name" -}}
{{- $name := printf "%s-%s" (include "memcached-operator.fullname" (index . 0)) (index . 1) -}}
{{- if gt (len $name) 63 -}}
{{- printf "%s-%s" ($name | trunc 54 | trimSuffix "-") ($name | sha256sum | trunc 8) -}}
{{- else -}}
{{- $name -}}
{{- end -}}
{{- end -}}

{{/* The name of the operator's ServiceAccount. */}}
{{- define "memcached-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "memcached-operator.name" (list . "controller-manager")) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The labels that select the operator's pods. */}}
{{- define "memcached-operator.selectorLabels" -}}
control-plane: controller-manager
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/*
The labels of an object: ours first, then commonLabels, then its own.
Takes (list $ LABELS).
*/}}
{{- define "memcached-operator.labels" -}}
{{- $root := index . 0 -}}
{{- $own := dict
  "app.kubernetes.io/name" (default $root.Chart.Name $root.Values.nameOverride)
  "app.kubernetes.io/instance" $root.Release.Name
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")
-}}
{{- toYaml (merge $own (default dict (index . 1)) $root.Values.commonLabels) -}}
{{- end -}}

{{/* The operator's image: a digest beats a tag. */}}
{{- define "memcached-operator.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{/* The rules of a role of config/rbac. Takes (list $ FILE). */}}
{{- define "memcached-operator.rules" -}}
{{- $file := printf "files/rbac/%s.yaml" (index . 1) -}}
{{- toYaml ((index . 0).Files.Get $file | fromYaml).rules -}}
{{- end -}}

{{/* The one subject of all bindings. */}}
{{- define "memcached-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "memcached-operator.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end -}}

{{/*
"true" where metrics are served, else empty. Reviewing tokens needs a ClusterRole, so
an install with Roles only serves them to client certificates, or not at all.
*/}}
{{- define "memcached-operator.metrics" -}}
{{- if and .Values.metrics.enabled (or (not .Values.watchNamespaces) .Values.metrics.clientCA.secretName) }}true{{ end -}}
{{- end -}}

{{/* "true" where the readers of metrics show tokens, else empty. */}}
{{- define "memcached-operator.metricsByToken" -}}
{{- if and (include "memcached-operator.metrics" .) (not .Values.metrics.clientCA.secretName) }}true{{ end -}}
{{- end -}}

{{/*
The name of the ConfigMap with the template files. The operator reads them at its start only, so other
files are another ConfigMap: that replaces its pods, and those of before keep what they started with.
*/}}
{{- define "memcached-operator.manifestsName" -}}
{{- include "memcached-operator.name" (list . (printf "manifests-%s" (toJson .Values.manifests | sha256sum | trunc 8))) -}}
{{- end -}}

{{/* The key of a template file in the ConfigMap: keys hold no slashes. */}}
{{- define "memcached-operator.manifestKey" -}}
{{- . | replace "/" "__" -}}
{{- end -}}

{{/*
Whether privileged fields are accepted: Guarded, GuardedElsewhere or Refused. The policy is
cluster-scoped, so an install with Roles only cannot bring it.
*/}}
{{- define "memcached-operator.privilegedFields" -}}
{{- default (ternary "Refused" "Guarded" (not (empty .Values.watchNamespaces))) .Values.privilegedFields -}}
{{- end -}}

{{/*
The images that every author may name, as a list in CEL: operandImages, else the repositories of
relatedImages, as the operator has it. For an empty image the templates' own count, which
are those of the policy as it is shipped.
Takes (list $ SHIPPED).
*/}}
{{- define "memcached-operator.operandImages" -}}
{{- $values := (index . 0).Values -}}
{{- $images := $values.operandImages -}}
{{- if not $images -}}
{{- range list $values.relatedImages.memcached $values.relatedImages.memcachedExporter $values.relatedImages.memcachedReloader | compact -}}
{{- $images = append $images (regexReplaceAll "(:[^:/]+)?(@.*)?$" . "") -}}
{{- end -}}
{{- end -}}
{{- $list := printf "['%s']" ($images | uniq | join "', '") -}}
{{- if or $values.operandImages (and $values.relatedImages.memcached $values.relatedImages.memcachedExporter) -}}
{{- $list -}}
{{- else if $images -}}
{{- printf "%s + %s" (index . 1) $list -}}
{{- else -}}
{{- index . 1 -}}
{{- end -}}
{{- end -}}
