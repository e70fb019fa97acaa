# make            builds sqlarium and plays the demo
# make test       runs every test
# make hosts      plays every transcript in every host, and prints a table
# make web        builds the npm package, for Node and browsers, into target/web, and tests it
# make playground serves the playground on loopback: a database in a page, for people
# make bench      runs the benchmarks
# make install    installs the sqlarium command (cargo install)
# make setup      installs what the build needs: the target wasm32-wasip2 and a C compiler for WebAssembly
# make lint       checks formatting and runs clippy on the host and on the guest
# make clean      removes everything that was built or downloaded

.DEFAULT_GOAL := demo
.PHONY: demo test hosts other-hosts web playground bench install setup build build-tests lint clean

export CARGO_TARGET_DIR ?= $(CURDIR)/target

# A machine may have the right Rust under another name than that of rust-toolchain.toml.
ifneq ($(shell cargo --version >/dev/null 2>&1 && echo yes),yes)
export RUSTUP_TOOLCHAIN ?= $(shell cd / && rustup show active-toolchain 2>/dev/null | cut -d ' ' -f 1)
endif

# Always the whole workspace, so that cargo chooses the same features for all of these and compiles
# wasmtime once.
cargo = cargo $(1) --release --locked --workspace

demo: build
	@"$(CARGO_TARGET_DIR)/release/sqlarium" demo

build: setup
	@$(call cargo,build) --bin sqlarium

build-tests: setup
	@$(call cargo,build) --bins --tests

# The hosts need what the tests' clients need, Node and Python; our own plays the transcripts in a test.
test: build-tests
	-@tests/clients/setup
	@if [ -f tests/clients/.installed ]; then $(MAKE) --no-print-directory web other-hosts; fi
	@if cargo nextest --version >/dev/null 2>&1; \
	then $(call cargo,test) --quiet --doc && $(call cargo,nextest run); \
	else $(call cargo,test); fi

hosts: build web
	@tests/clients/setup
	@tests/hosts/run.py --native "$(CARGO_TARGET_DIR)/release/sqlarium"

other-hosts:
	@tests/hosts/run.py

# From target/sqlarium.wasm, which a build leaves.
web:
	@web/setup
	@node web/build.mjs "$(CARGO_TARGET_DIR)/sqlarium.wasm" "$(CARGO_TARGET_DIR)/web"
	@node web/node_modules/typescript/bin/tsc -p web/test
	@SQLARIUM_WEB="$(CARGO_TARGET_DIR)/web" node --test --test-reporter=dot web/test/*.test.mjs

# As it was built last: by `make web`, or `make test`.
playground:
	@[ -d "$(CARGO_TARGET_DIR)/web/playground" ] || $(MAKE) --no-print-directory web
	@node web/serve.mjs "$(CARGO_TARGET_DIR)/web"

bench: build
	@cargo bench --quiet --locked --workspace --bench bench -- $(SECTIONS)

install: setup
	@cargo install --path host --locked

setup:
	@guest/component/setup

lint: build-tests
	@cargo fmt --all --check
	@$(call cargo,clippy) --quiet --all-targets -- -D warnings
	@"$(CARGO_TARGET_DIR)/guest-cargo" clippy --quiet --locked --profile guest --package sqlarium-guest --lib -- -D warnings

clean:
	@cargo clean --quiet
	@rm -rf tests/clients/node_modules tests/clients/.venv web/node_modules
