#!/usr/bin/env bash
# buildah.sh COMMAND ARGS…: buildah with a store of its own, in place of docker where there
# is no registry: CONTAINER_TOOL=hack/node/buildah.sh.
# `build` has no network. The base images that the Dockerfile names are made up here, of
# busybox and the machine's Go; modules and compiled packages come from its caches.
# SOURCE_DATE_EPOCH dates the image, so that the same sources give the same digest.
set -euo pipefail
. "$(dirname "$0")/env.sh"
need_root
"$here/packages.sh" --check
store=$cache/buildah
mkdir -p "$store"
# In a mount namespace, because buildah leaves its store mounted on itself.
buildah=(unshare --mount buildah --root "$store/root" --runroot "$store/run")
offline=(unshare --mount --net buildah --root "$store/root" --runroot "$store/run")

have() { "${buildah[@]}" manifest inspect "$1" > /dev/null 2>&1; }
# base NAME: make the image NAME of the working directory and the Dockerfile on stdin. It
# runs nothing, so it is the same for every architecture that the operator is built for.
base() {
  local dockerfile arch
  dockerfile=$(cat)
  for arch in amd64 arm64 ppc64le s390x; do
    "${offline[@]}" build --quiet --timestamp 0 --platform "linux/$arch" --file /dev/stdin --manifest "$1" . <<< "$dockerfile" > /dev/null
  done
}

golang() (
  have localhost/golang:1.26 && return
  mkdir -p "$store"/base/{bin,tmp}
  cd "$store/base"
  chmod 1777 tmp
  busybox_into bin
  # Go itself is mounted when it is used.
  base localhost/golang:1.26 <<-'END'
	FROM scratch
	COPY . /
	ENV PATH=/usr/local/go/bin:/go/bin:/bin GOPATH=/go GOTOOLCHAIN=local GOPROXY=file:///goproxy GOSUMDB=off GOCACHE=/gocache
	WORKDIR /go
	END
)

distroless() (
  have gcr.io/distroless/static:nonroot && return
  mkdir -p "$store"/base/{etc/ssl/certs,home/nonroot,tmp}
  cd "$store/base"
  chmod 1777 tmp
  chmod 700 home/nonroot
  cat > etc/passwd <<-'END'
	root:x:0:0:root:/root:/sbin/nologin
	nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin
	nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
	END
  printf '%s\n' root:x:0: nobody:x:65534: nonroot:x:65532: > etc/group
  cp -L /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/
  base gcr.io/distroless/static:nonroot <<-'END'
	FROM scratch
	COPY . /
	COPY --chown=65532:65532 home/nonroot /home/nonroot
	ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
	USER 65532
	WORKDIR /home/nonroot
	END
)

[ "${1:-}" = build ] || exec "${buildah[@]}" "$@"
(
  flock 9 # another build may be starting at the same moment
  for make_base in golang distroless; do
    rm -rf "$store/base"
    "$make_base"
  done
) 9> "$store/lock"
go -C "$repo" mod download
options=(
  --isolation chroot --pull-never
  --volume "$(go env GOROOT):/usr/local/go:ro"
  --volume "$(go env GOMODCACHE)/cache/download:/goproxy:ro"
  --volume "$(go env GOCACHE):/gocache"
)
# Debian's buildah sets TARGETARCH and its like only when it is told the platform, and
# BUILDPLATFORM never.
options+=(--build-arg "BUILDPLATFORM=linux/$(go env GOARCH)")
[[ " $* " == *" --platform"* ]] || options+=(--platform "linux/$(go env GOARCH)")
[ -z "${SOURCE_DATE_EPOCH:-}" ] || options+=(--timestamp "$SOURCE_DATE_EPOCH")
exec "${offline[@]}" build "${options[@]}" "${@:2}"
