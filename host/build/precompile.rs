//! Compiles components ahead of time.

use std::env;

use anyhow::{Context, Result};

use crate::config;

/// Compiles a component for any processor of the host's target, not only for this one.
pub fn precompile(component: &[u8]) -> Result<Vec<u8>> {
    let mut config = config::config();
    config.target(&env::var("TARGET").context("cargo did not set TARGET")?)?;
    let engine = wasmtime::Engine::new(&config)?;
    engine
        .precompile_component(component)
        .map_err(anyhow::Error::from)
        .context("wasmtime does not take the component")
}
