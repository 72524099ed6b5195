# syntax=docker/dockerfile:1
# The catalog image: the output of `make catalog` and the opm that serves it.
ARG OPM_VERSION
FROM --platform=$BUILDPLATFORM quay.io/operator-framework/opm:v$OPM_VERSION AS builder
COPY catalog/configs /configs
# Build the cache here, so that pods start faster.
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]

FROM quay.io/operator-framework/opm:v$OPM_VERSION
# The directory of the catalog, for OLM.
LABEL operators.operatorframework.io.index.configs.v1=/configs
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
