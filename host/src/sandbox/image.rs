//! The precompiled component, run where it lies in the program.
//!
//! The system loads its pages as they are touched, and all processes share them. Elsewhere than on
//! Linux, or where the system forbids it, the code is copied.

use std::ptr::NonNull;
use std::sync::Arc;

use wasmtime::component::Component;
use wasmtime::error::Context as _;
use wasmtime::{Config, CustomCodeMemory, Engine, Result, bail};

/// Bytes that begin a page.
#[repr(C, align(65536))]
struct Aligned<T: ?Sized>(T);

/// What the build script has made.
static COMPONENT: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/guest.cwasm")));

/// The embedded component, and the engine that it was compiled for.
pub fn embedded(config: impl Fn() -> Config) -> Result<(Engine, Component)> {
    if cfg!(target_os = "linux")
        && let Ok(loaded) = in_place(config(), &COMPONENT.0)
    {
        return Ok(loaded);
    }
    copied(&config(), &COMPONENT.0)
}

/// Loads a component that is part of this program, without a copy.
#[expect(unsafe_code, reason = "precompiled code cannot be checked at load")]
fn in_place(mut config: Config, bytes: &'static [u8]) -> Result<(Engine, Component)> {
    config.with_custom_code_memory(Some(Arc::new(InPlace)));
    let engine = Engine::new(&config)?;
    // SAFETY: the bytes are those of the build script, embedded unchanged, in memory that is never
    // written to and never goes away.
    let component = unsafe { Component::deserialize_raw(&engine, NonNull::from(bytes)) }?;
    Ok((engine, component))
}

/// Loads a component that is part of this program.
pub fn copied(config: &Config, bytes: &'static [u8]) -> Result<(Engine, Component)> {
    let engine = Engine::new(config)?;
    // SAFETY: the bytes are a build script's output, embedded unchanged: in what people run
    // `COMPONENT`, besides in unit tests those of a crate that is there for nothing else.
    #[expect(unsafe_code, reason = "precompiled code cannot be checked at load")]
    let component = unsafe { Component::deserialize(&engine, bytes) }
        .context("the embedded component does not fit this processor or build")?;
    Ok((engine, component))
}

/// Makes pages of the program's read-only data executable. They are never writable.
struct InPlace;

impl CustomCodeMemory for InPlace {
    fn required_alignment(&self) -> usize {
        4096
    }

    #[expect(unsafe_code, reason = "the system's call")]
    fn publish_executable(&self, start: *const u8, length: usize) -> Result<()> {
        // SAFETY: these are whole pages of `COMPONENT`, by the contract of the trait, which stay
        // readable as they were.
        let refused = unsafe {
            libc::mprotect(
                start.cast_mut().cast(),
                length,
                libc::PROT_READ | libc::PROT_EXEC,
            )
        };
        if refused != 0 {
            bail!("{}", std::io::Error::last_os_error());
        }
        Ok(())
    }

    fn unpublish_executable(&self, _: *const u8, _: usize) -> Result<()> {
        Ok(())
    }
}
