//! Metering: puts a counter into the component itself, so that every host can end what does not
//! end by itself, and work has the same measure everywhere.
//!
//! A unit is a turn of a loop, or the call of a function that may be part of a recursion; copying
//! memory takes a unit for each 64 bytes. The counter is a global of the module, which no load or
//! store reaches. It goes down at each of these, and where it is used up it asks the host for the
//! next slice (`control.meter` in `wit/`), which is where a host lets others run, or refuses.
//!
//! - [`module`]: a module, read and written. [`counter`]: the instructions that are added.
//!   [`calls`]: which functions have to count.
//!
//! The build script of whoever embeds the component checks the result with code of its own
//! (`host/build/metered.rs`).

mod calls;
mod counter;
mod module;

use anyhow::{Context, Result, ensure};
use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent};
use wasm_encoder::{Component, ComponentSectionId, RawSection};
use wasmparser::Parser;

/// The same component, metered.
///
/// # Errors
///
/// If it has no module that imports `control.meter`, or one that does what is not metered.
pub fn meter(component: &[u8]) -> Result<Vec<u8>> {
    let mut pass = Pass { metered: 0 };
    let mut output = Component::new();
    pass.parse_component(&mut output, Parser::new(0), component)
        .map_err(|error| match error {
            Error::UserError(error) => error,
            other => anyhow::Error::msg(other.to_string()),
        })
        .context("the component cannot be metered")?;
    ensure!(
        pass.metered == 1,
        "{} modules of the component import control.meter, and not one",
        pass.metered
    );
    Ok(output.finish())
}

/// Passes everything on as it is but the modules.
struct Pass {
    metered: usize,
}

impl Reencode for Pass {
    type Error = anyhow::Error;
}

impl ReencodeComponent for Pass {
    fn parse_component_submodule(
        &mut self,
        component: &mut Component,
        _: Parser,
        module: &[u8],
    ) -> Result<(), Error<Self::Error>> {
        let metered = module::meter(module).map_err(Error::UserError)?;
        self.metered += usize::from(metered.is_some());
        component.section(&RawSection {
            id: ComponentSectionId::CoreModule.into(),
            data: metered.as_deref().unwrap_or(module),
        });
        Ok(())
    }
}
