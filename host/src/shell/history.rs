//! Where the lines of a shell are remembered.

use std::ffi::OsString;
use std::fs;
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

fn prepare(path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
        let file = options.mode(0o600).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    options.open(path).map(drop)
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
}
