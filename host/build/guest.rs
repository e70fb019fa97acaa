//! The nested cargo that builds the guest.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::Surroundings;
use crate::compiler::Compiler;
use crate::sysroot;

/// The target the guest is built for.
pub const TARGET: &str = "wasm32-wasip2";

/// Builds the guest and answers where the component is.
pub fn build(surroundings: &Surroundings) -> Result<PathBuf> {
    let std = sysroot::find(surroundings)?;
    let compiler = Compiler::find(surroundings)?;
    // Not the outer target directory: its lock is held by the cargo that runs us.
    let directory = surroundings.target.join("guest");

    let mut cargo = Command::new(env::var_os("CARGO").context("cargo did not set CARGO")?);
    cargo
        .current_dir(&surroundings.workspace)
        .args(["build", "--quiet", "--package", "sqlarium-guest", "--lib"])
        .args(["--profile", "guest", "--target", TARGET, "--target-dir"])
        .arg(&directory);
    forget_the_outer_build(&mut cargo);
    compiler.configure(&mut cargo);
    std.configure(&mut cargo);
    // A build script's standard output is cargo's to read.
    let output = cargo
        .stdin(Stdio::null())
        .output()
        .context("cannot start cargo for the guest")?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("the guest does not build for {TARGET}; the messages above say why");
    }
    Ok(directory
        .join(TARGET)
        .join("guest")
        .join("sqlarium_guest.wasm"))
}

/// Keeps what describes the host's build away from the guest's: the flags of
/// another target, clippy's wrapper, and everything cargo says to a build script.
fn forget_the_outer_build(cargo: &mut Command) {
    const FOREIGN: [&str; 16] = [
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "CLIPPY_ARGS",
        "DEBUG",
        "HOST",
        "NUM_JOBS",
        "OPT_LEVEL",
        "OUT_DIR",
        "PROFILE",
        "RUSTC_LINKER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTDOCFLAGS",
        "RUSTFLAGS",
        "TARGET",
    ];
    const FAMILIES: [&str; 5] = [
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "DEP_",
    ];
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if FOREIGN.contains(&text) || FAMILIES.iter().any(|family| text.starts_with(family)) {
            cargo.env_remove(name);
        }
    }
}
