//! The budgets of the owner, and the sentences that name them.

use std::time::Duration;

use crate::sandbox::bindings::types::{EngineLimits, OutputLimits};

/// What the owner allows. Sizes in bytes.
#[derive(Clone, Debug)]
pub struct Budgets {
    /// The longest request line.
    pub request: u64,
    /// The longest reply line, its newline included.
    pub reply: u64,
    /// The text of one tool result, in bytes of UTF-8.
    pub text: u32,
    /// One cell of the text form, in characters.
    pub cell: u32,
    /// Rows when the call does not say.
    pub rows: u32,
    /// Rows at most.
    pub max_rows: u32,
    /// The wall-clock time of one call.
    pub timeout: Duration,
    /// The fuel of one call: about one unit for each WebAssembly instruction.
    pub fuel: u64,
    /// All memory of the sandbox.
    pub memory: u64,
    /// Growth of all files together.
    pub disk: u64,
    /// How long a locked database is waited for.
    pub busy: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            request: 1 << 20,
            reply: 8 << 20,
            text: 48 << 10,
            cell: 2_000,
            rows: 200,
            max_rows: 10_000,
            timeout: Duration::from_secs(60),
            // A processor that burns 30 units a nanosecond still meets the clock first.
            fuel: 2_000_000_000_000,
            memory: 256 << 20,
            disk: 1 << 30,
            busy: Duration::from_secs(5),
        }
    }
}

impl Budgets {
    /// What the guest's engine is told of them.
    pub fn engine_limits(&self) -> EngineLimits {
        EngineLimits {
            memory_bytes: self.memory,
            disk_bytes: self.disk,
            busy_ms: u32::try_from(self.busy.as_millis()).unwrap_or(u32::MAX),
            sql_bytes: self.request,
            fuel: self.fuel,
        }
    }

    /// What the guest is told of those for what a reader gets to see.
    pub fn output_limits(&self) -> OutputLimits {
        OutputLimits {
            reply_bytes: self.reply,
            text_bytes: self.text,
            cell_chars: self.cell,
            rows: self.rows,
            max_rows: self.max_rows,
        }
    }

    /// What one host call may carry: a reply or a request, and room for a
    /// page-sized file transfer.
    pub fn hostcall_bytes(&self) -> usize {
        let line = self.request.max(self.reply);
        usize::try_from(line)
            .unwrap_or(usize::MAX)
            .saturating_mul(2)
            .max(32 << 20)
    }

    /// Fuel that is kept back so that a call ends in good order before it runs dry.
    pub fn fuel_reserve(&self) -> u64 {
        (self.fuel / 10).min(500_000_000)
    }

    /// The call took too long.
    pub fn out_of_time(&self) -> String {
        format!(
            "Stopped: the call reached its time budget of {} (--timeout). Ask for less: add a \
             WHERE or a LIMIT, use an index (see explain), or split the work.",
            seconds(self.timeout)
        )
    }

    /// The call did too much.
    pub fn out_of_fuel(&self) -> String {
        format!(
            "Stopped: the call reached its work budget of {} fuel (--fuel). Ask for less: add a \
             WHERE or a LIMIT, use an index (see explain), or split the work.",
            self.fuel
        )
    }

    /// The sandbox wanted more memory than it may have.
    pub fn out_of_memory(&self) -> String {
        format!(
            "Stopped: the call needed more than the memory budget of {} (--memory). Ask for \
             smaller values or fewer rows at a time.",
            size(self.memory)
        )
    }

    /// The sandbox's stack is used up.
    pub fn too_deep(&self) -> String {
        "Stopped: the call nests deeper than the sandbox's stack allows. Use fewer levels of \
         subqueries, views, brackets or wildcards."
            .to_owned()
    }

    /// The sandbox failed for a reason that no budget explains.
    pub fn fault(&self) -> String {
        "Stopped: the sandbox failed during this call and was restarted. Everything that was \
         committed is safe; an open transaction was rolled back. Try the call in smaller steps."
            .to_owned()
    }

    /// The client closed its end.
    pub fn closing(&self) -> String {
        "Stopped: the server is shutting down.".to_owned()
    }
}

/// `60 s`, `1.5 s`, `200 ms`.
fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else if duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{} s", duration.as_secs_f64())
    }
}

/// `256 MiB`, `1 GiB`, `1000 bytes`.
fn size(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift && bytes.trailing_zeros() >= shift {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} bytes")
}
