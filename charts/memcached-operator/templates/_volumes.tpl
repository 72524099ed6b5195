{{/* The volumes of the operator's pods and, below, the volume mounts of its container. */}}
{{- define "memcached-operator.volumes" -}}
{{- $volumes := list -}}
{{- if .Values.manifests -}}
{{- $items := list -}}
{{- range $path, $_ := .Values.manifests -}}
{{- $items = append $items (dict "key" (include "memcached-operator.manifestKey" $path) "path" $path) -}}
{{- end -}}
{{- $volumes = append $volumes (dict "name" "manifests" "configMap" (dict "name" (include "memcached-operator.manifestsName" .) "items" $items)) -}}
{{- end -}}
{{- with .Values.siteConfigMap -}}
{{- /* Optional: it takes effect once it exists. */ -}}
{{- $volumes = append $volumes (dict "name" "site" "configMap" (dict "name" . "optional" true)) -}}
{{- end -}}
{{- if include "memcached-operator.metrics" . -}}
{{- with .Values.metrics.certificate.secretName -}}
{{- $volumes = append $volumes (dict "name" "metrics-certificate" "secret" (dict "secretName" .)) -}}
{{- end -}}
{{- if .Values.metrics.clientCA.secretName -}}
{{- with .Values.metrics.clientCA -}}
{{- /* Mount only the certificate; the Secret may also contain the private key of the CA. */ -}}
{{- $volumes = append $volumes (dict "name" "metrics-client-ca" "secret" (dict "secretName" .secretName "items" (list (dict "key" .key "path" "ca.crt")))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if .Values.webhook.enabled -}}
{{- /* Optional: the operator starts without a certificate, and serves the webhook once there is one. */ -}}
{{- $secret := default (include "memcached-operator.name" (list . "webhook-server-cert")) .Values.webhook.certificate.secretName -}}
{{- $volumes = append $volumes (dict "name" "webhook-certificate" "secret" (dict "secretName" $secret "optional" true)) -}}
{{- end -}}
{{- with concat $volumes .Values.extraVolumes -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{- define "memcached-operator.volumeMounts" -}}
{{- $names := list -}}
{{- if .Values.manifests -}}
{{- $names = append $names "manifests" -}}
{{- end -}}
{{- if include "memcached-operator.metrics" . -}}
{{- if .Values.metrics.certificate.secretName -}}
{{- $names = append $names "metrics-certificate" -}}
{{- end -}}
{{- if .Values.metrics.clientCA.secretName -}}
{{- $names = append $names "metrics-client-ca" -}}
{{- end -}}
{{- end -}}
{{- if .Values.webhook.enabled -}}
{{- $names = append $names "webhook-certificate" -}}
{{- end -}}
{{- $mounts := list -}}
{{- range $names -}}
{{- $mounts = append $mounts (dict "name" . "mountPath" (print "/etc/memcached-operator/" .) "readOnly" true) -}}
{{- end -}}
{{- if .Values.siteConfigMap -}}
{{- $mounts = append $mounts (dict "name" "site" "mountPath" "/etc/memcached-operator/manifests/components/site" "readOnly" true) -}}
{{- end -}}
{{- with concat $mounts .Values.extraVolumeMounts -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}
