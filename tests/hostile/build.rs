//! Builds the hostile component as the real one is built, and another one by hand.

#[path = "../../guest/component/build/compiler.rs"]
mod compiler;
#[path = "../../host/src/sandbox/config.rs"]
mod config;
#[path = "../../guest/component/build/environment.rs"]
mod environment;
#[path = "../../guest/component/build/guest.rs"]
mod guest;
#[path = "../../guest/component/build/meter/mod.rs"]
mod meter;
#[path = "../../host/build/metered.rs"]
mod metered;
#[path = "../../host/build/precompile.rs"]
mod precompile;
#[path = "build/tables.rs"]
mod tables;

use std::fs;

use anyhow::Result;

use environment::Environment;
use precompile::precompile;

fn main() {
    environment::finish(build());
}

fn build() -> Result<()> {
    let environment = Environment::detect()?;
    environment.watch(&[
        "tests/hostile",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        "guest/component",
        "host/build",
        "host/src/sandbox/config.rs",
    ]);
    let component = guest::build(&environment, "sqlarium-hostile-guest")?;
    let hostile = meter::meter(&fs::read(component)?)?;
    metered::check(&hostile)?;
    for (name, bytes) in [("hostile", hostile), ("tables", tables::component())] {
        let path = environment.out.join(format!("{name}.cwasm"));
        fs::write(path, precompile(&bytes)?)?;
    }
    Ok(())
}
