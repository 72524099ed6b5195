# syntax=docker/dockerfile:1
# The operator's image: a static binary on distroless, as a non-root user.
# The build stage runs on the platform of the builder and cross-compiles, so that images
# for other architectures need no emulation.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
# Download modules in a layer of their own, because they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
COPY main.go ./
COPY apis/ apis/
COPY config/crd/ config/crd/
COPY internal/ internal/
COPY manifests/ manifests/
COPY reconcilers/ reconcilers/
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
# -trimpath and no VCS stamp make the build reproducible.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /memcached-operator .

FROM gcr.io/distroless/static:nonroot
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="memcached-operator" \
      org.opencontainers.image.description="Runs memcached on Kubernetes from YAML templates" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/example/memcached-operator" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /memcached-operator /memcached-operator
# A number, because the kubelet cannot verify runAsNonRoot for a user name.
USER 65532:65532
ENTRYPOINT ["/memcached-operator"]
