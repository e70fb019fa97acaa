//! Builds the guest as a WebAssembly component, compiles it ahead of time and
//! leaves both beside the host, which embeds the result.

#[path = "build/compiler.rs"]
mod compiler;
#[path = "src/sandbox/config.rs"]
mod config;
#[path = "build/guest.rs"]
mod guest;
#[path = "build/sysroot.rs"]
mod sysroot;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use anyhow::{Context, Result};

fn main() {
    if let Err(error) = build() {
        // One sentence that says what to do, instead of a panic with a backtrace.
        println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
        process::exit(1);
    }
}

fn build() -> Result<()> {
    let surroundings = Surroundings::detect()?;
    for input in [
        "guest",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        ".cargo/config.toml",
    ] {
        rerun_if_changed(&surroundings.workspace.join(input));
    }
    for input in ["build.rs", "build", "src/sandbox/config.rs"] {
        rerun_if_changed(&surroundings.workspace.join("host").join(input));
    }
    for variable in [
        "LIBSQLITE3_FLAGS",
        "SQLARIUM_BUILD_STD",
        "SQLARIUM_TOOLCHAIN",
        "SQLARIUM_WASI_INCLUDE",
        "WASI_SDK_PATH",
    ] {
        println!("cargo::rerun-if-env-changed={variable}");
    }

    let component = surroundings.out.join("guest.wasm");
    fs::copy(guest::build(&surroundings)?, &component)
        .with_context(|| format!("cannot copy the guest to {}", component.display()))?;
    // For other runtimes and for the tests, where they find it without asking cargo.
    fs::copy(&component, surroundings.target.join("sqlarium.wasm"))
        .context("cannot copy the guest to the target directory")?;
    println!(
        "cargo::rustc-env=SQLARIUM_COMPONENT={}",
        component.display()
    );

    let precompiled = surroundings.out.join("guest.cwasm");
    fs::write(&precompiled, precompile(&component)?)
        .with_context(|| format!("cannot write {}", precompiled.display()))
}

/// Compiles the component for any processor of the host's target, not only for this one.
fn precompile(component: &Path) -> Result<Vec<u8>> {
    let mut config = config::config();
    config.target(&variable("TARGET")?)?;
    let engine = wasmtime::Engine::new(&config)?;
    engine
        .precompile_component(&fs::read(component)?)
        .map_err(anyhow::Error::from)
        .context("wasmtime does not take the guest")
}

/// Where this build takes place.
pub struct Surroundings {
    /// The root of the repository.
    pub workspace: PathBuf,
    /// The build script's own directory, made anew for every host.
    pub out: PathBuf,
    /// Cargo's target directory, which outlives a single build.
    pub target: PathBuf,
    /// What a set-up left behind for machines without the target or a C compiler.
    pub toolchain: PathBuf,
}

impl Surroundings {
    fn detect() -> Result<Self> {
        let host = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let workspace = host
            .parent()
            .context("the host has no workspace around it")?;
        let out = PathBuf::from(variable("OUT_DIR")?);
        // <target>/<profile>/build/<package>/out
        let target = out
            .ancestors()
            .nth(4)
            .context("cargo's OUT_DIR is not below a target directory")?
            .to_path_buf();
        let toolchain = env::var_os("SQLARIUM_TOOLCHAIN")
            .map_or_else(|| target.join("toolchain"), PathBuf::from);
        Ok(Self {
            workspace: workspace.to_path_buf(),
            out,
            target,
            toolchain,
        })
    }
}

/// Watches a file or a directory. Cargo would rebuild forever for one that is not there.
fn rerun_if_changed(path: &Path) {
    if path.exists() {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// A variable that cargo sets for every build script.
fn variable(name: &str) -> Result<String> {
    env::var(name).with_context(|| format!("cargo did not set {name}"))
}
