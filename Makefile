# make            sets up what is missing, builds, and shows sqlarium at work on a sample database
# make test       runs every test
# make install    installs the sqlarium command (cargo install)
# make setup      only sets up: the target wasm32-wasip2 and a C compiler for WebAssembly
# make lint       checks formatting and runs clippy, for the host and for the guest
# make clean      removes everything that was built or fetched

.DEFAULT_GOAL := demo
.PHONY: demo test install setup build everything lint clean

export CARGO_TARGET_DIR ?= $(CURDIR)/target

# A machine may have the right Rust under another name than rust-toolchain.toml's.
ifneq ($(shell cargo --version >/dev/null 2>&1 && echo there),there)
export RUSTUP_TOOLCHAIN ?= $(shell cd / && rustup show active-toolchain 2>/dev/null | cut -d ' ' -f 1)
endif

demo: build
	@"$(CARGO_TARGET_DIR)/release/sqlarium" demo

build: setup
	@cargo build --release --locked --workspace --exclude sqlarium-hostile --exclude sqlarium-hostile-guest

# With the tests' own dependencies from the start: they change the features of
# others, and what was built without them would be built again.
everything: setup
	@cargo build --release --locked --workspace --bins --tests

test: everything
	-@tests/clients/setup
	@if cargo nextest --version >/dev/null 2>&1; \
	then cargo nextest run --release --locked --workspace; \
	else cargo test --release --locked --workspace; fi

install: setup
	@cargo install --path host --locked

setup:
	@guest/component/setup

lint: everything
	@cargo fmt --all --check
	@cargo clippy --quiet --release --locked --workspace --all-targets -- -D warnings
	@"$(CARGO_TARGET_DIR)/guest-cargo" clippy --quiet --locked --profile guest --package sqlarium-guest --lib -- -D warnings

clean:
	@cargo clean --quiet
	@rm -rf tests/clients/node_modules tests/clients/.venv
