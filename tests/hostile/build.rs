//! Builds the hostile component as the host builds the guest, and another one by hand.

#[path = "../../host/build/compiler.rs"]
mod compiler;
#[path = "../../host/src/sandbox/config.rs"]
mod config;
#[path = "../../host/build/guest.rs"]
mod guest;
#[path = "../../host/build/surroundings.rs"]
mod surroundings;
#[path = "../../host/build/sysroot.rs"]
mod sysroot;
#[path = "build/tables.rs"]
mod tables;

use std::{fs, process};

use anyhow::Result;

use surroundings::{Surroundings, precompile};

fn main() {
    if let Err(error) = build() {
        println!("cargo::error={}", format!("{error:#}").replace('\n', " "));
        process::exit(1);
    }
}

fn build() -> Result<()> {
    let surroundings = Surroundings::detect()?;
    surroundings.watch(&[
        "tests/hostile",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        "host/build",
    ]);
    let component = guest::build(&surroundings, "sqlarium-hostile-guest")?;
    for (name, bytes) in [
        ("hostile", fs::read(component)?),
        ("tables", tables::component()),
    ] {
        let path = surroundings.out.join(format!("{name}.cwasm"));
        fs::write(path, precompile(&bytes)?)?;
    }
    Ok(())
}
