//! Builds the hostile component as the real one is built, and another one by hand.

#[path = "../../guest/component/build/compiler.rs"]
mod compiler;
#[path = "../../host/src/sandbox/config.rs"]
mod config;
#[path = "../../guest/component/build/guest.rs"]
mod guest;
#[path = "../../host/build/precompile.rs"]
mod precompile;
#[path = "../../guest/component/build/surroundings.rs"]
mod surroundings;
#[path = "../../guest/component/build/sysroot.rs"]
mod sysroot;
#[path = "build/tables.rs"]
mod tables;

use std::fs;

use anyhow::Result;

use precompile::precompile;
use surroundings::Surroundings;

fn main() {
    surroundings::finish(build());
}

fn build() -> Result<()> {
    let surroundings = Surroundings::detect()?;
    surroundings.watch(&[
        "tests/hostile",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        "guest/component",
        "host/build",
        "host/src/sandbox/config.rs",
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
