# syntax=docker/dockerfile:1
# The catalog's image: what `make catalog` made, with the program that serves it.
ARG OPM_VERSION
FROM --platform=$BUILDPLATFORM quay.io/operator-framework/opm:v$OPM_VERSION AS builder
COPY catalog/configs /configs
# The cache is made here, so that no pod has to when it starts.
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]

FROM quay.io/operator-framework/opm:v$OPM_VERSION
# Where OLM looks for the catalog in the image.
LABEL operators.operatorframework.io.index.configs.v1=/configs
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
