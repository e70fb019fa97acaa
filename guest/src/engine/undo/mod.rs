//! What a write changes, and taking it back.
//!
//! A write transaction leaves the pages that it overwrites and cuts off as they were
//! ([`capture`], which sees them pass to the file through a [`tap`]). They are kept in files of the
//! host's memory ([`history`]) and put back through SQLite's own pager ([`restore`]). So whatever was
//! written is taken back exactly, and what it was need not be understood. For a reader the changed
//! rows are counted beside it ([`tally`]) and summed up ([`Summary`]).

pub(crate) mod capture;
pub(crate) mod history;
mod index;
mod journal;
mod log;
mod order;
mod pages;
pub(crate) mod recorder;
pub(crate) mod restore;
pub(crate) mod schema_diff;
mod summary;
pub(crate) mod tally;
mod tap;

pub(crate) use self::summary::Summary;
pub(crate) use self::tap::data_version;
