#!/usr/bin/env bash
# images.sh: make the images that pods of the cluster may ask for, as archives in
# NODE_CACHE/images, each once. They are stand-ins under public names, so that the same
# tests run where the real ones can be pulled: Go programs built from source, busybox, and
# memcached of Debian's packages with its libraries.
set -euo pipefail
. "$(dirname "$0")/env.sh"
need_root
"$here/packages.sh" --check
images=$cache/images
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

# apt_of SUITE: let apt-get see that suite of Debian, in a state of its own.
apt_of() {
  local state=$cache/apt/$1 codename mirror
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$state"/{lists,archives}/partial
  mirror=$(APT_CONFIG='' apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Release: $codename" | head -n 1)
  [ -n "$mirror" ] || fail "apt names no source of $codename to find Debian's mirror by"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" > "$state/sources.list"
  cat > "$state/apt.conf" <<-END
	Dir::State::lists "$state/lists";
	Dir::State::status "/dev/null";
	Dir::Cache "$state";
	Dir::Etc::sourcelist "$state/sources.list";
	Dir::Etc::sourceparts "-";
	APT::Sandbox::User "root";
	END
  export APT_CONFIG=$state/apt.conf
  apt-get -qq update
}

# newer VERSION THAN: VERSION is THAN, or later.
newer() { [ "$(printf '%s\n' "$@" | sort --version-sort | head -n 1)" = "$2" ]; }

# memcached VERSION SUITE…: the image of that version, from the first suite that has it or,
# since Debian moves on, a later one, which takes its place in tests.
memcached() {
  local name=memcached:$1 suite has found=() libraries
  root "$name" || return 0
  for suite in "${@:2}"; do
    apt_of "$suite"
    has=$(apt-cache show memcached | sed -n 's/^Version: \([^-]*\).*/\1/p' | head -n 1)
    found+=("$suite $has")
    ! newer "${has:-0}" "$1" || break
  done
  newer "${has:-0}" "$1" || fail "no suite of Debian has memcached $1 or later (${found[*]})"
  [ "$has" = "$1" ] || echo "images: Debian's memcached is $has by now: it stands in for $1"

  # The libraries, and theirs; not perl and adduser, which only the package's scripts need.
  libraries=$(apt-cache depends --important memcached | sed -n 's/^ *\(Pre\)\?Depends: \(lib.*\)/\2/p')
  libraries=$(apt-cache depends --important --recurse $libraries | grep -E '^z?lib')
  mkdir -p debs usr/{bin,lib,lib64,sbin}
  ln -s usr/{bin,lib,lib64,sbin} .
  (cd debs && apt-get -qq download memcached $libraries)
  local deb
  for deb in debs/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink; done
  rm -rf debs usr/share var usr/lib/systemd usr/lib/*/gconv etc/init.d etc/default
  busybox_into usr/bin # the official images have sh and kill, too
  printf '%s\n' root:x:0:0:root:/:/bin/sh memcache:x:11211:11211::/:/bin/sh > etc/passwd
  [ "$(chroot . /usr/bin/memcached --version)" = "memcached $has" ] || fail "memcached does not say that it is $has"
  image "$name" 'USER 11211' 'ENTRYPOINT ["/usr/bin/memcached"]'
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
memcached 1.6.45 forky sid
memcached 1.6.38 trixie
