//! What a statement may do.
//!
//! - [`authorizer`]: SQLite's authorizer; what each of its action codes may do, by who asks.
//! - [`pragma`]: every PRAGMA, and whether it reads, writes or is refused.
//!
//! The other guards stand where they act; [`super::database`] lists all five.

pub(crate) mod authorizer;
pub(crate) mod pragma;
