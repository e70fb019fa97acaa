//! What the guest may ask for, by interface of `wit/`.
//!
//! Every argument is hostile. A refusal that SQLite can act on is an error
//! code; what only a broken or hostile guest does is a trap, which ends the call.
//!
//! - [`storage`], [`direct_io`], [`shared_memory`]: files by name; [`convert`] between the storage's
//!   types and those of the bindings.
//! - [`control`]: the running call. [`audit`], [`threads`]: what is kept of calls. [`console`]: a person.
//! - [`wasi`]: the sliver of WASI that the guest gets.

mod audit;
pub mod console;
mod control;
pub mod convert;
mod direct_io;
mod shared_memory;
mod storage;
mod threads;
mod wasi;

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use wasmtime::component::{Component, HasSelf, Linker, WasmList};
use wasmtime::{AsContext, Result};

use super::bindings;
use super::budget::CallBudget;
use super::store::StoreData;

/// How long a guest that looks around may go on before its supervisor does too. Fuel sees
/// to that while the guest computes, but not while the host works for it.
const UNPOLLED: Duration = Duration::from_millis(5);

/// Defines everything that `component` may import.
pub fn add_to_linker(linker: &mut Linker<StoreData>, component: &Component) -> Result<()> {
    type Data = HasSelf<StoreData>;
    bindings::storage::add_to_linker::<_, Data>(linker, |data| data)?;
    bindings::audit::add_to_linker::<_, Data>(linker, |data| data)?;
    bindings::threads::add_to_linker::<_, Data>(linker, |data| data)?;
    bindings::console::add_to_linker::<_, Data>(linker, |data| data)?;
    // These need more than the data: the store's fuel, or guest memory by address.
    storage::add_write_to_linker(linker)?;
    control::add_to_linker(&mut linker.instance("sqlarium:sandbox/control@0.2.0")?)?;
    direct_io::add_to_linker(&mut linker.instance("sqlarium:sandbox/direct-io@0.2.0")?)?;
    shared_memory::add_to_linker(&mut linker.instance("sqlarium:sandbox/shared-memory@0.2.0")?)?;
    wasi::add_to_linker(linker, component)?;
    // Whatever else it imports exists, but traps when called.
    linker.define_unknown_imports_as_traps(component)
}

/// Bytes in guest memory, where they lie.
#[derive(Clone, Copy)]
struct GuestBytes {
    at: *mut u8,
    length: usize,
}

#[expect(unsafe_code, reason = "guest memory by address")]
impl GuestBytes {
    /// Those of a list that the guest passes.
    fn of(list: &WasmList<u8>, store: impl AsContext<Data = StoreData>) -> Self {
        let bytes = list.as_le_slice(store.as_context());
        Self {
            at: bytes.as_ptr().cast_mut(),
            length: bytes.len(),
        }
    }

    /// The bytes, for as long as the guest's call takes.
    ///
    /// # Safety
    ///
    /// The guest that passed the list must not run and its store must live for as long as the slice
    /// is used. Its memory stays in place: `memory_may_move` is off.
    unsafe fn as_slice<'a>(self) -> &'a [u8] {
        // SAFETY: wasmtime has checked that the list lies within the guest's memory; the rest is as
        // the caller promises.
        unsafe { std::slice::from_raw_parts(self.at, self.length) }
    }

    /// The same, to be written to.
    ///
    /// # Safety
    ///
    /// As for [`GuestBytes::as_slice`]; and no other slice of guest memory is used meanwhile.
    unsafe fn as_mut_slice<'a>(self) -> &'a mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.length) }
    }
}

/// Lets the supervisor look in, if it has not for a while.
async fn attend(budget: &CallBudget) {
    if budget.unpolled_for(UNPOLLED) {
        yield_now().await;
    }
}

/// Lets the supervisor look in once.
async fn yield_now() {
    let mut waited = false;
    pin!(poll_fn(move |_| {
        if std::mem::replace(&mut waited, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }))
    .await;
}
