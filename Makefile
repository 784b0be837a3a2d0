# A thin front of the CMake presets. `make help` lists what there is.
JOBS   ?= $(shell nproc)
# Tests mostly wait: for a process, a timeout, a deadline.
TEST_JOBS ?= $(shell echo $$((6 * $(JOBS))))
PREFIX ?= /usr/local
PRESET ?= dev
WERROR ?= OFF
TESTS  ?=
ONLY   ?=
EXCEPT ?=
PYTHON ?= /usr/bin/python3
K8S    ?=
NODES  ?= dgx-h100 dgx-a100-mig
E2E    ?=
BENCH  ?=
FUZZ   ?=
COMPARE ?=
cluster := PYTHONPATH=tests/cluster PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m harness
space  := $(subst ,, )

.DEFAULT_GOAL := all
.PHONY: all demo test check compile alloc-compare chart-test install lint format format-check fuzz bench bench-alloc bench-health bench-cluster image image-test cluster cluster-check cluster-down e2e run-daemons clean help

all: ## Build the release programs into build/bin
	@tools/setup build
	@cmake --preset release -DTESSERA_WERROR=$(WERROR) > build/release.log 2>&1 || { cat build/release.log; exit 1; }
	cmake --build --preset release --parallel $(JOBS)
	@cmake --install build/release --prefix $(CURDIR)/build > /dev/null

demo: all ## Build, then show two claims, a container with its GPUs, and a refusal on a simulated node
	@tools/setup demo
	@tools/demo

test: ## Build and run all tests
	@$(MAKE) --no-print-directory check PRESET=dev

check: compile ## Build and run the tests of one preset (PRESET=dev, asan or tsan), or some (TESTS="base_test net_test", ONLY='^Claims[.]', EXCEPT=…)
	ctest --preset $(PRESET) --parallel $(TEST_JOBS) $(if $(TESTS),--label-regex '^($(subst $(space),|,$(TESTS)))$$') $(if $(ONLY),--tests-regex '$(ONLY)') $(if $(EXCEPT),--exclude-regex '$(EXCEPT)')

compile: ## Build what `make check` runs, and run nothing
	@tools/setup build test $(if $(filter-out dev,$(PRESET)),quality)
	@cmake --preset $(PRESET) -DTESSERA_WERROR=$(WERROR) > build/$(PRESET).log 2>&1 || { cat build/$(PRESET).log; exit 1; }
	cmake --build --preset $(PRESET) --parallel $(JOBS) $(if $(TESTS),--target $(TESTS))

alloc-compare: ## Put 10,000 random problems to our allocator and to Kubernetes' of 1.36 and 1.37 (COMPARE="--count 100")
	@tools/setup build test cluster
	@cmake --preset dev > build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
	cmake --build --preset dev --parallel $(JOBS) --target tessera-alloc-problems
	@tests/alloc/oracle/ask compare $(COMPARE)

chart-test: ## Render the Helm chart and test what comes out
	@tools/setup chart cluster
	@cd tests/chart && mypy --cache-dir $(CURDIR)/build/mypy .
	@HELM=$${HELM:-$$($(cluster) helm)} $(PYTHON) -B -m pytest -q -p no:cacheprovider tests/chart

install: ## Install what `make` built into $(DESTDIR)$(PREFIX)
	@test -e build/release/bin/tessera || { echo "nothing is built yet: run make first"; exit 1; }
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

lint: ## Run clang-tidy over what changed since it last passed
	@tools/setup build test quality
	@tools/lint

format: ## Format all sources in place
	@tools/setup quality
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 -i

format-check: ## Fail when a source is not formatted
	@tools/setup quality
	@git ls-files '*.h' '*.cc' | xargs clang-format-19 --dry-run -Werror

fuzz: ## Fuzz what strangers' bytes reach (FUZZ_SECONDS=600 each, FUZZ="yaml semver")
	@tools/setup build test quality
	@FUZZ_SECONDS=$(or $(FUZZ_SECONDS),600) tools/fuzz $(FUZZ)

bench: ## Measure; results also as build/bench/*.json
	@tools/setup build
	@tools/bench

bench-alloc: ## Measure the allocator and CEL beside Kubernetes' own (BENCH="--rounds 1")
	@tools/setup build cluster
	@tools/bench alloc $(BENCH)

bench-health: ## Measure how fast a sick GPU is reported, and Prepare in a storm of Xids (BENCH="--signals 40")
	@tools/setup build
	@tools/bench health $(BENCH)

bench-cluster: image cluster-check ## Measure on a real cluster, beside a minimal Go driver (BENCH="--pods 5"); as root
	@tools/bench cluster $(BENCH)

image: all ## Pack the programs into build/image: an OCI image archive, its root, its SBOM
	@tools/setup image
	@deploy/image/build_image.py

image-test: image ## Test the image, and the systemd unit
	@tools/setup image-test
	@MYPYPATH=deploy/image:tests/image mypy --strict --cache-dir build/mypy deploy/image tests/image
	@PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -m pytest -p no:cacheprovider --quiet -rs tests/image

cluster: all ## Bring up a real cluster and leave it up (K8S=1.34, NODES="l4 t4": one simulated machine a node)
	@tools/setup cluster
	@$(cluster) up --k8s '$(K8S)' --profiles '$(NODES)'

cluster-down: ## Take it down, and what killed cluster tests left; fails when anything is left
	@$(cluster) down

cluster-check: ## Check types of the cluster tests, of tests/daemons and of bench/cluster, and test what bench/cluster computes; seconds
	@tools/setup build cluster
	@cd tests/cluster && mypy --cache-dir $(CURDIR)/build/mypy .
	@MYPYPATH=tests/cluster mypy --config-file tests/cluster/mypy.ini --cache-dir build/mypy bench/cluster
	@MYPYPATH=tests/cluster mypy --config-file tests/cluster/mypy.ini --cache-dir build/mypy tests/daemons
	@PYTHONPATH=tests/cluster $(PYTHON) -B -m pytest -q -p no:cacheprovider bench/cluster

e2e: image cluster-check ## Run the cluster tests on clusters of their own (K8S=1.34, E2E="-k guide")
	@$(cluster) e2e --k8s '$(K8S)' -- $(E2E)

run-daemons: all cluster-check ## Test `tessera run` with the real docker and nerdctl, which are built first (E2E="-k nerdctl"); as root
	@PYTHONPATH=tests/cluster $(PYTHON) -B -m pytest -p no:cacheprovider --tb=short -ra $(E2E) tests/daemons

clean: ## Remove everything that was built
	rm -rf build

help: ## Show this
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

# Logs land in build/ before CMake has made it.
$(shell mkdir -p build)
