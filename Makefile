# SPDX-License-Identifier: Apache-2.0
# `make` alone lists the targets.

VERSION ?= 0.0.1
IMG ?= memcached-operator:$(VERSION)
BUNDLE_IMG ?= memcached-operator-bundle:v$(VERSION)
CATALOG_IMG ?= memcached-operator-catalog:latest
# The image of the catalog's server has the version of the opm that generates the catalog.
OPM_VERSION = $(shell sed -n 's/^opm .*@v\([^ ]*\) .*/\1/p' hack/tools/programs.txt)
export OPMFLAGS ?=
export CHANNELS ?= candidate-v0
export DEFAULT_CHANNEL ?= $(firstword $(subst $(comma), ,$(CHANNELS)))
export REPLACES ?=
export USE_IMAGE_DIGESTS ?=
CONTAINER_TOOL ?= docker
export PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x
export PLUGIN_PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64
export RELEASE_URL ?= https://github.com/example/memcached-operator/releases/download/v$(VERSION)
# The timestamps of the image are the commit's, so that the same commit gives the same image.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
IMAGE_ARGS = --build-arg VERSION=$(VERSION) --build-arg REVISION=$(REVISION) \
	--build-arg SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH)

comma := ,

# All programs are built into bin/; nothing is installed on the machine.
BIN := $(CURDIR)/bin
export PATH := $(BIN):$(BIN)/kube:$(PATH)
export CGO_ENABLED ?= 0
# Builds, tests and linters share what is compiled, so their flags are the same.
override GOFLAGS += -trimpath
export GOFLAGS
# A command that may be silent for minutes prints how long it has taken.
PROGRESS := $(CURDIR)/hack/progress.sh

# The oldest version in docs/user/compatibility.md.
OLDEST_KUBERNETES := 1.31.4
KUBERNETES_VERSION := $(shell sed -n 's|^\tk8s.io/kubernetes v||p' hack/cluster/go.mod)
KUBE_PROGRAMS := etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok
NODE_PROGRAMS := kubelet kube-proxy
KUBE_LDFLAGS := -s -w \
	-X k8s.io/component-base/version.gitVersion=v$(KUBERNETES_VERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(KUBERNETES_VERSION))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES_VERSION)))

# Files of the local control plane. If KUBECONFIG is not set, install, deploy and run use that control plane while it is
# up; otherwise install and deploy use kubectl's default.
export CLUSTER_DIR ?= $(CURDIR)/.cluster
export NODE_DIR ?= $(CURDIR)/.node
ifeq ($(KUBECONFIG)$(wildcard $(CLUSTER_DIR)/kubeconfig),$(CLUSTER_DIR)/kubeconfig)
export KUBECONFIG := $(CLUSTER_DIR)/kubeconfig
endif

FUZZTIME ?= 1m
# The tests mostly wait for the API server, so more of them run in parallel than there are cores. `make lint` and `make check` vet all
# code; with each test it would read all dependencies as well.
GOTESTFLAGS ?= -vet=off -parallel 8 -timeout 40m
# How long a test waits for a condition: 20 s times this. `go test` by hand has 1; several packages on few cores need more.
export TEST_TIMEOUT_FACTOR ?= 15
# Tests produce much garbage, and so do the API servers that they start. A larger heap saves a quarter of the CPU time.
test test-race: export GOGC ?= 400
BENCHCOUNT ?= 6
FAULTSFLAGS ?=
TEST_TOOLS := $(addprefix $(BIN)/,helm3 helm4 helm-unittest crdify kustomize)
# The programs in the pods of the templates, for test/memcached.
OPERANDS := $(addprefix $(BIN)/,memcached-root/usr/bin/memcached memcached_exporter)
# What checks the alerts, for test/docs; like memcached, out of a package of Debian's.
PROMTOOL := $(BIN)/promtool

.DEFAULT_GOAL := help

##@ General

.PHONY: help
help: ## List the targets.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
		/^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
		/^[a-zA-Z0-9_-]+:.*##/ {printf "  \033[36m%-15s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build kube ## Show the operator at work on a local control plane, then remove everything.
	@hack/demo.sh

.PHONY: demo-cluster
demo-cluster: build ## The same in the namespace memcached-demo of the cluster that kubectl is set to (kind or any other).
	@hack/demo.sh cluster

##@ Build

.PHONY: build
build: ## Build the operator into bin/memcached-operator.
	$(PROGRESS) go build -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/memcached-operator .

.PHONY: build-plugin
build-plugin: ## Build the kubectl plugin into bin/kubectl-memcached, with a link by which kubectl completes its arguments.
	$(PROGRESS) go build -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN)/kubectl-memcached ./cmd/kubectl-memcached
	ln -sf kubectl-memcached $(BIN)/kubectl_complete-memcached

.PHONY: plugin-archives
plugin-archives: ## Write the kubectl plugin for PLUGIN_PLATFORMS to dist/plugin, with a manifest for krew.
	hack/plugin.sh $(VERSION) dist/plugin

.PHONY: docker-build
docker-build: ## Build the image IMG with CONTAINER_TOOL: docker, podman or buildah.
	$(PROGRESS) $(CONTAINER_TOOL) build $(IMAGE_ARGS) -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build and push the image IMG for PLATFORMS with docker buildx, podman or buildah.
ifeq ($(notdir $(CONTAINER_TOOL)),docker)
	docker buildx build $(IMAGE_ARGS) --platform $(PLATFORMS) --push -t $(IMG) .
else
	$(CONTAINER_TOOL) build $(IMAGE_ARGS) --platform $(PLATFORMS) --manifest $(IMG) .
	$(CONTAINER_TOOL) manifest push --all $(IMG) docker://$(IMG)
endif

.PHONY: image-archive
image-archive: ## Write the image IMG for PLATFORMS to dist/image.tar, an OCI archive.
	@mkdir -p dist && rm -f dist/image.tar
ifeq ($(notdir $(CONTAINER_TOOL)),docker)
	docker buildx build $(IMAGE_ARGS) --platform $(PLATFORMS) --provenance=false --output type=oci,dest=dist/image.tar -t $(IMG) .
else
	@$(CONTAINER_TOOL) manifest rm $(IMG)-archive >/dev/null 2>&1 || true
	$(CONTAINER_TOOL) build $(IMAGE_ARGS) --platform $(PLATFORMS) --manifest $(IMG)-archive .
	$(CONTAINER_TOOL) manifest push --all $(IMG)-archive oci-archive:$(CURDIR)/dist/image.tar:$(IMG)
endif

.PHONY: release
release: kustomize $(addprefix $(BIN)/,helm4 operator-sdk cyclonedx-gomod) ## Write all files of the release VERSION to dist/vVERSION, for images called IMG; push nothing.
	hack/release.sh $(VERSION) $(IMG)

.PHONY: sbom
sbom: build $(BIN)/cyclonedx-gomod ## Write the operator's SBOM (CycloneDX) to dist/sbom.cdx.json.
	@mkdir -p dist
	cyclonedx-gomod bin -json -noserial -notimestamp -output dist/sbom.cdx.json -version v$(VERSION) $(BIN)/memcached-operator

.PHONY: generate
generate: $(BIN)/controller-gen ## Generate deepcopy functions and apply configurations from the API types.
	$(PROGRESS) controller-gen object:headerFile=hack/boilerplate.go.txt applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./apis/...

.PHONY: manifests
manifests: $(BIN)/controller-gen $(BIN)/helm-docs $(BIN)/helm-schema ## Generate the CRD, the roles, the chart's copies of both, its schema and README, and the API reference.
	$(PROGRESS) controller-gen crd paths=./apis/... output:crd:dir=config/crd/bases
	$(PROGRESS) go run ./hack/crd
	$(PROGRESS) controller-gen rbac:roleName=manager-role paths=./reconcilers/... output:rbac:dir=config/rbac
	$(PROGRESS) go run ./hack/rbac
	hack/chart.sh
	$(PROGRESS) go run ./hack/apidocs

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format all Go code.
	golangci-lint fmt

##@ Check

# The packages whose tests need no control plane.
PURE := ./hack/... ./internal/command ./internal/dryrun ./internal/fairqueue ./internal/memcached ./internal/memory \
	./internal/operator ./internal/plugin/... ./internal/sanitize ./internal/templates ./internal/transport \
	./reconcilers/guarded ./reconcilers/render/... ./reconcilers/pacing ./reconcilers/status
# The packages whose tests build the operator or run scripts, which the test cache does not see.
BUILDS := ./test/pages ./test/run ./test/templates

.PHONY: check
check: ## Vet, check the format and run the tests that need no control plane, in their short form; half a minute.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not formatted, run make fmt: $$unformatted" >&2; exit 1; }
	$(PROGRESS) go vet ./...
	$(PROGRESS) go test -short $(PURE)

.PHONY: test
test: kube build $(TEST_TOOLS) $(OPERANDS) $(PROMTOOL) ## Run all tests, including those against a real control plane.
	$(PROGRESS) go test $(GOTESTFLAGS) $(filter-out $(BUILDS:./%=github.com/example/memcached-operator/%),$(shell go list ./...))
	$(PROGRESS) go test $(GOTESTFLAGS) -p 3 -count=1 $(BUILDS)
	$(PROGRESS) go test -C hack/cluster $(GOTESTFLAGS) .

.PHONY: test-api
test-api: $(BIN)/cluster ## Run the tests that need etcd and an API server only, with the binaries in KUBEBUILDER_ASSETS if set.
	$(if $(KUBEBUILDER_ASSETS),,$(MAKE) --no-print-directory kube)
	$(PROGRESS) go test $(GOTESTFLAGS) ./apis/... ./reconcilers/apply ./reconcilers/render/... ./reconcilers/status/...

.PHONY: test-oldest
test-oldest: kube ## Run the tests of API, apply and reconcilers against the oldest Kubernetes that is supported; builds it first, for minutes.
	$(PROGRESS) hack/controlplane.sh $(OLDEST_KUBERNETES)
	KUBEBUILDER_ASSETS=$(BIN)/kube-$(OLDEST_KUBERNETES) $(PROGRESS) go test -count=1 $(GOTESTFLAGS) ./apis/... ./reconcilers ./reconcilers/apply ./reconcilers/olm

# Under the race detector a test takes several times as long. Those of the API's schema and of the reconciler of OLM's condition, which
# works alone, are not run. Of the renderer, whose tests are tables of a pure function, and of the
# program, most of whose tests are of subcommands and refused starts, it runs those in which something is concurrent.
CONCURRENT := Test(Render_(IsSafeForConcurrentUse|NamespaceBuildsOneSetAtATime)|Start_ServesUntilSIGTERM|LeaderElection|Webhook_AnswersUnderLoad)

.PHONY: test-race
test-race: kube ## Run the tests of internal and reconcilers, and the operator's process, with the race detector (needs a C compiler).
	CGO_ENABLED=1 $(PROGRESS) go test -race -short $(GOTESTFLAGS) \
		$(filter-out %/internal/command %/internal/diff %/reconcilers/olm %/reconcilers/render,$(shell go list ./internal/... ./reconcilers/...))
	CGO_ENABLED=1 $(PROGRESS) go test -race -short $(GOTESTFLAGS) -parallel 2 -run '$(CONCURRENT)' ./reconcilers/render ./test/program

.PHONY: e2e
e2e: kube-node $(TEST_TOOLS) ## Run the end-to-end tests on two local nodes (root), or on the cluster of E2E_KUBECONFIG.
	hack/e2e.sh $(E2EFLAGS)

.PHONY: olm-tools
olm-tools: kustomize $(addprefix $(BIN)/,helm3 operator-sdk scorecard-test crane opm olm catalog cpb grpc_health_probe) ## Build OLM and its tools, for e2e-olm; minutes.

.PHONY: e2e-olm
e2e-olm: kube-node olm-tools ## Run the end-to-end tests of OLM: install, upgrade, Upgradeable condition, uninstall, on a local node (root).
	hack/e2e-olm.sh $(E2EFLAGS)

.PHONY: keys
keys: kube-node $(TEST_TOOLS) ## Measure what changes of a cache cost its clients: keys, errors, time, hit ratio; on two local nodes, half an hour (root).
	E2E_PACKAGES=./test/e2e/keys hack/e2e.sh -v -timeout 60m $(E2EFLAGS)

.PHONY: load
load: $(OPERANDS) ## Load memcached within its memory limit: 27 combinations of memory, items and connections, 10 minutes each, half an hour together (root).
	$(PROGRESS) go test -count 1 -v -timeout 90m -parallel 9 -run TestMemory_IsNeverExceeded ./test/memcached -load 10m

.PHONY: faults
faults: kube ## Run the fault suite: crashes, stale caches, failing requests, leader changes; up to an hour.
	$(PROGRESS) go test -tags faults -count 1 -v -timeout 120m $(FAULTSFLAGS) ./test/faults

.PHONY: faults-short
faults-short: kube ## Run the short fault suite; minutes.
	$(PROGRESS) go test -tags faults -count 1 -v -timeout 10m -parallel 8 -short $(FAULTSFLAGS) ./test/faults

.PHONY: bench
bench: kube ## Run the benchmarks with their baselines; the output is for benchstat.
	go test -run '^$$' -bench . -count $(BENCHCOUNT) ./reconcilers/... ./test/...

.PHONY: scale
scale: kube ## Measure the operator with 100 to 10,000 Memcacheds, compared with a plain client (docs/user/scale.md).
	$(PROGRESS) go test -tags scale -count 1 -timeout 4h -v ./test/scale $(SCALEFLAGS)

.PHONY: fuzz
fuzz: ## Fuzz the renderer against kustomize, texts and then sets of features, for FUZZTIME (1m) each.
	$(PROGRESS) go test -run '^$$' -fuzz FuzzRender -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./reconcilers/render
	$(PROGRESS) go test -run '^$$' -fuzz FuzzFeatures -fuzztime $(FUZZTIME) -fuzzminimizetime 20x ./reconcilers/render

.PHONY: govulncheck
govulncheck: build $(BIN)/govulncheck ## Check the operator for known vulnerabilities (queries the Go vulnerability database).
	govulncheck ./...

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters.
	$(PROGRESS) golangci-lint run ./...
	cd hack/cluster && $(PROGRESS) golangci-lint run ./...
	hack/shellcheck.sh

.PHONY: verify
verify: $(addprefix $(BIN)/,crdify actionlint) ## Fail if a generated file is stale, a workflow is wrong, or the CRD breaks users.
	hack/verify.sh

##@ Local control plane

.PHONY: kube
kube: $(BIN)/kube/kube $(BIN)/cluster ## Build a Kubernetes control plane from Go modules (takes minutes the first time).

.PHONY: kube-node
kube-node: kube $(BIN)/kube/node ## Build kubelet and kube-proxy as well, for real nodes.

.PHONY: cluster-up
cluster-up: kube ## Start a local control plane; its kubeconfig is .cluster/kubeconfig.
	cluster up --dir $(CLUSTER_DIR)

.PHONY: cluster-down
cluster-down: $(BIN)/cluster ## Stop the local control plane and remove its files.
	cluster down --dir $(CLUSTER_DIR)

.PHONY: run
run: build ## Run the operator in the foreground against KUBECONFIG, else the local control plane; PRIVILEGED=1 allows privileged fields.
	PRIVILEGED=$(PRIVILEGED) hack/run.sh $(ARGS)

##@ Real nodes (root, Debian; see hack/node/README.md)

.PHONY: node-packages
node-packages: ## Install the Debian packages that real nodes need.
	$(PROGRESS) hack/node/packages.sh

.PHONY: node-up
node-up: kube-node ## Start NODES (2) real nodes; their kubeconfig is .node/kubeconfig.
	hack/node/up.sh

.PHONY: node-down
node-down: ## Stop the nodes and remove their files.
	hack/node/down.sh

.PHONY: node-load
node-load: ## Load the image IMG, built with CONTAINER_TOOL=hack/node/buildah.sh, into the nodes.
	hack/node/load.sh $(IMG)

.PHONY: node-smoke
node-smoke: ## Check that the nodes support what the tests need.
	hack/node/smoke.sh

##@ Install

.PHONY: install
install: ## Install or update the CRD in the cluster that kubectl is set to; FORCE=1 takes over fields of Helm.
	FORCE=$(FORCE) hack/install-crd.sh

.PHONY: uninstall
uninstall: ## Remove the CRD and, with it, all Memcacheds.
	kubectl delete --ignore-not-found -f config/crd/bases

.PHONY: deploy
deploy: kustomize ## Deploy the operator with the image IMG, for all namespaces or, with Roles only, for WATCH_NAMESPACES=a,b; WEBHOOK=true adds the webhook, SITE=true templates from a ConfigMap.
	hack/installer.sh $(IMG) "$(WATCH_NAMESPACES)" | kubectl apply --server-side -f -

.PHONY: undeploy
undeploy: kustomize ## Remove the operator, the CRD and all Memcacheds.
	hack/installer.sh $(IMG) "$(WATCH_NAMESPACES)" | kubectl delete --ignore-not-found -f -

.PHONY: build-installer
build-installer: kustomize ## Write the objects of `make deploy` to dist/install.yaml.
	@mkdir -p dist
	hack/installer.sh $(IMG) "$(WATCH_NAMESPACES)" > dist/install.yaml

##@ OLM

.PHONY: bundle
bundle: kustomize $(BIN)/operator-sdk ## Generate bundle/ and bundle.Dockerfile for VERSION and IMG; USE_IMAGE_DIGESTS=true resolves digests, REPLACES=x.y.z sets the replaced version.
	$(PROGRESS) hack/bundle.sh $(VERSION) $(IMG)

.PHONY: bundle-build
bundle-build: ## Build the bundle image BUNDLE_IMG with CONTAINER_TOOL.
	$(CONTAINER_TOOL) build -f bundle.Dockerfile -t $(BUNDLE_IMG) .

.PHONY: bundle-push
bundle-push: ## Push the bundle image BUNDLE_IMG.
	$(CONTAINER_TOOL) push $(BUNDLE_IMG)

.PHONY: catalog
catalog: $(BIN)/opm ## Generate catalog/configs from catalog/semver.yaml, which lists the bundle images.
	hack/catalog.sh

.PHONY: catalog-build
catalog-build: ## Build the catalog image CATALOG_IMG with CONTAINER_TOOL.
	$(CONTAINER_TOOL) build --build-arg OPM_VERSION=$(OPM_VERSION) -f catalog.Dockerfile -t $(CATALOG_IMG) .

.PHONY: catalog-push
catalog-push: ## Push the catalog image CATALOG_IMG.
	$(CONTAINER_TOOL) push $(CATALOG_IMG)

.PHONY: scorecard
scorecard: kube $(BIN)/operator-sdk ## Run the Operator SDK's scorecard for bundle/ on the cluster that kubectl is set to.
	hack/scorecard.sh

# Tools, each pinned in the go.mod of hack/tools, hack/tools/lint or hack/cluster.

.PHONY: kustomize
kustomize: $(BIN)/kustomize

$(BIN)/controller-gen: hack/tools/go.mod
	$(PROGRESS) go build -C hack/tools -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen

$(BIN)/kustomize: hack/tools/go.mod
	$(PROGRESS) go build -C hack/tools -o $@ sigs.k8s.io/kustomize/kustomize/v5

$(BIN)/govulncheck: hack/tools/go.mod
	$(PROGRESS) go build -C hack/tools -o $@ golang.org/x/vuln/cmd/govulncheck

$(BIN)/golangci-lint: hack/tools/lint/go.mod
	$(PROGRESS) go build -C hack/tools/lint -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

PROGRAMS := $(addprefix $(BIN)/,$(shell sed '/^\#/d; s/ .*//' hack/tools/programs.txt))
$(PROGRAMS): hack/tools/programs.txt
	$(PROGRESS) hack/tools/build.sh $(@F)

$(BIN)/memcached-root/usr/bin/memcached: hack/memcached.sh hack/node/debian.sh
	$(PROGRESS) hack/memcached.sh

$(PROMTOOL): hack/promtool.sh hack/node/debian.sh
	$(PROGRESS) hack/promtool.sh

$(BIN)/cluster: hack/cluster/go.mod $(wildcard hack/cluster/*.go hack/cluster/*.yaml)
	$(PROGRESS) go build -C hack/cluster -o $@ .

$(BIN)/kube/kube: hack/cluster/go.mod $(wildcard hack/cluster/kube/*.go hack/cluster/multicall/*.go)
	@echo "Building Kubernetes v$(KUBERNETES_VERSION) from its Go modules. This takes some minutes on two cores, once."
	$(PROGRESS) go build -C hack/cluster -ldflags "$(KUBE_LDFLAGS)" -o $@.new ./kube
	cd $(@D) && for program in $(KUBE_PROGRAMS); do ln -sf kube $$program; done && mv kube.new kube

$(BIN)/kube/node: hack/cluster/go.mod $(wildcard hack/cluster/node/*.go hack/cluster/multicall/*.go)
	@echo "Building kubelet and kube-proxy v$(KUBERNETES_VERSION). This takes some minutes on two cores, once."
	$(PROGRESS) go build -C hack/cluster -ldflags "$(KUBE_LDFLAGS)" -o $@.new ./node
	cd $(@D) && for program in $(NODE_PROGRAMS); do ln -sf node $$program; done && mv node.new node
