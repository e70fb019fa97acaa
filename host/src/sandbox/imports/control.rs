//! What a call and its host say to each other while it runs (`wit/control.wit`).

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::TrySendError;
use std::time::{Duration, Instant};

use wasmtime::component::{LinkerInstance, WasmList};
use wasmtime::{Result, StoreContextMut, bail};

use super::{attend, yield_now};
use crate::sandbox::bindings::control::{Used, Verdict};
use crate::sandbox::budget::{CallBudget, Stop};
use crate::sandbox::meter;
use crate::sandbox::store::StoreData;

/// The longest wait that one `wait` grants.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

type Store<'a> = StoreContextMut<'a, StoreData>;
type Answer<'a, T> = Box<dyn Future<Output = Result<(T,)>> + Send + 'a>;

/// Defines the interface.
pub fn add_to_linker(to: &mut LinkerInstance<'_, StoreData>) -> Result<()> {
    to.func_wrap_async("check", |store: Store<'_>, (): ()| -> Answer<'_, Verdict> {
        store.data().called();
        let budget = budget(&store);
        Box::new(async move {
            attend(&budget).await;
            Ok((verdict(&budget),))
        })
    })?;
    to.func_wrap_async(
        "wait",
        |store: Store<'_>, (ms,): (u32,)| -> Answer<'_, Verdict> {
            store.data().called();
            let budget = budget(&store);
            Box::new(async move { Ok((wait(&budget, ms).await,)) })
        },
    )?;
    to.func_wrap_async("usage", |store: Store<'_>, (): ()| -> Answer<'_, Used> {
        store.data().called();
        let budget = budget(&store);
        let fuel = store.data().meter.used();
        Box::new(async move {
            attend(&budget).await;
            let used = Used {
                fuel,
                time_us: micros(budget.elapsed()),
                verdict: verdict(&budget),
            };
            Ok((used,))
        })
    })?;
    to.func_wrap_async(
        "notify",
        |mut store: Store<'_>,
         (line,): (String,)|
         -> Box<dyn Future<Output = Result<()>> + Send + '_> {
            let sent = notify(store.data_mut(), line);
            Box::new(async move {
                sent?;
                // The supervisor passes it on before the next one can be made.
                yield_now().await;
                Ok(())
            })
        },
    )?;
    to.func_wrap("save-state", |store: Store<'_>, (state,): (Vec<u8>,)| {
        store.data().in_time()?;
        match &store.data().saved {
            Some(saved) => saved.set(state),
            None => Ok(()),
        }
    })?;
    to.func_wrap(
        "extend-state",
        |store: Store<'_>, (part,): (WasmList<u8>,)| {
            store.data().in_time()?;
            match &store.data().saved {
                Some(saved) => saved.extend(part.as_le_slice(&store)),
                None => Ok(()),
            }
        },
    )?;
    to.func_wrap("running", |store: Store<'_>, (): ()| {
        store.data().in_time()?;
        let client = store.data().client.as_ref();
        Ok((client.and_then(|client| client.lines.running()),))
    })?;
    to.func_wrap("queued", |store: Store<'_>, (index,): (u32,)| {
        store.data().in_time()?;
        let client = store.data().client.as_ref();
        Ok((client.and_then(|client| client.lines.queued(index as usize)),))
    })?;
    to.func_wrap_async(
        "meter",
        |mut store: Store<'_>, (left,): (i64,)| -> Answer<'_, i64> {
            store.data().called();
            let slice = store.data_mut().meter.settle(left);
            // Tells the call to end, if it is time for that.
            budget(&store);
            Box::new(async move {
                if meter::is_empty(left) {
                    yield_now().await;
                }
                Ok((slice?,))
            })
        },
    )?;
    to.func_wrap("offset-at", |store: Store<'_>, (seconds,): (i64,)| {
        store.data().in_time()?;
        Ok((offset_at(seconds),))
    })
}

/// The budget of the running call, which is told to end if it runs low on fuel.
fn budget(store: &Store<'_>) -> Arc<CallBudget> {
    let budget = store.data().budget.clone();
    budget.check_fuel(store.data().meter.left());
    budget
}

fn verdict(budget: &CallBudget) -> Verdict {
    match budget.stopped() {
        None => Verdict::Proceed(micros(budget.elapsed())),
        Some(Stop::Cancelled) => Verdict::Cancelled,
        Some(Stop::Because(_, reason) | Stop::Closing(reason)) => Verdict::Stop(reason),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

async fn wait(budget: &CallBudget, ms: u32) -> Verdict {
    let until = Instant::now() + Duration::from_millis(ms.into()).min(LONGEST_WAIT);
    attend(budget).await;
    while budget.stopped().is_none() && Instant::now() < until {
        budget.sleep_until(Some(until));
        yield_now().await;
        budget.sleep_until(None);
    }
    verdict(budget)
}

/// Hands a line to whoever sends it, or shows it to a person.
fn notify(data: &mut StoreData, line: String) -> Result<()> {
    data.in_time()?;
    if line.len() as u64 >= data.budget.budgets().reply || line.contains('\n') {
        bail!("the guest sent a line that is too long or not one line");
    }
    if let Some(console) = &mut data.console {
        console.show(&line);
        return Ok(());
    }
    let client = data.client.as_ref();
    let Some(notifications) = client.and_then(|client| client.notifications.as_ref()) else {
        return Ok(());
    };
    match notifications.try_send(line) {
        Err(TrySendError::Full(_)) => {
            bail!("the guest sends faster than its lines can be passed on")
        }
        Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
    }
}

/// The offset of local time from UTC at a time since 1970, in seconds; 0 where there is none.
#[expect(unsafe_code, reason = "the C library knows the owner's time zone")]
fn offset_at(seconds: i64) -> i32 {
    // SAFETY: all-zero bytes are a valid `tm`, and both pointers are to values that outlive the call.
    let (known, time) = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        let known = !libc::localtime_r(&raw const seconds, &raw mut time).is_null();
        (known, time)
    };
    match known {
        true => i32::try_from(time.tm_gmtoff).unwrap_or(0),
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_of_local_time_is_less_than_a_day_at_any_time() {
        for seconds in [0, 1_800_000_000, -5_000_000_000, i64::MAX, i64::MIN] {
            let offset = offset_at(seconds);
            assert!(offset.abs() < 86_400, "{offset} at {seconds}");
        }
    }
}
