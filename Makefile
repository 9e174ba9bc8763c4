# encbench: documents per second of a retrieval encoder, with the proof.
# Linux, Go, a C compiler, and python3 with pip to fetch the pinned assets.
#
#   make speed    a measurement of speed     make test    every test
#   make eval     one of quality             make help    everything else

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

GO    ?= go
BIN   := bin/encbench
OUT   ?= out

# Stamped by the linker: Go's own stamp needs a git checkout that the builder owns.
# Without a tag the version in the code stands, without git the commit is unknown.
VERSION := $(shell git describe --tags --dirty --match 'v*' 2>/dev/null)
COMMIT  := $(shell git rev-parse --verify --quiet HEAD 2>/dev/null)
DIRTY   := $(if $(shell git status --porcelain 2>/dev/null),true,false)
LDFLAGS := $(if $(VERSION),-X main.version=$(VERSION:v%=%)) -X main.commit=$(COMMIT) -X main.dirty=$(DIRTY)
BUILD    = $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

# CUDA=auto builds the GPU path in where its one header can be had, CUDA=yes fails where
# it cannot, CUDA=no leaves it out. CUDA_INCLUDE is a folder with a cuda.h of your own.
CUDA ?= auto
HEADER = include=$$(CUDA='$(or $(1),$(CUDA))' CUDA_INCLUDE='$(CUDA_INCLUDE)' GO='$(GO)' tools/cuda-header.sh); \
	[ -z "$$include" ] || export CGO_CFLAGS="$${CGO_CFLAGS:--O2 -g} '-I$$include'" GOFLAGS="$${GOFLAGS:-} -tags=cuda"

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
BENCHSTAT   := golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# The peers' Python environment: Python 3.11 to 3.13. bench/peers/README.md says
# why the packages' dependencies are listed and not resolved.
PYTHON ?= python3
VENV   := bench/peers/.venv
PIP     = $(VENV)/bin/python -m pip install --quiet --no-deps --require-hashes --only-binary=:all:

# Packages that run on a GPU, or on the fake driver.
EMU       := ./cuda/... ./kernels/... ./engine/gpu/... ./bench/gpucheck
# Of packages with tests of their own for the processor, those of devices.
EMU_PARTS := ./engine/ort ./bench/cmd/encbench

# What makes PTX of the kernels, and checks it.
TOOLS := bin/cuda-tools
GEN    = $(GO) run ./kernels/_gen -ptxas $(TOOLS)/nvidia/cuda_nvcc/bin/ptxas -nvdisasm $(TOOLS)/nvidia/cu13/bin/nvdisasm

# Packages that need no C compiler.
PURE := ./corpus/... ./metrics/...

ARM64_CC   ?= aarch64-linux-gnu-gcc
ARM64_EXEC ?= qemu-aarch64-static -L /usr/aarch64-linux-gnu
ARM64      := GOARCH=arm64 CGO_ENABLED=1 CC=$(ARM64_CC)
# Left out: the rules of the source tree, which are no code; the peers' harness,
# whose tests start themselves again, which an emulator that the kernel does not
# know of cannot follow; and PURE, which is tested without cgo and has none.
ARM64_TESTS = $(filter-out encbench encbench/bench/peers encbench/corpus% encbench/metrics%,$(shell $(GO) list ./...))

.PHONY: help build assets speed eval test test-emu gpu-check kernels kernels-check race lint fuzz-short golden cover bench \
	bench-compare peers results test-nocgo test-arm64 dist notices clean

help: ## list the targets (default)
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Always handed to go build, which knows better than make what is up to date.
build: ## build bin/encbench, with CUDA where its header can be had (CUDA=no leaves it out)
	@$(call HEADER); echo "$(GO) build $${include:+-tags cuda }-o $(BIN) ./bench/cmd/encbench"; $(BUILD) -o $(BIN) ./bench/cmd/encbench

assets: build ## obtain the runtime, the model and the text (pinned, checksummed, cached)
	$(BIN) assets get

speed: build ## measure the embedded corpus on this machine: report, and record in out/speed.json
	$(BIN) assets get
	@mkdir -p $(OUT)
	$(BIN) speed --profile quick --out $(OUT)/speed.json

# About a minute on two cores; EVAL='--docs 0 --queries 0' takes the whole collection.
eval: build ## measure the quality of the pinned model beside BM25: report, record and run in out/eval.*
	$(BIN) assets get
	@mkdir -p $(OUT)
	$(BIN) eval --data techdocs-qa $(or $(EVAL),--docs 1200 --queries 300) --run-out $(OUT)/eval.ebrun --out $(OUT)/eval.json

test: assets ## run every test, none skipped
	ENCBENCH_REQUIRE_ASSETS=1 $(GO) test ./...

test-emu: assets ## run the GPU path on a CPU: a fake driver, and the kernels compiled by g++; then a part under ASan and UBSan
	@$(call HEADER,yes); export ENCBENCH_REQUIRE_ASSETS=1; set -x; \
		$(GO) test $(EMU); \
		$(GO) test -run 'CUDA|Device|Positions|Libraries' $(EMU_PARTS); \
		ENCBENCH_FAKE_SANITIZE=1 $(GO) test -run 'Search|HardData|Random|Convert|Pool|Work|Graph|Sticky' ./cuda ./kernels ./engine/gpu

gpu-check: ## try a GPU: results, copies, searches, encoding; the record goes on in out/gpu-check.json
	@$(MAKE) build CUDA=yes
	@mkdir -p $(OUT)
	$(BIN) gpu-check --out $(OUT)/gpu-check.json $(if $(ONLY),--only $(ONLY))

$(TOOLS)/done: kernels/_gen/requirements.txt
	rm -rf $(TOOLS)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --target $(TOOLS) -r kernels/_gen/requirements.txt
	touch $@

kernels: $(TOOLS)/done ## write kernels/ptx anew from kernels/src; needs clang-19
	$(GEN)

kernels-check: $(TOOLS)/done ## compare kernels/ptx with its sources; assemble and disassemble it
	$(GO) test ./kernels/_gen
	$(GEN) -check

race: assets ## run every test under the race detector
	ENCBENCH_REQUIRE_ASSETS=1 $(GO) test -race -timeout 20m ./...
	@$(call HEADER); [ -z "$$include" ] || { set -x; ENCBENCH_REQUIRE_ASSETS=1 $(GO) test -race -run 'Work|Overlap|Host|Sticky|Graph|Other|CUDAEncodes|CUDACancel|CUDAInto|OneOfTwo|Cancelled' ./cuda ./engine/ort ./engine/gpu; }

# Without CUDA's header staticcheck cannot see who uses what is used by the GPU path alone.
lint: ## gofmt, go vet with and without cgo, staticcheck, shellcheck, Python syntax
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not gofmt-formatted:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet ./...
	@$(call HEADER); [ -z "$$include" ] || echo 'again with -tags cuda:'; $(GO) vet ./...; \
		$(GO) run $(STATICCHECK) $${include:+-tags cuda} $$([ -n "$$include" ] || echo -checks inherit,-U1000) ./...
	@if command -v shellcheck >/dev/null; then echo shellcheck; shellcheck --severity=warning .ci/run tools/*.sh bench/peers/*.sh; \
	elif [ "$${CI:-}" = true ]; then echo "shellcheck is missing" >&2; exit 1; else echo "shellcheck is not installed: scripts not checked" >&2; fi
	@python3 -c 'import ast, sys; [ast.parse(open(f, encoding="utf-8").read(), f) for f in sys.argv[1:]]' bench/peers/*.py

fuzz-short: ## run every fuzz target for FUZZTIME (3s)
	GO='$(GO)' FUZZTIME=$(or $(FUZZTIME),3s) tools/fuzz-short.sh

golden: assets ## rewrite every golden file; read the difference before committing
	ENCBENCH_REQUIRE_ASSETS=1 $(GO) test $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

cover: assets ## write out/cover.out and print the coverage in all
	@mkdir -p $(OUT)
	ENCBENCH_REQUIRE_ASSETS=1 $(GO) test -coverprofile $(OUT)/cover.out -coverpkg ./... ./...
	$(GO) tool cover -func $(OUT)/cover.out | tail -n 1

bench: assets ## run the Go benchmarks; BENCH=regexp COUNT=n PKG=packages
	ENCBENCH_REQUIRE_ASSETS=1 $(GO) test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),1) $(or $(PKG),./...)

bench-compare: assets ## compare the benchmarks with those of REF=commit, interleaved; BENCH, COUNT (10), PKG
	@[ -n '$(REF)' ] || { echo 'usage: make bench-compare REF=main~1 [BENCH=regexp] [COUNT=10] [PKG=./corpus/...]' >&2; exit 2; }
	GO='$(GO)' BENCH='$(or $(BENCH),.)' COUNT=$(or $(COUNT),10) PKG='$(or $(PKG),./...)' OUT=$(OUT) tools/bench-compare.sh '$(REF)'
	$(GO) run $(BENCHSTAT) old=$(OUT)/bench-old.txt new=$(OUT)/bench-new.txt

$(VENV)/done: bench/peers/requirements.txt bench/peers/requirements-openvino.txt
	$(VENV)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || \
		{ rm -rf $(VENV); echo "make peers needs python3 with venv (Debian: python3-venv)" >&2; exit 1; }
	$(PIP) -r bench/peers/requirements.txt
	$(PIP) --upgrade --target $(VENV)/overlay-openvino -r bench/peers/requirements-openvino.txt
	touch $@

# The folder with the collections whose values are kept in docs/results.
COLLECTIONS ?= ../shared/data/collections

# Tokenizers of public models that are compared too, each as NAME=FILE.
TOKENIZERS ?= $(addprefix ModernBERT=,$(wildcard ../shared/data/tokenizers/modernbert/tokenizer.json))

# Maven's packages with the one trec_eval and the one int8 graph that are compared
# with; mvn, or JAR=file and INT8_JAR=file.
$(VENV)/bin/trec_eval: bench/peers/trec_eval.sh bench/peers/maven.sh $(VENV)/done
	bench/peers/trec_eval.sh $@ $(JAR)

$(VENV)/bin/all-minilm-l6-v2-q.onnx: bench/peers/int8_graph.sh bench/peers/maven.sh $(VENV)/done
	bench/peers/int8_graph.sh $@ $(INT8_JAR)

peers: assets $(VENV)/done $(VENV)/bin/trec_eval $(VENV)/bin/all-minilm-l6-v2-q.onnx ## measure against Python peers (6 GB on disk), FAISS and trec_eval, interleaved; then results
	$(BIN) peers --python $(VENV)/bin/python --out docs/results/peers.json
	$(BIN) peers --part tokenizers --tokenizers corpus/tokenize/testdata $(addprefix --tokenizer ,$(TOKENIZERS)) --python $(VENV)/bin/python --out docs/results/tokenizers.json
	$(BIN) peers --part models --only 512 --only int8 --only import --python $(VENV)/bin/python --out docs/results/models.json
	$(BIN) peers --part models --only 8,192 --python $(VENV)/bin/python --out docs/results/models-long.json
	$(BIN) peers --part search --python $(VENV)/bin/python --out docs/results/search.json
	$(BIN) peers --part score --python $(VENV)/bin/python --out docs/results/score.json
	$(BIN) peers --part quality --collections $(COLLECTIONS) --out docs/results/quality.json
	$(BIN) results docs/results

results: build ## render docs/results/*.md from the JSON beside them
	$(BIN) results docs/results

test-nocgo: ## build and test without a C compiler, and the tokenizer without assembly
	CGO_ENABLED=0 $(GO) build ./...
	CGO_ENABLED=0 $(GO) test ./...
	CGO_ENABLED=0 $(GO) test -tags noasm ./corpus/tokenize ./metrics/...

# ONNX Runtime's own initializers crash under qemu-user, so its tests get an empty
# cache and skip; that the pinned arm64 wheel is obtained and verified is checked.
test-arm64: ## cross-build for arm64 and run the tests under qemu-user
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec '$(ARM64_EXEC)' $(PURE)
	$(ARM64) $(BUILD) -o $(OUT)/encbench-arm64 ./bench/cmd/encbench
	$(ARM64_EXEC) $(OUT)/encbench-arm64 version
	@$(call HEADER,yes); export $(ARM64); $(BUILD) -o $(OUT)/encbench-arm64-cuda ./bench/cmd/encbench
	$(ARM64_EXEC) $(OUT)/encbench-arm64-cuda version
	ENCBENCH_CACHE=$(abspath $(OUT))/empty-cache $(ARM64_EXEC) $(OUT)/encbench-arm64-cuda doctor | grep 'driver .*libcuda\.so\.1: cannot open shared object file'
	ENCBENCH_CACHE=$(abspath $(OUT))/arm64-cache $(ARM64_EXEC) $(OUT)/encbench-arm64 assets get onnxruntime || { sleep 10; ENCBENCH_CACHE=$(abspath $(OUT))/arm64-cache $(ARM64_EXEC) $(OUT)/encbench-arm64 assets get onnxruntime; }
	rm -rf $(OUT)/empty-cache
	[ -n '$(ARM64_TESTS)' ]
	ENCBENCH_CACHE=$(abspath $(OUT))/empty-cache ENCBENCH_REQUIRE_ASSETS= \
		$(ARM64) $(GO) test -exec '$(ARM64_EXEC)' $(ARM64_TESTS)

dist: build ## dist/encbench-VERSION-linux-ARCH.tar.gz, for a machine without Go
	ARCH=$$($(GO) env GOARCH) BIN=$(BIN) tools/dist.sh

notices: ## rewrite THIRD_PARTY_NOTICES from what the command links and the lock file names
	$(GO) test . -run TestNotices -update

clean: ## remove what was built here; the cache of assets and the peers' environment stay
	rm -rf bin dist $(OUT)
