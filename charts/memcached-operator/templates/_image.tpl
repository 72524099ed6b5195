{{/* An image in global.imageRegistry, unless it names a registry other than the default. Arguments: (list $ IMAGE). */}}
{{- define "memcached-operator.mirrored" -}}
{{- $image := index . 1 -}}
{{- with ((index . 0).Values.global).imageRegistry }}
{{- $image = trimPrefix "docker.io/" $image }}
{{- if and $image (not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $image)) }}{{ . }}/{{ end }}
{{- end }}{{ $image }}
{{- end -}}

{{/* The repository of the operator's image, with its registry. */}}
{{- define "memcached-operator.repository" -}}
{{- include "memcached-operator.mirrored" (list . (list .Values.image.registry .Values.image.repository | compact | join "/")) -}}
{{- end -}}

{{/* The operator's image: the repository with the digest, or else with the tag. */}}
{{- define "memcached-operator.image" -}}
{{- include "memcached-operator.repository" . }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{/* The exporter's image: beside the operator's, with a version of its own, so that an upgrade replaces no pod. */}}
{{- define "memcached-operator.exporterImage" -}}
{{- include "memcached-operator.repository" . }}-exporter:1
{{- end -}}

{{/*
Fails unless image.registry and image.repository form a valid image name. The schema does not check them, because a
pattern cannot say what to change. The grammar is that of container image references: the repository may begin with a
registry (host or host:port), which has a dot or a colon or is localhost; all other path components are lower case.
*/}}
{{- define "memcached-operator.checkImage" -}}
{{- $path := "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*" -}}
{{- $host := "([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?|\\[[a-fA-F0-9:]+\\])(:[0-9]{1,5})?" -}}
{{- $registry := .Values.image.registry -}}
{{- $repository := .Values.image.repository -}}
{{- range $name, $value := dict "registry" $registry "repository" $repository -}}
{{- if contains "://" $value -}}
{{- fail (printf "image.%s: %q has a scheme, which image names do not have; remove everything up to ://" $name $value) -}}
{{- else if regexMatch "\\s" $value -}}
{{- fail (printf "image.%s: %q contains white space; remove it" $name $value) -}}
{{- else if regexMatch "^/|/$|//" $value -}}
{{- fail (printf "image.%s: %q begins or ends with a slash, or has an empty path component; remove the extra slash" $name $value) -}}
{{- else if contains "@" $value -}}
{{- fail (printf "image.%s: %q contains a digest; remove it and set image.digest" $name $value) -}}
{{- end -}}
{{- end -}}
{{- if regexMatch ":[^/]*$" $repository -}}
{{- fail (printf "image.repository: %q contains a tag; remove it and set image.tag" $repository) -}}
{{- else if and $registry (hasPrefix (print $registry "/") $repository) -}}
{{- fail (printf "image.repository: %q already begins with image.registry, %q; remove it from one of the two" $repository $registry) -}}
{{- else if and $registry (regexMatch "^[^/]*:" $repository) -}}
{{- fail (printf "image.repository: %q names a registry, and so does image.registry, %q; remove one of the two" $repository $registry) -}}
{{- end -}}
{{- $rest := $repository -}}
{{- if and (not $registry) (regexMatch (printf "^%s/" $host) $repository) (regexMatch "^(localhost/|[^/]*[.:])" $repository) -}}
{{- $rest = regexReplaceAll "^[^/]*/" $repository "" -}}
{{- end -}}
{{- if regexMatch "[A-Z]" $rest -}}
{{- fail (printf "image.repository: %q contains upper-case letters; image names are lower case" $repository) -}}
{{- else if not (regexMatch (printf "^%s$" $path) $rest) -}}
{{- fail (printf "image.repository: %q is not an image name; expected [host[:port]/]path, such as registry.example.com/team/memcached-operator" $repository) -}}
{{- else if not (regexMatch (printf "^(%s(/%s)?)?$" $host $path) $registry) -}}
{{- fail (printf "image.registry: %q is not a registry; expected host[:port][/path], such as registry.example.com:5000" $registry) -}}
{{- end -}}
{{- end -}}
