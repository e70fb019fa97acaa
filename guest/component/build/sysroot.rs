//! The standard library for the guest: rustup's, or built from source.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::compiler::script;
use crate::guest::TARGET;
use crate::surroundings::Surroundings;

/// Where the standard library comes from.
pub enum Std {
    /// The toolchain has it.
    Installed,
    /// It is compiled along with the guest.
    Source {
        /// The toolchain's sysroot.
        real: PathBuf,
        /// The standard library's workspace.
        library: PathBuf,
        /// The target's `libc.a` and `crt1` objects.
        libc: PathBuf,
    },
}

/// Finds the standard library: the toolchain's own, else the sources that `make setup` unpacked.
///
/// # Errors
///
/// If there is neither, with how to get one.
pub fn find(surroundings: &Surroundings) -> Result<Std> {
    let real = sysroot()?;
    let forced = env::var_os("SQLARIUM_BUILD_STD").is_some_and(|value| value == "1");
    let installed = real.join("lib/rustlib").join(TARGET).join("lib");
    if !forced && has_std(&installed) {
        return Ok(Std::Installed);
    }
    let library = surroundings.toolchain.join("rust/library");
    let libc = surroundings.toolchain.join("wasi-libc");
    if library.join("Cargo.lock").is_file() && libc.join("libc.a").is_file() {
        return Ok(Std::Source {
            real,
            library,
            libc,
        });
    }
    if forced {
        bail!(
            "SQLARIUM_BUILD_STD is 1, but the library sources are not in {}; run make setup",
            surroundings.toolchain.display()
        );
    }
    bail!(
        "sqlarium needs Rust's standard library for {TARGET}: run rustup target add {TARGET}, \
         or make setup, which falls back to Debian's rust-src"
    )
}

impl Std {
    /// What every verb of the nested cargo has to be told.
    pub fn options(&self) -> &'static [&'static str] {
        match self {
            Self::Installed => &[],
            Self::Source { .. } => &["-Z", "build-std=std,panic_abort"],
        }
    }

    /// Prepares the surroundings of the nested cargo, whose target directory this is.
    pub fn configure(&self, cargo: &mut Command, directory: &Path) -> Result<()> {
        if let Self::Source {
            real,
            library,
            libc,
        } = self
        {
            cargo
                .env("RUSTC", linked_rustc(directory, real, library, libc)?)
                // Building std is an unstable option of the stable cargo.
                .env("RUSTC_BOOTSTRAP", "1");
        }
        Ok(())
    }
}

fn has_std(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
    })
}

fn sysroot() -> Result<PathBuf> {
    let output = Command::new(rustc())
        .args(["--print", "sysroot"])
        .output()
        .context("cannot ask rustc for its sysroot")?;
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    ))
}

fn rustc() -> PathBuf {
    env::var_os("RUSTC").map_or_else(|| "rustc".into(), PathBuf::from)
}

/// A `rustc` with a sysroot made of links: the toolchain's own, with the
/// library's sources and the target's C library where cargo and rustc look for
/// them. The toolchain itself stays as it is.
fn linked_rustc(directory: &Path, real: &Path, library: &Path, libc: &Path) -> Result<PathBuf> {
    let sysroot = directory.join("sysroot");
    let rustlib = sysroot.join("lib/rustlib");
    for parent in ["src/rust", "wasm32-wasip2/lib"] {
        let parent = rustlib.join(parent);
        fs::create_dir_all(&parent).with_context(|| format!("cannot make {}", parent.display()))?;
    }
    let host = env::var("HOST").context("cargo did not set HOST")?;
    link(&real.join("lib/rustlib").join(&host), &rustlib.join(&host))?;
    link(library, &rustlib.join("src/rust/library"))?;
    link(libc, &rustlib.join("wasm32-wasip2/lib/self-contained"))?;
    script(
        &directory.join("rustc"),
        &format!(
            "exec '{}' --sysroot '{}' \"$@\"\n",
            rustc().display(),
            sysroot.display()
        ),
    )
}

#[cfg(unix)]
fn link(original: &Path, link: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|there| there == original) {
        return Ok(());
    }
    let _ = fs::remove_file(link);
    std::os::unix::fs::symlink(original, link)
        .with_context(|| format!("cannot link {} to {}", link.display(), original.display()))
}

#[cfg(not(unix))]
fn link(_: &Path, link: &Path) -> Result<()> {
    bail!(
        "building the standard library from source needs symbolic links, which {} cannot be here; \
         run rustup target add {TARGET}",
        link.display()
    )
}
