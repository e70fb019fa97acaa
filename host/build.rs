//! Compiles the component ahead of time, for the host to embed.

#[path = "src/sandbox/config.rs"]
mod config;
#[path = "build/metered.rs"]
mod metered;
#[path = "build/precompile.rs"]
mod precompile;

use std::path::Path;
use std::{env, fs};

use anyhow::{Context, Result};

use precompile::precompile;
use sha2::{Digest as _, Sha256};

fn main() -> Result<()> {
    for input in [
        "build.rs",
        "build",
        "src/sandbox/config.rs",
        sqlarium_component::PATH,
    ] {
        println!("cargo::rerun-if-changed={input}");
    }
    let component = fs::read(sqlarium_component::PATH).context("cannot read the component")?;
    metered::check(&component)?;
    let digest = Sha256::digest(&component);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=SQLARIUM_COMPONENT_SHA256={digits}");
    let out = env::var_os("OUT_DIR").context("cargo did not set OUT_DIR")?;
    fs::write(Path::new(&out).join("guest.cwasm"), precompile(&component)?)
        .context("cannot write what was compiled")
}
