//! The commands that read and make files: `import export dump backup restore migrate create`.
//!
//! - [`confinement`]: what may be named, by an agent and on the command line.
//! - [`records`]: rows in and out, as CSV and the like.
//! - [`copies`]: whole databases, as SQL and page by page.
//! - [`replaced`]: files that other programs replace, delete, or leave in the middle of a write.
//! - [`ends`]: budgets and kills in the middle; nothing half-written, and flat memory.

#[path = "files/confinement.rs"]
mod confinement;
#[path = "files/copies.rs"]
mod copies;
#[path = "files/ends.rs"]
mod ends;
#[path = "files/records.rs"]
mod records;
#[path = "files/replaced.rs"]
mod replaced;

use std::path::Path;

use sqlarium_tests::{Folder, Server};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of UTF-8")
}

/// A server of `database`, its root the folder.
fn rooted(folder: &Folder, database: &Path, more: &[&str]) -> Server {
    let root = folder.path("");
    let arguments = ["--db", text(database), "--root", text(&root)];
    Server::ready(arguments.iter().chain(more))
}
