#!/usr/bin/env bash
# images.sh: make the images that pods of the cluster may ask for, as archives in
# NODE_CACHE/images, each once. They are stand-ins under public names, so that the same
# tests run where the real ones can be pulled: Go programs built from source, busybox, and
# memcached and Prometheus of Debian's packages with their libraries.
set -euo pipefail
. "$(dirname "$0")/env.sh"
. "$here/debian.sh"
need_root
"$here/packages.sh" --check
images=$cache/images
state=$cache/apt
work=$cache/work
mkdir -p "$images"
exec 9> "$cache/lock"
flock 9 # two clusters may come up at the same moment
trap 'rm -rf "$work"' EXIT

archive() { echo "$images/$(tr /: __ <<< "$1").tar"; }

# root NAME: start the root file system of image NAME in $work, and go there; false when the
# image is made already.
root() {
  [ ! -e "$(archive "$1")" ] || return 1
  echo "images: making $1"
  rm -rf "$work"
  mkdir -p "$work"/{etc,tmp}
  chmod 1777 "$work/tmp"
  cd "$work"
}

# image NAME LINE…: make image NAME of $work and these lines of a Dockerfile.
image() {
  local id
  printf '%s\n' 'FROM scratch' 'COPY . /' "${@:2}" > "$cache/Dockerfile"
  # By its id: a name in the store would go into the archive, too.
  id=$("$here/buildah.sh" build --quiet --timestamp 0 --file "$cache/Dockerfile" "$work")
  rm -f "$images/partial"
  "$here/buildah.sh" push --quiet "$id" "docker-archive:$images/partial:$1" > /dev/null
  mv "$images/partial" "$(archive "$1")"
  "$here/buildah.sh" rmi "$id" > /dev/null
}

# version NAME: of the Go program, as pinned.
version() { sed -n "s/^$1 .*@v\([^ ]*\).*/\1/p" "$repo/hack/tools/programs.txt"; }

# go_program IMAGE NAME
go_program() {
  root "$1" || return 0
  [ -x "$bin/$2" ] || (cd "$repo" && hack/tools/build.sh "$2")
  mkdir bin
  cp "$bin/$2" "bin/$2"
  image "$1" 'USER 65534' "ENTRYPOINT [\"/bin/$2\"]"
}

# memcached VERSION "SUITE…": the image of that version, from the first suite that has it.
memcached() {
  local name=memcached:$1 has
  root "$name" || return 0
  unpack_memcached "$@"
  busybox_into usr/bin # the official images have sh and kill, too
  printf '%s\n' root:x:0:0:root:/:/bin/sh memcache:x:11211:11211::/:/bin/sh > etc/passwd
  [ "$(chroot . /usr/bin/memcached --version)" = "memcached $has" ] || fail "memcached does not say that it is $has"
  image "$name" 'USER 11211' 'ENTRYPOINT ["/usr/bin/memcached"]'
}

# prometheus VERSION SUITE: the image of that version, as the suite has it.
prometheus() {
  local name=prom/prometheus:v$1 has
  root "$name" || return 0
  apt_of "$2"
  unpack_packages prometheus
  rm -rf usr/share var etc usr/lib/systemd usr/lib/*/gconv
  has=$(chroot . /bin/prometheus --version)
  [[ $has = "prometheus, version $1"* ]] || fail "Debian's Prometheus is not $1: $has"
  image "$name" 'USER 65534' 'ENTRYPOINT ["/bin/prometheus"]'
}

# What every pod has: it holds the namespaces and reaps what is left to it.
if root localhost/pause:1; then
  mkdir bin
  busybox_into bin
  image localhost/pause:1 'USER 65534' \
    'ENTRYPOINT ["/bin/sh", "-c", "trap exit TERM; while :; do sleep 3600 & wait $!; done"]'
fi
# Debian's wget crashes when it is given -T, and speaks no TLS that an API server accepts.
if root busybox:1.35; then
  mkdir -p bin root
  busybox_into bin
  image busybox:1.35 'CMD ["sh"]'
fi
go_program "coredns/coredns:$(version coredns)" coredns
go_program "prom/memcached-exporter:v$(version memcached_exporter)" memcached_exporter
memcached "${templates_memcached[@]}"
memcached 1.6.38 trixie
prometheus 2.42.0 bookworm
