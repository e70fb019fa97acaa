//! The Model Context Protocol: lines in, lines out.
//!
//! - [`jsonrpc`]: what a line says: a request, a notification, an answer, or nonsense.
//! - [`revision`]: what each of the five revisions of the protocol asks for.
//! - [`reply`]: the only writer of lines.
//! - [`session`]: one client on one pipe; which message gets which answer.
//! - [`batch`]: several messages on one line, as revision 2025-03-26 has them.
//! - [`tools`]: `tools/list` and `tools/call`, on top of the command table; [`tool_schema`]: a
//!   command as a tool.
//! - [`record`]: what is recorded of calls, for the owner and for the client's thread.
//! - [`triage`]: lines that arrive while a call runs.
//! - [`state`]: what one instance saves for the next; [`interrupted`]: the reply to a line whose
//!   instance was aborted.
//! - [`check`](mod@check): whether the owner's choices can be served.
//!
//! Revisions and eras are those of <https://modelcontextprotocol.io/specification/>: the four
//! up to 2025-11-25 open with `initialize` and are called legacy here; from 2026-07-28 on
//! every request says in its `_meta` what it needs, and is called modern. The era is decided
//! anew for each message, since clients probe with one and go on with the other.

mod batch;
mod check;
mod interrupted;
pub(crate) mod jsonrpc;
mod record;
pub(crate) mod reply;
pub(crate) mod revision;
mod session;
mod state;
pub(crate) mod tool_schema;
pub mod tools;
mod triage;

#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod remembered_tests;
#[cfg(test)]
mod sent_tests;
#[cfg(test)]
mod served_tests;
#[cfg(test)]
mod testing;

pub use check::{check, warnings};
pub use record::show_thread;
pub use session::Session;
pub use triage::Triaged;
