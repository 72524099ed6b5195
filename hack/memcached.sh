#!/usr/bin/env bash
# memcached.sh: unpack memcached into bin/memcached-root, a root file system with the shells of the official images
# (Debian's and Alpine's), for the tests in test/memcached. It needs Debian, for the packages, but not root.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "memcached.sh: $*" >&2; exit 1; }
. hack/node/debian.sh
dir=$PWD/bin/memcached-root
if [ "$(. /etc/os-release && echo "$ID")" != debian ]; then
  echo "memcached.sh: skipped: memcached is unpacked from Debian packages, and this is not Debian; the tests in test/memcached are skipped"
  exit 0
fi
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || fail "install the package debian-archive-keyring to verify the packages"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
state=$work/apt
mkdir -p "$work/root"
(
  cd "$work/root"
  unpack_memcached "${templates_memcached[@]}" dash bash coreutils busybox-static
  mkdir -p dev etc proc sys # with etc/hosts, the usual mount points of a container
  touch etc/hosts
  touch usr/bin/memcached # make compares its time
)
rm -rf "$dir"
mkdir -p bin
mv "$work/root" "$dir"
echo "unpacked memcached into bin/memcached-root"
