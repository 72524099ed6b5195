{{/* The prefix of all object names. */}}
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
The name of an object: fullname and suffix, as in config/. Names of Services have at most 63 characters; a longer name is
truncated and ends with a hash, so that names of different releases differ.
Arguments: (list $ SUFFIX).
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
The labels of an object: those of the chart take precedence over LABELS, and these over commonLabels.
Arguments: (list $ LABELS).
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

{{/* The rules of a role in config/rbac. Arguments: (list $ FILE). */}}
{{- define "memcached-operator.rules" -}}
{{- $file := printf "files/rbac/%s.yaml" (index . 1) -}}
{{- toYaml ((index . 0).Files.Get $file | fromYaml).rules -}}
{{- end -}}

{{/* The subject of all bindings. */}}
{{- define "memcached-operator.subjects" -}}
- kind: ServiceAccount
  name: {{ include "memcached-operator.serviceAccountName" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end -}}

{{/*
"true" if metrics are served, else empty. Token reviews need a ClusterRole, so a release with watchNamespaces serves metrics
to client certificates or not at all.
*/}}
{{- define "memcached-operator.metrics" -}}
{{- if and .Values.metrics.enabled (or (not .Values.watchNamespaces) .Values.metrics.clientCA.secretName) }}true{{ end -}}
{{- end -}}

{{/* "true" if metrics are served to bearer tokens, else empty. */}}
{{- define "memcached-operator.metricsByToken" -}}
{{- if and (include "memcached-operator.metrics" .) (not .Values.metrics.clientCA.secretName) }}true{{ end -}}
{{- end -}}

{{/*
The name of the ConfigMap with the template files. It contains a hash of the files, because the operator reads them at start
only: changed files are a new ConfigMap, which replaces the pods.
*/}}
{{- define "memcached-operator.manifestsName" -}}
{{- include "memcached-operator.name" (list . (printf "manifests-%s" (toJson .Values.manifests | sha256sum | trunc 8))) -}}
{{- end -}}

{{/* The key of a template file in the ConfigMap; keys cannot contain slashes. */}}
{{- define "memcached-operator.manifestKey" -}}
{{- . | replace "/" "__" -}}
{{- end -}}

{{/*
How privileged fields are handled: Guarded, GuardedElsewhere or Refused. A release with watchNamespaces cannot install the
policy, because it is cluster-scoped.
*/}}
{{- define "memcached-operator.privilegedFields" -}}
{{- default (ternary "Refused" "Guarded" (not (empty .Values.watchNamespaces))) .Values.privilegedFields -}}
{{- end -}}

{{/*
The images that every author may use, as a CEL list: operandImages, or else the repositories of relatedImages, like the
default of the operator. For an empty image, the images of the templates are included, which are those in the policy file.
Arguments: (list $ DEFAULT).
*/}}
{{- define "memcached-operator.operandImages" -}}
{{- $values := (index . 0).Values -}}
{{- $images := $values.operandImages -}}
{{- if not $images -}}
{{- $root := index . 0 -}}
{{- range list $values.relatedImages.memcached $values.relatedImages.memcachedExporter $values.relatedImages.memcachedReloader | compact -}}
{{- $images = append $images (regexReplaceAll "(:[^:/]+)?(@.*)?$" (include "memcached-operator.mirrored" (list $root .)) "") -}}
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
