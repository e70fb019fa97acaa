//! The key that digests of values are made with, so that nobody without it can guess them.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tempfile::NamedTempFile;

/// The key, in bytes.
const BYTES: usize = 32;

/// A key of HMAC-SHA-256.
pub struct Key(Hmac<Sha256>);

impl Key {
    /// A key that ends with the process.
    ///
    /// # Errors
    ///
    /// If the system has no randomness.
    pub fn random() -> Result<Self> {
        let mut key = [0; BYTES];
        getrandom::fill(&mut key).context("the system gives no random numbers")?;
        Ok(Self::new(&key))
    }

    /// The key of the audit `file`, which stands beside it and is made once: of servers that start
    /// together, one makes it.
    ///
    /// # Errors
    ///
    /// If there is none and none can be made, or if others can read it.
    pub fn beside(file: &Path) -> Result<Self> {
        let mut path = file.as_os_str().to_owned();
        path.push(".key");
        let path = PathBuf::from(path);
        match File::open(&path) {
            Ok(file) => Self::read(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(&path)?;
                Self::read(File::open(&path)?)
            }
            Err(error) => Err(error.into()),
        }
        .with_context(|| format!("the key of the audit, {}", path.display()))
    }

    fn new(key: &[u8; BYTES]) -> Self {
        Self(Hmac::new_from_slice(key).expect("a key of any length"))
    }

    fn read(file: File) -> Result<Self> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            bail!("it is not a file");
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            bail!("others may use it; make it yours alone with chmod 600");
        }
        let mut text = String::new();
        file.take(1 << 10).read_to_string(&mut text)?;
        let digits = text.trim_end();
        let mut key = [0; BYTES];
        if digits.len() != 2 * BYTES || !digits.is_ascii() {
            bail!(
                "it is not {} hexadecimal digits; move it away, and another one is made",
                2 * BYTES
            );
        }
        for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16)?;
        }
        Ok(Self::new(&key))
    }

    /// The digest of a value, as hexadecimal digits.
    pub fn digest(&self, value: &str) -> String {
        let mut mac = self.0.clone();
        mac.update(value.as_bytes());
        hex(&mac.finalize().into_bytes())
    }
}

/// Makes the key at `path`, unless somebody else does.
fn make(path: &Path) -> Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut key = [0; BYTES];
    getrandom::fill(&mut key).context("the system gives no random numbers")?;
    // It gets its name when it is whole. Nobody else may read it, which is what tempfile sees to.
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    writeln!(file, "{}", hex(&key))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error.into()),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
