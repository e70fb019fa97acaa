//! The nested cargo that builds the guest, or another component of the workspace.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::compiler::{Compiler, script};
use crate::environment::Environment;

/// The target the guest is built for.
const TARGET: &str = "wasm32-wasip2";

/// Its profile, in the workspace's `Cargo.toml`.
const PROFILE: &str = "guest";

/// The guest's own stack, in its linear memory, in bytes: for SQLite's recursions at its limits of
/// depth. The linker would give it 1 MiB.
const STACK: u32 = 2 << 20;

/// Builds the library of `package` and answers where the component is.
///
/// # Errors
///
/// If there is no C compiler for WebAssembly, or the package does not build; the nested cargo's
/// messages are on standard error.
pub fn build(environment: &Environment, package: &str) -> Result<PathBuf> {
    let directory = environment.target.join("guest");
    // Not the outer target directory: its lock is held by the cargo that runs us. And not in OUT_DIR:
    // it has several names, and cargo would compile SQLite again for a compiler of another name.
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let compiler =
        Compiler::find(environment, &directory)?.with_files(&environment.workspace, &directory)?;

    let mut cargo = Command::new(env::var_os("CARGO").context("cargo did not set CARGO")?);
    remove_outer_variables(&mut cargo);
    compiler.configure(&mut cargo);
    cargo
        .env("CARGO_TARGET_DIR", &directory)
        .env("CARGO_BUILD_TARGET", TARGET)
        .current_dir(&environment.workspace);
    write_wrapper(&cargo, &environment.target.join("guest-cargo"))?;

    let output = cargo
        .args(["rustc", "--quiet", "--package", package, "--lib"])
        // Alone: beside a Rust library cargo does not optimise across crates, and what nobody calls
        // stays in, the library's file system among it.
        .args(["--crate-type", "cdylib"])
        .args(["--profile", PROFILE])
        .args(["--", "-C", &format!("link-arg=-zstack-size={STACK}")])
        .stdin(Stdio::null())
        // A build script's standard output is cargo's to read.
        .output()
        .context("cannot start cargo for the guest")?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        bail!("{package} does not build for {TARGET}; see the messages under \"stderr\" below");
    }
    Ok(directory
        .join(TARGET)
        .join(PROFILE)
        .join(format!("{}.wasm", package.replace('-', "_"))))
}

/// Writes a script that runs cargo with the variables of this build: clippy for the guest, say.
fn write_wrapper(cargo: &Command, path: &Path) -> Result<()> {
    let mut line = String::from("exec env");
    for (name, value) in cargo.get_envs() {
        // Those without a value are removed, which are there within cargo alone.
        if let Some(value) = value {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            write!(line, " '{name}={value}'")?;
        }
    }
    line.push_str(" cargo \"$@\"\n");
    script(path, &line).map(drop)
}

/// Removes what describes the outer build: the flags of another target, clippy's wrapper, and
/// every variable that cargo sets for a build script.
fn remove_outer_variables(cargo: &mut Command) {
    const NAMES: [&str; 15] = [
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
    const PREFIXES: [&str; 5] = [
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "DEP_",
    ];
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if NAMES.contains(&text) || PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
}
