#!/usr/bin/env bash
# memcached.sh: unpack memcached into bin/memcached-root, as a root file system with the shells
# that its official images have (Debian's and Alpine's), for the tests of test/memcached. It
# needs Debian, for the packages, and no root.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "memcached.sh: $*" >&2; exit 1; }
. hack/node/debian.sh
dir=$PWD/bin/memcached-root
if [ "$(. /etc/os-release && echo "$ID")" != debian ]; then
  echo "memcached.sh: memcached comes from Debian's packages, and this is not Debian: tests of test/memcached are skipped"
  exit 0
fi
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || fail "install Debian's package debian-archive-keyring, which verifies memcached's"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
state=$work/apt
mkdir -p "$work/root"
(
  cd "$work/root"
  unpack_memcached "${templates_memcached[@]}" dash coreutils busybox-static
  mkdir -p dev etc proc sys # with etc/hosts, what a container has mounted
  touch etc/hosts
  touch usr/bin/memcached # make goes by its time
)
rm -rf "$dir"
mkdir -p bin
mv "$work/root" "$dir"
echo "unpacked memcached into bin/memcached-root"
