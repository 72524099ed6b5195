#!/usr/bin/env bash
# packages.sh [--check]: install the Debian packages that the node cluster needs, or only
# say which are missing.
set -euo pipefail
packages=(
  containerd runc containernetworking-plugins # what runs a pod
  nftables                                    # kube-proxy's Services
  iproute2 socat                              # the network between the nodes, the API server's port
  openssl                                     # certificates
  buildah busybox-static                      # images, and what is in them
  ca-certificates debian-archive-keyring      # trust: in images, and for memcached's packages
  # docs/clients, which TestClients runs
  python3-pymemcache php8.2-cli php8.2-memcached default-jdk-headless libspymemcached-java
)
missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
command -v apt-get >/dev/null ||
  { echo "packages.sh: the Debian 12 packages ${missing[*]} are missing, and apt-get is not available" >&2; exit 1; }
if [ "${1:-}" = --check ]; then
  echo "packages.sh: missing: ${missing[*]}; run \`sudo hack/node/packages.sh\`" >&2
  exit 1
fi
[ "$(id -u)" = 0 ] || { echo "packages.sh: installing ${missing[*]} needs root: run \`sudo hack/node/packages.sh\`" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q install -y --no-install-recommends "${missing[@]}"
