# SPDX-License-Identifier: Apache-2.0
# `make` alone prints what there is to make.

VERSION ?= 0.0.1
IMG ?= memcached-operator:$(VERSION)
BUNDLE_IMG ?= memcached-operator-bundle:v$(VERSION)
CATALOG_IMG ?= memcached-operator-catalog:latest
# The catalog's server is the program that made the catalog.
OPM_VERSION = $(shell sed -n 's/^opm .*@v\([^ ]*\) .*/\1/p' hack/tools/programs.txt)
export OPMFLAGS ?=
export CHANNELS ?= alpha
export DEFAULT_CHANNEL ?= $(firstword $(subst $(comma), ,$(CHANNELS)))
export REPLACES ?=
export USE_IMAGE_DIGESTS ?=
CONTAINER_TOOL ?= docker
export PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x
# The image's times are the commit's, so that the same commit gives the same image.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
IMAGE_ARGS = --build-arg VERSION=$(VERSION) --build-arg REVISION=$(shell git rev-parse HEAD 2>/dev/null || echo unknown) \
	--build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH)

comma := ,

# Everything that is built goes to bin/; nothing is installed into the machine.
BIN := $(CURDIR)/bin
export PATH := $(BIN):$(BIN)/kube:$(PATH)
export CGO_ENABLED ?= 0

KUBERNETES_VERSION := $(shell sed -n 's|^\tk8s.io/kubernetes v||p' hack/cluster/go.mod)
KUBE_PROGRAMS := etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl kwok
KUBE_LDFLAGS := -s -w \
	-X k8s.io/component-base/version.gitVersion=v$(KUBERNETES_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBERNETES_VERSION))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION)))

# The local control plane's files. Without KUBECONFIG, install, deploy and run mean
# that control plane while it is up; else install and deploy ask kubectl's default.
export CLUSTER_DIR ?= $(CURDIR)/.cluster
export NODE_DIR ?= $(CURDIR)/.node
ifeq ($(KUBECONFIG)$(wildcard $(CLUSTER_DIR)/kubeconfig),$(CLUSTER_DIR)/kubeconfig)
export KUBECONFIG := $(CLUSTER_DIR)/kubeconfig
endif

FUZZTIME ?= 1m
# Tests wait for a cluster more than they compute, so more of them run at once than
# there are cores.
GOTESTFLAGS ?= -parallel 8 -timeout 20m
BENCHCOUNT ?= 6
FAULTSFLAGS ?=
TEST_TOOLS := $(addprefix $(BIN)/,helm3 helm4 helm-unittest crdify)
# What the pods of the templates run, for test/memcached.
OPERANDS := $(addprefix $(BIN)/,memcached-root/usr/bin/memcached memcached_exporter)

.DEFAULT_GOAL := help

##@ General

.PHONY: help
help: ## Print this.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
		/^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
		/^[a-zA-Z0-9_-]+:.*##/ {printf "  \033[36m%-15s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build kube kustomize ## Show the operator at work on a control plane of its own, then stop everything.
	@hack/demo.sh

##@ Build

.PHONY: build
build: ## Build the operator into bin/memcached-operator.
	go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/memcached-operator .

.PHONY: docker-build
docker-build: ## Build the operator's image IMG by CONTAINER_TOOL: docker, podman or buildah.
	$(CONTAINER_TOOL) build $(IMAGE_ARGS) -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build and push IMG for all of PLATFORMS, by docker buildx, podman or buildah.
ifeq ($(notdir $(CONTAINER_TOOL)),docker)
	docker buildx build $(IMAGE_ARGS) --platform $(PLATFORMS) --push -t $(IMG) .
else
	$(CONTAINER_TOOL) build $(IMAGE_ARGS) --platform $(PLATFORMS) --manifest $(IMG) .
	$(CONTAINER_TOOL) manifest push --all $(IMG) docker://$(IMG)
endif

.PHONY: sbom
sbom: build $(BIN)/cyclonedx-gomod ## Write the operator's bill of materials (CycloneDX) to dist/sbom.cdx.json.
	@mkdir -p dist
	cyclonedx-gomod bin -json -noserial -notimestamp -output dist/sbom.cdx.json -version v$(VERSION) $(BIN)/memcached-operator

.PHONY: generate
generate: $(BIN)/controller-gen ## Generate deepcopy functions and apply configurations from the API types.
	controller-gen object:headerFile=hack/boilerplate.go.txt applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./apis/...

.PHONY: manifests
manifests: $(BIN)/controller-gen $(BIN)/crd-ref-docs $(BIN)/helm-docs $(BIN)/helm-schema ## Generate the CRD, the RBAC (of code and templates), the chart's copies of both, its schema and README, and the API reference.
	controller-gen crd paths=./apis/... output:crd:dir=config/crd/bases
	go run ./hack/crd
	controller-gen rbac:roleName=manager-role paths=./reconcilers/... output:rbac:dir=config/rbac
	go run ./hack/rbac
	hack/chart.sh
	crd-ref-docs --source-path=apis --config=hack/crd-ref-docs.yaml --renderer=markdown --output-path=docs/reference/memcached.md --log-level=ERROR
	sed -i 's/\[\(map\[string\][A-Za-z]*\)\](#[^)]*)/\1/' docs/reference/memcached.md # links to no heading

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format all Go code.
	golangci-lint fmt

##@ Check

.PHONY: test
test: kube $(TEST_TOOLS) $(OPERANDS) ## Run all tests, those against a real API server among them.
	go test $(GOTESTFLAGS) ./...
	go test -C hack/cluster -trimpath .

.PHONY: test-race
test-race: kube $(TEST_TOOLS) $(OPERANDS) ## Run all tests under the race detector (needs a C compiler).
	CGO_ENABLED=1 go test -race $(GOTESTFLAGS) ./...

.PHONY: e2e
e2e: kube $(TEST_TOOLS) ## Run the end-to-end tests on two real nodes of their own (root), or on the cluster of E2E_KUBECONFIG.
	hack/e2e.sh $(E2EFLAGS)

.PHONY: e2e-flood
e2e-flood: export E2E_FLOOD = 1
e2e-flood: kube $(TEST_TOOLS) ## Flood the operator on real nodes with the Memcacheds of one tenant, and measure what another one notices.
	hack/e2e.sh -run TestFlood_ $(E2EFLAGS)

.PHONY: e2e-olm
e2e-olm: kube kustomize $(addprefix $(BIN)/,helm3 operator-sdk scorecard-test crane opm olm catalog cpb grpc_health_probe) ## Let OLM install, upgrade, hold back and remove the operator, on a real node of its own (root).
	hack/e2e-olm.sh $(E2EFLAGS)

.PHONY: faults
faults: kube ## Run the fault suite: crashes, stale caches, failing requests, leaders; most of an hour.
	go test -tags faults -count 1 -v -timeout 120m $(FAULTSFLAGS) ./test/faults

.PHONY: faults-short
faults-short: kube ## Run the short form of the fault suite, in minutes.
	go test -tags faults -count 1 -v -timeout 10m -parallel 8 -short $(FAULTSFLAGS) ./test/faults

.PHONY: bench
bench: kube ## Run the benchmarks, each beside its baseline; the output suits benchstat.
	go test -run '^$$' -bench . -count $(BENCHCOUNT) ./reconcilers/... ./test/...

.PHONY: scale
scale: kube ## Measure the operator with 100 to 10,000 Memcacheds beside a bare client (docs/scale.md).
	go test -tags scale -count 1 -timeout 4h -v ./test/scale $(SCALEFLAGS)

.PHONY: scale-short
scale-short: kube ## The same with 300 Memcacheds, in less than 3 minutes.
	go test -tags scale -count 1 -timeout 15m -v ./test/scale -sizes 300 -idle 10s $(SCALEFLAGS)

.PHONY: fuzz
fuzz: ## Fuzz the renderer against kustomize: texts for FUZZTIME (1m), then sets of features.
	go test -run '^$$' -fuzz FuzzRender -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./reconcilers/render
	go test -run '^$$' -fuzz FuzzFeatures -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./reconcilers/render

.PHONY: govulncheck
govulncheck: build $(BIN)/govulncheck ## Look for known vulnerabilities in what the operator calls (asks the Go vulnerability database).
	govulncheck ./...

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters.
	golangci-lint run ./...
	cd hack/cluster && GOFLAGS="$(GOFLAGS) -trimpath" golangci-lint run ./... # as it is built: Kubernetes compiles once

.PHONY: verify
verify: $(TEST_TOOLS) ## Generate everything again and fail when anything differs, or chart and config do not say the same.
	hack/verify.sh

##@ Local control plane

.PHONY: kube
kube: $(BIN)/kube/kube $(BIN)/cluster ## Build a Kubernetes control plane from Go modules (minutes, the first time).

.PHONY: cluster-up
cluster-up: kube ## Start a control plane; its kubeconfig is .cluster/kubeconfig.
	cluster up --dir $(CLUSTER_DIR)

.PHONY: cluster-down
cluster-down: $(BIN)/cluster ## Stop it and remove all its files.
	cluster down --dir $(CLUSTER_DIR)

.PHONY: run
run: build kustomize ## Run the operator in the foreground against KUBECONFIG, else the local control plane.
	hack/run.sh $(ARGS)

##@ Real nodes (root, Debian; see hack/node/README.md)

.PHONY: node-packages
node-packages: ## Install the Debian packages that real nodes need.
	hack/node/packages.sh

.PHONY: node-up
node-up: kube ## Start NODES (2) real nodes; their kubeconfig is .node/kubeconfig.
	hack/node/up.sh

.PHONY: node-down
node-down: ## Stop them and remove all their files.
	hack/node/down.sh

.PHONY: node-load
node-load: ## Put the image IMG, built with CONTAINER_TOOL=hack/node/buildah.sh, into the nodes.
	hack/node/load.sh $(IMG)

.PHONY: node-smoke
node-smoke: ## See that the nodes do what tests need of them.
	hack/node/smoke.sh

##@ Install

.PHONY: install
install: kustomize ## Install the CRD into the cluster that kubectl is set to.
	kustomize build config/crd | kubectl apply --server-side -f -

.PHONY: uninstall
uninstall: kustomize ## Remove the CRD, and with it every Memcached.
	kustomize build config/crd | kubectl delete --ignore-not-found -f -

.PHONY: deploy
deploy: kustomize ## Deploy the operator with image IMG, for all namespaces or, with Roles only, WATCH_NAMESPACES=a,b.
	hack/installer.sh $(IMG) "$(WATCH_NAMESPACES)" | kubectl apply --server-side -f -

.PHONY: undeploy
undeploy: kustomize ## Remove the operator, the CRD and every Memcached.
	hack/installer.sh $(IMG) "$(WATCH_NAMESPACES)" | kubectl delete --ignore-not-found -f -

.PHONY: build-installer
build-installer: kustomize ## Write what deploy applies to dist/install.yaml, one file to apply anywhere.
	@mkdir -p dist
	hack/installer.sh $(IMG) "$(WATCH_NAMESPACES)" > dist/install.yaml

##@ OLM

.PHONY: bundle
bundle: kustomize $(BIN)/operator-sdk ## Generate bundle/ and bundle.Dockerfile for VERSION and IMG; USE_IMAGE_DIGESTS=true resolves digests, REPLACES=x.y.z names the version before.
	hack/bundle.sh $(VERSION) $(IMG)

.PHONY: bundle-build
bundle-build: ## Build the bundle's image BUNDLE_IMG by CONTAINER_TOOL.
	$(CONTAINER_TOOL) build -f bundle.Dockerfile -t $(BUNDLE_IMG) .

.PHONY: bundle-push
bundle-push: ## Push the bundle's image.
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: catalog
catalog: $(BIN)/opm ## Generate the catalog catalog/configs from catalog/semver.yaml, which lists the bundles' images.
	hack/catalog.sh

.PHONY: catalog-build
catalog-build: ## Build the catalog's image CATALOG_IMG by CONTAINER_TOOL.
	$(CONTAINER_TOOL) build --build-arg OPM_VERSION=$(OPM_VERSION) -f catalog.Dockerfile -t $(CATALOG_IMG) .

.PHONY: catalog-push
catalog-push: ## Push the catalog's image.
	$(CONTAINER_TOOL) push $(CATALOG_IMG)

.PHONY: scorecard
scorecard: kube $(BIN)/operator-sdk ## Run the Operator SDK's scorecard on bundle/, on the cluster that kubectl is set to.
	hack/scorecard.sh

# Tools, each pinned in the go.mod of hack/tools, hack/tools/lint or hack/cluster.

.PHONY: kustomize
kustomize: $(BIN)/kustomize

$(BIN)/controller-gen: hack/tools/go.mod
	go build -C hack/tools -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(BIN)/kustomize: hack/tools/go.mod
	go build -C hack/tools -o $@ sigs.k8s.io/kustomize/kustomize/v5

$(BIN)/crd-ref-docs: hack/tools/go.mod
	go build -C hack/tools -o $@ github.com/elastic/crd-ref-docs

$(BIN)/govulncheck: hack/tools/go.mod
	go build -C hack/tools -o $@ golang.org/x/vuln/cmd/govulncheck

$(BIN)/golangci-lint: hack/tools/lint/go.mod
	go build -C hack/tools/lint -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

PROGRAMS := $(addprefix $(BIN)/,$(shell sed '/^\#/d; s/ .*//' hack/tools/programs.txt))
$(PROGRAMS): hack/tools/programs.txt
	hack/tools/build.sh $(@F)

$(BIN)/memcached-root/usr/bin/memcached: hack/memcached.sh hack/node/debian.sh
	hack/memcached.sh

$(BIN)/cluster: hack/cluster/go.mod $(wildcard hack/cluster/*.go hack/cluster/*.yaml)
	go build -C hack/cluster -trimpath -o $@ .

$(BIN)/kube/kube: hack/cluster/go.mod $(wildcard hack/cluster/kube/*.go)
	@echo "Building Kubernetes v$(KUBERNETES_VERSION) from its Go modules. This takes 5 to 10 minutes on two cores, once."
	hack/progress.sh go build -C hack/cluster -trimpath -ldflags "$(KUBE_LDFLAGS)" -o $@ ./kube
	cd $(@D) && for program in $(KUBE_PROGRAMS); do ln -sf kube $$program; done
