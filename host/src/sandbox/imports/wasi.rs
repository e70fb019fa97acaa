//! The sliver of WASI 0.2 that the guest gets: clocks, randomness, an empty
//! environment, and a standard error that ends up in the host's log. Not the
//! wasmtime-wasi crate: what is not linked cannot be reached.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{
    Component, ComponentType, Lift, Linker, LinkerInstance, Lower, Resource, ResourceType, WasmList,
};
use wasmtime::{Result, StoreContextMut, bail};

use crate::log::log;
use crate::sandbox::store::StoreData;

/// Random bytes that one call may ask for.
const MAX_RANDOM: u64 = 64 << 10;

/// What the guest may write to standard error in its lifetime, in bytes; the rest is dropped.
const MAX_STDERR: usize = 64 << 10;

/// What a write to standard error may carry at once, in bytes.
const STDERR_CHUNK: u64 = 4096;

/// `wasi:clocks/wall-clock.datetime`
#[derive(ComponentType, Lift, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

/// `wasi:io/streams.stream-error`
#[derive(ComponentType, Lift, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    LastOperationFailed(Resource<IoError>),
    #[component(name = "closed")]
    Closed,
}

/// `wasi:io/error.error`, of which there are none.
struct IoError;
/// `wasi:io/streams.output-stream`: standard error, the only one.
struct Stderr;

/// `wasi:io/poll.pollable`: standard error is always ready.
struct Ready;

/// Defines those of the component's WASI imports that do something.
pub fn add_to_linker(linker: &mut Linker<StoreData>, component: &Component) -> Result<()> {
    let engine = linker.engine().clone();
    for (name, item) in component.component_type().imports(&engine) {
        let ComponentItem::ComponentInstance(instance) = item.ty else {
            continue;
        };
        let Some((interface, _version)) = name.split_once('@') else {
            continue;
        };
        if !interface.starts_with("wasi:") {
            continue;
        }
        let mut to = linker.instance(name)?;
        // Types first: every interface that uses one names it again, and all have to agree.
        for (name, item) in instance.exports(&engine) {
            if matches!(item.ty, ComponentItem::Resource(_)) {
                match name {
                    "error" => to.resource(name, ResourceType::host::<IoError>(), |_, _| Ok(()))?,
                    "output-stream" => owned::<Stderr>(&mut to, name)?,
                    "pollable" => owned::<Ready>(&mut to, name)?,
                    _ => {}
                }
            }
        }
        match interface {
            "wasi:clocks/monotonic-clock" => monotonic_clock(to)?,
            "wasi:clocks/wall-clock" => wall_clock(to)?,
            "wasi:random/random" => random(to)?,
            "wasi:random/insecure-seed" => insecure_seed(to)?,
            "wasi:cli/environment" => environment(to)?,
            "wasi:cli/stderr" => stderr(to)?,
            "wasi:io/poll" => poll(to)?,
            "wasi:io/streams" => streams(to)?,
            _ => {}
        }
    }
    Ok(())
}

fn monotonic_clock(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    let start = Instant::now();
    to.func_wrap(
        "now",
        move |store: StoreContextMut<'_, StoreData>, (): ()| {
            store.data().in_time()?;
            Ok((u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX),))
        },
    )?;
    to.func_wrap("resolution", |_: StoreContextMut<'_, StoreData>, (): ()| {
        Ok((1u64,))
    })
}

fn wall_clock(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    to.func_wrap("now", |store: StoreContextMut<'_, StoreData>, (): ()| {
        store.data().in_time()?;
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok((Datetime {
            seconds: now.as_secs(),
            nanoseconds: now.subsec_nanos(),
        },))
    })?;
    to.func_wrap("resolution", |_: StoreContextMut<'_, StoreData>, (): ()| {
        Ok((Datetime {
            seconds: 0,
            nanoseconds: 1,
        },))
    })
}

fn random(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    to.func_wrap(
        "get-random-bytes",
        |store: StoreContextMut<'_, StoreData>, (length,): (u64,)| {
            store.data().in_time()?;
            if length > MAX_RANDOM {
                bail!("the guest wants {length} random bytes at once");
            }
            let mut bytes = vec![0; usize::try_from(length)?];
            getrandom::fill(&mut bytes)?;
            Ok((bytes,))
        },
    )?;
    to.func_wrap(
        "get-random-u64",
        |store: StoreContextMut<'_, StoreData>, (): ()| {
            store.data().in_time()?;
            Ok((getrandom::u64()?,))
        },
    )
}

/// What hash tables of the guest start from: always the same, so that they probe alike and the same call
/// uses the same fuel. Whoever chooses keys that collide pays for it from the call's budget.
fn insecure_seed(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    const SEED: (u64, u64) = (0x7371_6c61_7269_756d, 0x6f6e_6520_7365_6564);
    to.func_wrap(
        "insecure-seed",
        |store: StoreContextMut<'_, StoreData>, (): ()| {
            store.data().in_time()?;
            Ok((SEED,))
        },
    )
}

fn environment(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    to.func_wrap(
        "get-environment",
        |store: StoreContextMut<'_, StoreData>, (): ()| {
            store.data().in_time()?;
            Ok((Vec::<(String, String)>::new(),))
        },
    )?;
    to.func_wrap(
        "get-arguments",
        |_: StoreContextMut<'_, StoreData>, (): ()| Ok((Vec::<String>::new(),)),
    )?;
    to.func_wrap(
        "initial-cwd",
        |_: StoreContextMut<'_, StoreData>, (): ()| Ok((None::<String>,)),
    )
}

/// A resource whose handles the host keeps.
fn owned<T: 'static>(to: &mut LinkerInstance<'_, StoreData>, name: &str) -> Result<()> {
    to.resource(name, ResourceType::host::<T>(), |mut store, rep| {
        store.data_mut().table.delete(Resource::<T>::new_own(rep))?;
        Ok(())
    })
}

fn poll(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    to.func_wrap(
        "[method]pollable.ready",
        |store: StoreContextMut<'_, StoreData>, (_,): (Resource<Ready>,)| {
            store.data().in_time()?;
            Ok((true,))
        },
    )?;
    to.func_wrap(
        "[method]pollable.block",
        |store: StoreContextMut<'_, StoreData>, (_,): (Resource<Ready>,)| store.data().in_time(),
    )
}

fn stderr(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    to.func_wrap(
        "get-stderr",
        |mut store: StoreContextMut<'_, StoreData>, (): ()| {
            Ok((store.data_mut().table.push(Stderr)?,))
        },
    )
}

fn streams(mut to: LinkerInstance<'_, StoreData>) -> Result<()> {
    to.func_wrap(
        "[method]output-stream.check-write",
        |_: StoreContextMut<'_, StoreData>, (_,): (Resource<Stderr>,)| {
            Ok((Ok::<_, StreamError>(STDERR_CHUNK),))
        },
    )?;
    for name in [
        "[method]output-stream.write",
        "[method]output-stream.blocking-write-and-flush",
    ] {
        to.func_wrap(
            name,
            |mut store: StoreContextMut<'_, StoreData>,
             (_, text): (Resource<Stderr>, WasmList<u8>)| {
                store.data().in_time()?;
                let text = text.as_le_slice(&store);
                let room = MAX_STDERR.saturating_sub(store.data().stderr_bytes);
                if room == 0 {
                    return Ok((Err(StreamError::Closed),));
                }
                let text = &text[..text.len().min(room).min(STDERR_CHUNK as usize)];
                // Escaped, so that it cannot pass for one of the host's own lines.
                log(format_args!("sandbox: {}", text.escape_ascii()));
                let length = text.len();
                store.data_mut().stderr_bytes += length;
                Ok((Ok(()),))
            },
        )?;
    }
    to.func_wrap(
        "[method]output-stream.subscribe",
        |mut store: StoreContextMut<'_, StoreData>, (_,): (Resource<Stderr>,)| {
            store.data().in_time()?;
            Ok((store.data_mut().table.push(Ready)?,))
        },
    )?;
    for name in [
        "[method]output-stream.flush",
        "[method]output-stream.blocking-flush",
    ] {
        to.func_wrap(
            name,
            |_: StoreContextMut<'_, StoreData>, (_,): (Resource<Stderr>,)| {
                Ok((Ok::<(), StreamError>(()),))
            },
        )?;
    }
    Ok(())
}
