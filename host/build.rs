//! Builds the guest as a WebAssembly component, compiles it ahead of time and
//! leaves both beside the host, which embeds the result.

#[path = "build/compiler.rs"]
mod compiler;
#[path = "src/sandbox/config.rs"]
mod config;
#[path = "build/guest.rs"]
mod guest;
#[path = "build/surroundings.rs"]
mod surroundings;
#[path = "build/sysroot.rs"]
mod sysroot;

use std::{fs, process};

use anyhow::{Context, Result};

use surroundings::{Surroundings, precompile};

fn main() {
    if let Err(error) = build() {
        // One sentence that says what to do, instead of a panic with a backtrace.
        println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
        process::exit(1);
    }
}

fn build() -> Result<()> {
    let surroundings = Surroundings::detect()?;
    surroundings.watch(&[
        "guest",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        ".cargo/config.toml",
        "host/build.rs",
        "host/build",
        "host/src/sandbox/config.rs",
    ]);

    let component = surroundings.out.join("guest.wasm");
    fs::copy(guest::build(&surroundings, "sqlarium-guest")?, &component)
        .with_context(|| format!("cannot copy the guest to {}", component.display()))?;
    // For other runtimes and for the tests, where they find it without asking cargo.
    fs::copy(&component, surroundings.target.join("sqlarium.wasm"))
        .context("cannot copy the guest to the target directory")?;
    println!(
        "cargo::rustc-env=SQLARIUM_COMPONENT={}",
        component.display()
    );

    let precompiled = surroundings.out.join("guest.cwasm");
    fs::write(&precompiled, precompile(&fs::read(&component)?)?)
        .with_context(|| format!("cannot write {}", precompiled.display()))
}
