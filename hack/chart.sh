#!/usr/bin/env bash
# chart.sh: generate files of the Helm chart: files/ from config/, schema and README from values.yaml.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/bin:$PATH"
go run ./hack/chart
cd charts/memcached-operator
helm-schema
helm-docs --sort-values-order=file --log-level=warning
