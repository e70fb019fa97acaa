//! The budgets: the flag, the default and the unit of each, and the sentences that name them.
//!
//! This is the one table: the flags of every command, the README's table of them (a test
//! compares the two) and the limits that the sandbox gets are made from it.

mod quantity;

use std::time::Duration;

use clap::{Args, Command};
use serde::{Serialize, Serializer};

use quantity::{memory, show_size, show_time, time, time_or_none};

pub use quantity::size;

/// What the owner allows. Sizes in bytes.
#[derive(Args, Clone, Debug, Serialize)]
#[command(next_help_heading = "Budgets")]
pub struct Budgets {
    /// Time limit of one call, such as 60s or 500ms
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time, global = true)]
    #[serde(rename = "timeout_ms", serialize_with = "milliseconds")]
    pub timeout: Duration,
    // A processor that burns a unit in a third of a nanosecond still meets the clock first.
    /// Work limit of one call: one unit per turn of a loop inside the sandbox
    #[arg(long, value_name = "N", default_value = "200000000000", value_parser = clap::value_parser!(u64).range(1..), global = true)]
    pub fuel: u64,
    /// Memory limit of the sandbox
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = memory, global = true)]
    pub memory: u64,
    /// Growth limit of all files together, including temporary files and memory databases
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size, global = true)]
    pub disk: u64,
    /// How long to wait for a locked database
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time_or_none, global = true)]
    #[serde(rename = "busy_timeout_ms", serialize_with = "milliseconds")]
    pub busy_timeout: Duration,
    /// Rows returned when the call gives no limit
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..), global = true)]
    pub rows: u32,
    /// Maximum rows, whatever limit the call gives
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..), global = true)]
    pub max_rows: u32,
    /// Maximum bytes of text in one result; its line holds 64 KiB, or a third more than this
    #[arg(long, value_name = "N", default_value = "48000", value_parser = clap::value_parser!(u32).range(1000..), global = true)]
    pub text: u32,
    /// Maximum characters of one cell in text output
    #[arg(long, value_name = "N", default_value = "2000", value_parser = clap::value_parser!(u32).range(16..), global = true)]
    pub cell: u32,
    /// Maximum bytes of a request line
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = size, global = true)]
    pub request: u64,
    /// Maximum bytes of a reply line
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = size, global = true)]
    pub reply: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        defaults()
    }
}

fn milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// The values of a command line without flags.
pub fn defaults<T: Args>() -> T {
    let command = T::augment_args(Command::new("").no_binary_name(true));
    let matches = command.get_matches_from([""; 0]);
    T::from_arg_matches(&matches).expect("every flag has a default")
}

impl Budgets {
    /// What one host call may carry: a reply or a request, and room for a
    /// page-sized file transfer.
    pub fn hostcall_bytes(&self) -> usize {
        let line = self.request.max(self.reply);
        usize::try_from(line)
            .unwrap_or(usize::MAX)
            .saturating_mul(2)
            .max(32 << 20)
    }

    /// The length of a line that a person or a file gives, which no request carries: a dump has each
    /// row on one.
    pub fn statement(&self) -> u64 {
        self.request.max(self.memory / 8)
    }

    /// Fuel that is reserved for ending a call in good order.
    pub fn fuel_reserve(&self) -> u64 {
        (self.fuel / 10).min(7_000_000)
    }

    /// The call took too long.
    pub fn out_of_time(&self) -> String {
        format!(
            "Stopped: the call reached its time budget of {} (--timeout). Ask for less, or \
             split the work.",
            show_time(self.timeout)
        )
    }

    /// The call did too much.
    pub fn out_of_fuel(&self) -> String {
        format!(
            "Stopped: the call reached its work budget of {} fuel (--fuel). Ask for less, or \
             split the work.",
            self.fuel
        )
    }

    /// The sandbox wanted more memory than it may have.
    pub fn out_of_memory(&self) -> String {
        format!(
            "Stopped: the call needed more than the memory budget of {} (--memory). Ask for \
             smaller values or fewer rows at a time.",
            show_size(self.memory)
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
