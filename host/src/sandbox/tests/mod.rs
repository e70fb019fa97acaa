//! The real host around a guest that was taken over, and around the real one when the host
//! itself dies.
//!
//! - [`hostile`]: a guest that misbehaves in every way it can; [`hostile_files`]: its files.
//! - [`crashes`]: the host is killed at each call of its storage.
//! - [`crossings`]: how often a call crosses the boundary.
//! - [`recorded`]: what is recorded of a guest that was taken over.
//! - [`client`]: the host in a process of its own, and its client.

mod client;
mod crashes;
mod crossings;
mod hostile;
mod hostile_files;
mod recorded;
