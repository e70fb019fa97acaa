//! What was done in a client's thread before (`wit/threads.wit`). The guest names a thread; whose
//! threads these are was decided when the host was started.

use wasmtime::{Result, bail};

use crate::sandbox::bindings::threads::Host;
use crate::sandbox::store::StoreData;
use crate::threads::{ENTRY_BYTES, NAME_BYTES};

impl Host for StoreData {
    fn recall(&mut self, thread: String) -> Result<Vec<Vec<u8>>> {
        self.in_time()?;
        check(&thread)?;
        Ok(match &self.threads {
            Some(threads) => threads.recall(&thread, &mut self.known),
            None => Vec::new(),
        })
    }

    fn append(&mut self, thread: String, entry: Vec<u8>) -> Result<bool> {
        self.in_time()?;
        check(&thread)?;
        if entry.len() > ENTRY_BYTES {
            bail!("the guest wants to remember more than {ENTRY_BYTES} bytes at once");
        }
        Ok(match &self.threads {
            Some(threads) => threads.append(&thread, entry, &self.known),
            None => false,
        })
    }
}

fn check(thread: &str) -> Result<()> {
    if thread.is_empty() || thread.len() > NAME_BYTES {
        bail!("the guest names a thread by none or by more than {NAME_BYTES} bytes");
    }
    Ok(())
}
