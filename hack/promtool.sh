#!/usr/bin/env bash
# promtool.sh: unpack promtool into bin/promtool, for the tests of the alerts. It needs Debian, for the package, but not root.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "promtool.sh: $*" >&2; exit 1; }
. hack/node/debian.sh
if [ "$(. /etc/os-release && echo "$ID")" != debian ]; then
  echo "promtool.sh: skipped: promtool is unpacked from a Debian package, and this is not Debian; the tests of the alerts are skipped"
  exit 0
fi
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || fail "install the package debian-archive-keyring to verify the package"
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
apt_of bookworm
cd "$state"
apt-get -qq download prometheus
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x --to-stdout ./usr/bin/promtool > promtool
chmod +x promtool
touch promtool # make compares its time
mkdir -p "$OLDPWD/bin"
mv promtool "$OLDPWD/bin/promtool"
echo "unpacked promtool into bin/promtool"
