//! The build environment: directories and variables, as cargo names them to a build script.

use std::path::{Path, PathBuf};
use std::{env, process};

use anyhow::{Context, Result};

/// Ends a build script. A failure is reported as one sentence that says what to do, instead of a
/// panic with a backtrace.
pub fn finish(built: Result<()>) {
    if let Err(error) = built {
        println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
        process::exit(1);
    }
}

/// The directories of this build.
pub struct Environment {
    /// The root of the repository.
    pub workspace: PathBuf,
    /// The build script's own directory, another one for each host.
    pub out: PathBuf,
    /// Cargo's target directory, which outlives a single build.
    pub target: PathBuf,
}

impl Environment {
    /// Reads what cargo sets for a build script.
    ///
    /// # Errors
    ///
    /// If something is not set, or is not as cargo sets it.
    pub fn detect() -> Result<Self> {
        let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
        let workspace = package
            .ancestors()
            .skip(1)
            .find(|directory| directory.join("Cargo.lock").is_file())
            .context("the package has no workspace around it")?;
        let out = PathBuf::from(variable("OUT_DIR")?);
        // <target>/<profile>/build/<package>/out
        let target = out
            .ancestors()
            .nth(4)
            .context("cargo's OUT_DIR is not below a target directory")?;
        Ok(Self {
            workspace: workspace.to_path_buf(),
            target: target.to_path_buf(),
            out,
        })
    }

    /// Lets cargo run the build script again when one of these files or directories of the
    /// workspace changes, or a variable that a component depends on.
    pub fn watch(&self, inputs: &[&str]) {
        for input in inputs {
            rerun_if_changed(&self.workspace.join(input));
        }
        for variable in [
            "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
            "LIBSQLITE3_FLAGS",
            "SQLARIUM_WASI_INCLUDE",
            "WASI_SDK_PATH",
        ] {
            println!("cargo::rerun-if-env-changed={variable}");
        }
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
