//! The files that the command line names: granted one by one, and no others.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use crate::sandbox::bindings::command::{Argument, Shape};
use crate::storage::{Granted, Target};

/// Standard input or output.
const STREAM: &str = "-";

/// The files that a command line names, under the names that the sandbox gets for them.
pub struct FileArguments {
    /// The grants.
    pub files: Vec<Granted>,
    /// What the sandbox calls the served database.
    served: String,
    /// Where that is, if it is a file.
    database: Option<PathBuf>,
}

impl FileArguments {
    /// None yet, beside the database `file`.
    pub fn new(file: Option<&Path>) -> Self {
        let served = file.map_or_else(|| super::MEMORY_NAME.to_owned(), super::name_of);
        Self {
            files: Vec::new(),
            served,
            database: file.and_then(|file| file.canonicalize().ok()),
        }
    }

    /// Grants what is given for `argument`, if it is a path, and puts the name
    /// for it in the path's place. What creates a file writes to standard output
    /// if none is named, unless the answer is to be `json`.
    pub fn add(
        &mut self,
        argument: &Argument,
        given: &mut Map<String, Value>,
        json: bool,
    ) -> Result<()> {
        let reads = match argument.shape {
            Shape::InputPath => true,
            Shape::OutputPath => false,
            Shape::Text => {
                // A command that takes text may read it from there.
                if given.get(&argument.name).and_then(Value::as_str) == Some(STREAM) {
                    self.files.push(Granted {
                        name: STREAM.to_owned(),
                        target: Target::Input,
                    });
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        let path = match given.get(&argument.name).and_then(Value::as_str) {
            Some(path) => path.to_owned(),
            None if reads || argument.required || json => return Ok(()),
            None => STREAM.to_owned(),
        };
        let same = |database: &PathBuf| fs::canonicalize(&path).is_ok_and(|path| path == *database);
        if self.database.as_ref().is_some_and(same) {
            bail!("{path} is the database itself; name another file");
        }
        let target = match (path.as_str(), reads) {
            (STREAM, true) => Target::Input,
            (STREAM, false) => Target::Output,
            (_, true) => Target::Read(readable(&path)?),
            (_, false) => Target::Write(creatable(&path)?),
        };
        let name = match target {
            Target::Read(_) | Target::Write(_) => self.unused(path),
            Target::Input | Target::Output => path,
        };
        given.insert(argument.name.clone(), Value::String(name.clone()));
        self.files.push(Granted { name, target });
        Ok(())
    }

    /// Whether the command writes to standard output by itself.
    pub fn write_stdout(&self) -> bool {
        self.files
            .iter()
            .any(|file| matches!(file.target, Target::Output))
    }

    /// The path as it was written, or another way to write it that means nothing else yet.
    fn unused(&self, path: String) -> String {
        let mut name = path;
        let taken = |name: &str| {
            let own = name.strip_prefix(&self.served);
            own.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
                || self.files.iter().any(|file| file.name == name)
        };
        while taken(&name) {
            // Only a relative path can be the name of another file.
            let absolute = name.starts_with('/');
            name.insert_str(0, if absolute { "/." } else { "./" });
        }
        name
    }
}

/// A path to read from, which has to lead to an ordinary file.
fn readable(path: &str) -> Result<PathBuf> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => bail!("{path} is a folder; name a file"),
        Ok(there) if !there.is_file() => {
            bail!(
                "{path} is a pipe or a device; redirect it to standard input and give - as the \
                   file"
            )
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("there is no file {path}; check the path")
        }
        Err(error) => bail!("cannot read {path}: {error}"),
    }
    // Nothing has it open yet, so closing it loses no locks.
    match File::open(path) {
        Ok(_) => Ok(path.into()),
        Err(error) => bail!("cannot read {path}: {error}"),
    }
}

/// A path to create a file at, whose folder has to exist.
fn creatable(path: &str) -> Result<PathBuf> {
    let file = Path::new(path);
    let folder = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if file.file_name().is_none() || path.ends_with('/') || file.is_dir() {
        bail!("{path} is a folder; name a file");
    }
    if !folder.is_dir() {
        bail!(
            "cannot create {path}: there is no folder {}",
            folder.display()
        );
    }
    match fs::symlink_metadata(file) {
        Ok(there) if !there.is_file() => {
            bail!(
                "{path} is a link, a pipe or a device and is never replaced; give - for standard \
                 output"
            )
        }
        Ok(_) | Err(_) => Ok(file.to_owned()),
    }
}
