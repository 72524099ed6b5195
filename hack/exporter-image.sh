#!/usr/bin/env bash
# exporter-image.sh IMG: print the name of the exporter's image that belongs to the operator's image IMG: beside it, with a version
# of its own, which changes with internal/exporter alone, so that an upgrade of the operator replaces no pod.
set -euo pipefail
version=1
repository=${1%@*}
[[ ${repository##*/} != *:* ]] || repository=${repository%:*} # a colon before the last slash is a port
echo "$repository-exporter:$version"
