//! What a server records of its calls, as its owner wants it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};

use super::MEMORY;
use super::options::{Options, ServerOptions};
use crate::audit::{self, Audit, Start};
use crate::log::log;
use crate::sandbox::runner::Record;
use crate::threads::{self, Threads};

/// Whose threads a server remembers; nobody's without a store and a name.
pub fn principal(server: &ServerOptions) -> Option<&str> {
    server.state.as_ref()?;
    named(server.principal.as_deref())
}

/// A name that is one.
pub fn named(principal: Option<&str>) -> Option<&str> {
    principal.map(str::trim).filter(|name| !name.is_empty())
}

/// Opens what the owner wants of it, for a server of `file`.
///
/// # Errors
///
/// If the audit cannot be opened, or if a client could reach either file.
pub fn open(options: &Options, server: &ServerOptions, file: Option<&Path>) -> Result<Record> {
    let database = file.filter(|file| *file != Path::new(MEMORY));
    let standard_error = Path::new("-");
    let audited = server
        .audit
        .as_deref()
        .filter(|path| *path != standard_error);
    for (flag, path) in [("--state", server.state.as_deref()), ("--audit", audited)] {
        if let Some(path) = path {
            check(flag, path, database, options.root.as_deref())?;
        }
    }
    if let (Some(state), Some(audit)) = (&server.state, audited)
        && place(state) == place(audit)
    {
        bail!("--state and --audit name the same file; give each its own");
    }
    let threads = server.state.clone().and_then(|file| {
        let Some(name) = principal(server) else {
            log("--state remembers nothing without --principal, which says whose threads they are");
            return None;
        };
        Some(Arc::new(Threads::new(threads::Options {
            file,
            principal: threads::principal(name),
            age: Duration::from_secs(u64::from(server.state_days) * 24 * 3600),
        })))
    });
    let audit = server.audit.clone().map(|file| {
        Audit::open(&audit::Options {
            file,
            size: server.audit_size,
            sql: server.audit_sql,
        })
    });
    let audit = audit.transpose()?.map(Arc::new);
    if let Some(audit) = &audit {
        audit.start(&Start {
            database: file.unwrap_or(Path::new(MEMORY)),
            readonly: options.readonly,
            root: options.root.as_deref(),
            notes: options.notes.as_deref(),
            state: server.state.as_deref(),
            budgets: &options.budgets,
        });
    }
    Ok(Record { audit, threads })
}

/// Whether a file of the owner's is out of a client's reach.
fn check(flag: &str, path: &Path, database: Option<&Path>, root: Option<&Path>) -> Result<()> {
    let shown = path.display();
    let place = place(path);
    if let Some(database) = database {
        let beside = ["", "-journal", "-wal", "-shm"].map(|suffix| {
            let mut path = self::place(database).into_os_string();
            path.push(suffix);
            PathBuf::from(path)
        });
        let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
        let same = |other: &PathBuf| {
            *other == place || identity(other).is_some_and(|other| Some(other) == identity(&place))
        };
        if beside.iter().any(same) {
            bail!("{flag} {shown} is a file of the served database; name another file");
        }
    }
    if let Some(root) = root
        && place.starts_with(self::place(root))
    {
        bail!(
            "{flag} {shown} is below --root, where a client could open it; name a file elsewhere"
        );
    }
    Ok(())
}

/// Where a file is, or will be.
fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        folder.join(path.file_name().unwrap_or_default())
    })
}
