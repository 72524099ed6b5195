# syntax=docker/dockerfile:1
# The operator's image: one static binary on distroless, as nobody in particular.
# The build stage runs on the builder's own platform and cross-compiles, so that an
# image for another architecture needs no emulation.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
# Modules first: they change less often than the code, and are a layer of their own.
COPY go.mod go.sum ./
RUN go mod download
COPY *.go ./
COPY apis/ apis/
COPY config/crd/ config/crd/
COPY manifests/ manifests/
COPY reconcilers/ reconcilers/
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
# -trimpath, no VCS stamp: the same sources give the same bytes wherever they are built.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /memcached-operator .

FROM gcr.io/distroless/static:nonroot
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="memcached-operator" \
      org.opencontainers.image.description="Runs memcached on Kubernetes: desired state lives as YAML" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/example/memcached-operator" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /memcached-operator /memcached-operator
# By number: the kubelet cannot tell from a name that it is not root's.
USER 65532:65532
ENTRYPOINT ["/memcached-operator"]
