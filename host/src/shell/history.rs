//! Where the lines of a shell are remembered.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Names another file for the history; empty: none.
const VARIABLE: &str = "SQLARIUM_HISTORY";

/// A file that only its owner can read.
#[derive(Debug)]
pub struct History(Option<PathBuf>);

impl History {
    /// The history of this user, made if it is not there. One that cannot be made is none.
    pub fn open(remember: bool) -> Self {
        let path = remember
            .then(|| place(|name| std::env::var_os(name)))
            .flatten();
        Self(path.filter(|path| prepare(path).is_ok()))
    }

    /// The file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

/// `$SQLARIUM_HISTORY`, or a file in the state directory of the XDG base directories,
/// <https://specifications.freedesktop.org/basedir-spec/latest/>.
fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(named) = variable(VARIABLE) {
        return (!named.is_empty()).then(|| named.into());
    }
    let absolute = |name: &str| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("sqlarium/history"))
}

/// Creates the file if need be; only an ordinary one will do.
fn prepare(path: &Path) -> io::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let file = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        // A pipe would be waited for.
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_lies_in_the_state_directory_unless_it_is_named_or_turned_off() {
        let at = |variables: &[(&str, &str)]| {
            place(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let home = ("HOME", "/home/a");
        let expected = "/home/a/.local/state/sqlarium/history";
        assert_eq!(at(&[home]), Some(expected.into()));
        assert_eq!(
            at(&[home, ("XDG_STATE_HOME", "/s")]),
            Some("/s/sqlarium/history".into())
        );
        assert_eq!(
            at(&[home, ("XDG_STATE_HOME", "relative")]),
            Some(expected.into())
        );
        assert_eq!(at(&[home, (VARIABLE, "mine")]), Some("mine".into()));
        assert_eq!(at(&[home, (VARIABLE, "")]), None);
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn only_an_ordinary_file_is_a_history_and_nothing_else_changes_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("new/history");
        prepare(&file).expect("a history");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode();
        assert_eq!(mode(&file) & 0o777, 0o600);
        let pipe = folder.path().join("pipe");
        let readable = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, readable).expect("a pipe");
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/null")] {
            let before = mode(path);
            assert!(prepare(path).is_err(), "{}", path.display());
            assert_eq!(mode(path), before, "{}", path.display());
        }
        // With a reader, a pipe opens.
        let _reader = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .expect("a reader");
        let before = mode(&pipe);
        assert!(prepare(&pipe).is_err());
        assert_eq!(mode(&pipe), before);
    }
}
