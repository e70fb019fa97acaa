//! The nested cargo that builds the guest, or another component of the workspace.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::compiler::{Compiler, script};
use crate::surroundings::Surroundings;
use crate::sysroot;

/// The target the guest is built for.
pub const TARGET: &str = "wasm32-wasip2";

/// Its profile, in the workspace's `Cargo.toml`.
const PROFILE: &str = "guest";

/// Builds the library of `package` and answers where the component is.
pub fn build(surroundings: &Surroundings, package: &str) -> Result<PathBuf> {
    let std = sysroot::find(surroundings)?;
    let directory = surroundings.target.join("guest");
    // Not the outer target directory: its lock is held by the cargo that runs us. And not in OUT_DIR:
    // it has several names, and cargo would compile SQLite again for a compiler of another name.
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let compiler = Compiler::find(surroundings, &directory)?;

    let mut cargo = Command::new(env::var_os("CARGO").context("cargo did not set CARGO")?);
    forget_the_outer_build(&mut cargo);
    compiler.configure(&mut cargo);
    std.configure(&mut cargo, &directory)?;
    cargo
        .env("CARGO_TARGET_DIR", &directory)
        .env("CARGO_BUILD_TARGET", TARGET)
        .current_dir(&surroundings.workspace);
    leave_script(
        &cargo,
        std.options(),
        &surroundings.target.join("guest-cargo"),
    )?;

    let output = cargo
        .arg("rustc")
        .args(std.options())
        .args(["--quiet", "--package", package, "--lib"])
        // Alone: beside a Rust library cargo does not optimise across crates, and what nobody calls
        // stays in, the library's file system among it.
        .args(["--crate-type", "cdylib"])
        .args(["--profile", PROFILE])
        .stdin(Stdio::null())
        // A build script's standard output is cargo's to read.
        .output()
        .context("cannot start cargo for the guest")?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("{package} does not build for {TARGET}; its messages are under \"stderr\" below");
    }
    Ok(directory
        .join(TARGET)
        .join(PROFILE)
        .join(format!("{}.wasm", package.replace('-', "_"))))
}

/// Leaves a cargo for people that sees the guest as this build does: for clippy, say.
fn leave_script(cargo: &Command, options: &[&str], path: &Path) -> Result<()> {
    let mut line = String::from("verb=$1\nshift\nexec env");
    for (name, value) in cargo.get_envs() {
        // What is taken away is only there within cargo.
        if let Some(value) = value {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            write!(line, " '{name}={value}'")?;
        }
    }
    let options = options.join(" ");
    // What cargo is told after a `--` is not for cargo.
    writeln!(line, " cargo \"$verb\" {options} \"$@\"")?;
    script(path, &line).map(drop)
}

/// Keeps what describes the host's build away from the guest's: the flags of
/// another target, clippy's wrapper, and everything cargo says to a build script.
fn forget_the_outer_build(cargo: &mut Command) {
    const FOREIGN: [&str; 15] = [
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
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
        "SQLITE3_LIB_DIR",
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
