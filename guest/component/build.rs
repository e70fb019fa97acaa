//! Builds the guest as a WebAssembly component.

#[path = "build/compiler.rs"]
mod compiler;
#[path = "build/environment.rs"]
mod environment;
#[path = "build/guest.rs"]
mod guest;
#[path = "build/meter/mod.rs"]
mod meter;

use std::fs;

use anyhow::{Context, Result};

use environment::Environment;

fn main() {
    environment::finish(build());
}

fn build() -> Result<()> {
    let environment = Environment::detect()?;
    environment.watch(&[
        "guest",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        ".cargo/config.toml",
    ]);
    let built = guest::build(&environment, "sqlarium-guest")?;
    let component = meter::meter(&fs::read(&built).context("cannot read the guest")?)?;
    // The second is for other runtimes and for the tests, where they find it without asking cargo.
    for path in [
        environment.out.join("guest.wasm"),
        environment.target.join("sqlarium.wasm"),
    ] {
        fs::write(&path, &component)
            .with_context(|| format!("cannot write the guest to {}", path.display()))?;
    }
    Ok(())
}
