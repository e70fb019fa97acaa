//! What the guest may ask for: files by name, and the mailbox.
//!
//! Every argument is hostile. A refusal that SQLite can act on is an error
//! code; what only a broken or hostile guest does is a trap, which ends the call.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use wasmtime::component::{Linker, Resource, WasmList};
use wasmtime::{Result, StoreContextMut, bail, format_err};

use super::State;
use super::bindings::mailbox::{self, Verdict};
use super::bindings::storage::{
    self, Device, ErrorCode, LockLevel, OpenOptions, Role, ShmAction, SyncMode,
};
use super::control::{Control, KEPT_BYTES, Stop, Time};
use super::convert::StorageError;
use crate::storage::{File, ShmRegion, Storage};

/// Lines that may wait to be passed on to the client.
const MAX_UNSENT: usize = 64;

/// The longest wait that one `poll` grants.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// How long a guest that looks around may go on before its supervisor does too. Fuel sees
/// to that while the guest computes, but not while the host works for it.
const UNATTENDED: Duration = Duration::from_millis(5);

impl State {
    /// The files; an instance without any is refused all of them.
    fn storage(&mut self) -> Result<&mut Storage, StorageError> {
        self.in_time()?;
        self.storage
            .as_mut()
            .ok_or(StorageError::Code(ErrorCode::Denied))
    }

    fn file(&mut self, file: &Resource<File>) -> Result<&mut File> {
        self.in_time()?;
        Ok(self.table.get_mut(file)?)
    }

    /// Ends a call that keeps the host at work beyond its time: what the host does takes
    /// no fuel, so that the supervisor would not see it for long.
    pub(super) fn in_time(&self) -> Result<()> {
        match self.control.time() {
            Time::Left => Ok(()),
            Time::Up => {
                self.control.stop(Stop::Because(self.budgets.out_of_time()));
                Ok(())
            }
            Time::Over => bail!("the guest was told to stop but continues to call its imports"),
        }
    }
}

impl State {
    /// Takes the guest's last words. The first of a call start its meter: answers what
    /// the fuel is to be, given what is left.
    fn bequeath(&self, parts: Vec<String>, left: u64) -> Result<Option<u64>> {
        if parts.iter().map(String::len).sum::<usize>() as u64 >= self.budgets.reply {
            bail!("the guest's last words are longer than a reply may be");
        }
        self.in_time()?;
        let silent = parts.is_empty();
        self.control.set_last_words(parts);
        Ok(if silent {
            None
        } else {
            self.control.start_meter(left, self.budgets.fuel)
        })
    }
}

impl storage::Host for State {
    fn open(
        &mut self,
        name: String,
        role: Role,
        options: OpenOptions,
    ) -> Result<Resource<File>, StorageError> {
        let file = self.storage()?.open(&name, role.into(), options.into())?;
        Ok(self.table.push(file)?)
    }

    fn delete(&mut self, name: String, durable: bool) -> Result<(), StorageError> {
        Ok(self.storage()?.delete(&name, durable)?)
    }

    fn exists(&mut self, name: String, writable: bool) -> Result<bool, StorageError> {
        Ok(self.storage()?.exists(&name, writable)?)
    }

    fn convert_error_code(&mut self, error: StorageError) -> Result<ErrorCode> {
        match error {
            StorageError::Code(code) => Ok(code),
            StorageError::Trap(error) => Err(error),
        }
    }
}

impl storage::HostFile for State {
    fn read(
        &mut self,
        file: Resource<File>,
        offset: u64,
        length: u32,
    ) -> Result<Vec<u8>, StorageError> {
        Ok(self.file(&file)?.read(offset, length)?)
    }

    fn write(
        &mut self,
        file: Resource<File>,
        offset: u64,
        data: Vec<u8>,
    ) -> Result<(), StorageError> {
        Ok(self.file(&file)?.write(offset, &data)?)
    }

    fn truncate(&mut self, file: Resource<File>, size: u64) -> Result<(), StorageError> {
        Ok(self.file(&file)?.truncate(size)?)
    }

    async fn sync(&mut self, file: Resource<File>, mode: SyncMode) -> Result<(), StorageError> {
        let done = self.file(&file)?.sync(mode.into());
        // Disks take their time.
        give_way().await;
        Ok(done?)
    }

    fn size(&mut self, file: Resource<File>) -> Result<u64, StorageError> {
        Ok(self.file(&file)?.size()?)
    }

    fn lock(&mut self, file: Resource<File>, level: LockLevel) -> Result<(), StorageError> {
        Ok(self.file(&file)?.lock(level.into())?)
    }

    fn unlock(&mut self, file: Resource<File>, level: LockLevel) -> Result<(), StorageError> {
        Ok(self.file(&file)?.unlock(level.into())?)
    }

    fn check_reserved(&mut self, file: Resource<File>) -> Result<bool, StorageError> {
        Ok(self.file(&file)?.check_reserved()?)
    }

    fn device(&mut self, file: Resource<File>) -> Result<Device> {
        Ok(self.file(&file)?.device().into())
    }

    fn is_read_only(&mut self, file: Resource<File>) -> Result<bool> {
        Ok(self.file(&file)?.is_read_only())
    }

    fn publish(&mut self, file: Resource<File>, replace: bool) -> Result<(), StorageError> {
        Ok(self.file(&file)?.publish(replace)?)
    }

    fn shm_map(
        &mut self,
        _file: Resource<File>,
        _region: u32,
        _window: Vec<u8>,
        _extend: bool,
    ) -> Result<bool, StorageError> {
        Err(format_err!("shm-map takes its buffer by address; see add_to_linker").into())
    }

    fn shm_lock(
        &mut self,
        file: Resource<File>,
        slot: u32,
        count: u32,
        action: ShmAction,
    ) -> Result<(), StorageError> {
        Ok(self.file(&file)?.shm_lock(slot, count, action.into())?)
    }

    fn shm_barrier(&mut self, file: Resource<File>) -> Result<()> {
        self.file(&file)?.shm_barrier();
        Ok(())
    }

    fn shm_unmap(&mut self, file: Resource<File>, delete: bool) -> Result<(), StorageError> {
        let file = self.file(&file)?;
        let done = file.shm_unmap(delete);
        check_unmapped(file)?;
        Ok(done?)
    }

    fn drop(&mut self, file: Resource<File>) -> Result<()> {
        let mut file = self.table.delete(file)?;
        // The guest's memory is still there, and must not keep a region that nothing guards.
        let _ = file.shm_unmap(false);
        check_unmapped(&file)
    }
}

/// Ends a guest that has kept shared memory in its own, or has a hole there.
fn check_unmapped(file: &File) -> Result<()> {
    if file.shm_unmap_failed() {
        bail!("a region of shared memory cannot be made ordinary memory again");
    }
    Ok(())
}

/// Replaces the imports that need more than the state: the store's fuel, or
/// guest memory by address rather than a copy of it.
pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.allow_shadowing(true);
    let mut storage = linker.instance("sqlarium:sandbox/storage@0.1.0")?;
    #[expect(unsafe_code, reason = "the buffer is an address")]
    storage.func_wrap(
        "[method]file.shm-map",
        |mut store: StoreContextMut<'_, State>,
         (file, region, buffer, extend): (Resource<File>, u32, WasmList<u8>, bool)| {
            let buffer = buffer.as_le_slice(&store);
            // SAFETY: the buffer lies in the linear memory of the guest that makes this call
            // and so does not run; memories are never moved (4 GiB are reserved), and the
            // handle's `shm_` methods are only called by the same guest.
            let over = unsafe { ShmRegion::new(buffer.as_ptr().cast_mut(), buffer.len()) };
            let file = store.data_mut().file(&file)?;
            let mapped = over.and_then(|over| file.shm_map(region, over, extend));
            check_unmapped(file)?;
            Ok((mapped.map_err(ErrorCode::from),))
        },
    )?;
    let mut mailbox = linker.instance("sqlarium:sandbox/mailbox@0.1.0")?;
    mailbox.func_wrap("fuel", |store: StoreContextMut<'_, State>, (): ()| {
        store.data().in_time()?;
        let left = store.get_fuel()?;
        Ok((store.data().control.fuel_used(left),))
    })?;
    mailbox.func_wrap(
        "bequeath",
        |mut store: StoreContextMut<'_, State>, (parts,): (Vec<String>,)| {
            let left = store.get_fuel()?;
            if let Some(fuel) = store.data().bequeath(parts, left)? {
                store.set_fuel(fuel)?;
            }
            Ok(())
        },
    )?;
    mailbox.func_wrap_async(
        "poll",
        |store: StoreContextMut<'_, State>, (wait_ms,): (u32,)| {
            {
                // The future must not hold the store, so what it needs is looked up first.
                let State {
                    control, budgets, ..
                } = store.data();
                // What is left has to do for ending in good order.
                let left = store.get_fuel();
                if left.is_ok_and(|left| left < budgets.fuel_reserve()) {
                    control.stop(Stop::Because(budgets.out_of_fuel()));
                }
                let control = control.clone();
                Box::new(async move { Ok((poll(&control, wait_ms).await,)) })
            }
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

async fn poll(control: &Control, wait_ms: u32) -> Verdict {
    attend(control).await;
    let wait = Duration::from_millis(wait_ms.into()).min(LONGEST_WAIT);
    let until = (!wait.is_zero()).then(|| Instant::now() + wait);
    loop {
        match control.stopped() {
            Some(Stop::Cancelled) => return Verdict::Cancelled,
            Some(Stop::Because(reason) | Stop::Closing(reason)) => return Verdict::Stop(reason),
            None => {}
        }
        match until {
            Some(until) if Instant::now() < until => {
                control.wait_until(Some(until));
                give_way().await;
                control.wait_until(None);
            }
            _ => return Verdict::Proceed,
        }
    }
}

impl mailbox::Host for State {
    async fn poll(&mut self, _wait_ms: u32) -> Result<Verdict> {
        bail!("poll needs the store; see add_to_linker")
    }

    async fn send(&mut self, line: String) -> Result<()> {
        if line.len() as u64 >= self.budgets.reply || line.contains('\n') {
            bail!("the guest sent a line that is too long or not one line");
        }
        if self.control.send(line) > MAX_UNSENT {
            bail!("the guest sends faster than its lines can be passed on");
        }
        // The supervisor passes it on before the next one can be made.
        give_way().await;
        Ok(())
    }

    fn bequeath(&mut self, _parts: Vec<String>) -> Result<()> {
        bail!("bequeath needs the store; see add_to_linker")
    }

    fn keep(&mut self, state: String) -> Result<()> {
        if state.len() > KEPT_BYTES {
            bail!("the guest wants to keep more than {KEPT_BYTES} bytes");
        }
        self.in_time()?;
        self.control.keep(state);
        Ok(())
    }

    fn waiting(&mut self, index: u32) -> Result<Option<Vec<u8>>> {
        self.in_time()?;
        Ok(self.queue.waiting(index as usize))
    }

    fn fuel(&mut self) -> Result<u64> {
        bail!("fuel needs the store; see add_to_linker")
    }
}

/// Lets the supervisor look in, if it has not for a while.
pub(super) async fn attend(control: &Control) {
    if control.unattended(UNATTENDED) {
        give_way().await;
    }
}

/// Lets the supervisor look in once.
async fn give_way() {
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
