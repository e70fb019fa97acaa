//! Builds the guest as a WebAssembly component.

#[path = "build/compiler.rs"]
mod compiler;
#[path = "build/guest.rs"]
mod guest;
#[path = "build/surroundings.rs"]
mod surroundings;
#[path = "build/sysroot.rs"]
mod sysroot;

use std::fs;

use anyhow::{Context, Result};

use surroundings::Surroundings;

fn main() {
    surroundings::finish(build());
}

fn build() -> Result<()> {
    let surroundings = Surroundings::detect()?;
    surroundings.watch(&[
        "guest",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        ".cargo/config.toml",
    ]);
    let built = guest::build(&surroundings, "sqlarium-guest")?;
    // The second is for other runtimes and for the tests, where they find it without asking cargo.
    for copy in [
        surroundings.out.join("guest.wasm"),
        surroundings.target.join("sqlarium.wasm"),
    ] {
        fs::copy(&built, &copy)
            .with_context(|| format!("cannot copy the guest to {}", copy.display()))?;
    }
    Ok(())
}
