//! The C compiler for SQLite's WebAssembly build.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::environment::Environment;

/// SQLite leaves out its own operating system layer; the guest's VFS takes its
/// place. sqlite-vec leaves out its reader of files, which would import wasi:filesystem.
const FLAGS: &str = "-DSQLITE_OS_OTHER=1 -DSQLITE_VEC_OMIT_FS=1 -msimd128";

/// What every C file starts with.
const FIRST: &str = "guest/component/c/first.h";

/// What SQLite does natively, as clang's profile; `guest/component/profile/make` makes it.
const PROFILE: &str = "guest/component/profile/sqlite.profdata";

/// Where Linux distributions keep wasi-libc's headers.
const HEADERS: [&str; 4] = [
    "/usr/include/wasm32-wasip2",
    "/usr/include/wasm32-wasi",
    "/usr/share/wasi-sysroot/include/wasm32-wasip2",
    "/usr/share/wasi-sysroot/include/wasm32-wasi",
];

/// A C compiler for WebAssembly, in the terms of the `cc` crate.
pub struct Compiler {
    cc: PathBuf,
    /// None: the `cc` crate finds the one that belongs to `cc`.
    ar: Option<PathBuf>,
    flags: Vec<String>,
}

impl Compiler {
    /// Finds one: the WASI SDK if `WASI_SDK_PATH` names it, else zig, else clang with wasi-libc's
    /// headers. Wrapper scripts go into `directory`.
    ///
    /// # Errors
    ///
    /// If there is none; the message says how to get one.
    pub fn find(environment: &Environment, directory: &Path) -> Result<Self> {
        if let Some(sdk) = env::var_os("WASI_SDK_PATH") {
            return Self::sdk(Path::new(&sdk));
        }
        // zig's component executes 7 % fewer instructions than clang 19's over a mix of queries.
        if let Some(zig) = Self::zig(environment, directory)? {
            return Ok(zig);
        }
        Self::clang().context(
            "sqlarium needs a C compiler for WebAssembly: run pip install ziglang, \
             or set WASI_SDK_PATH to a WASI SDK, or install clang with wasi-libc, \
             or run make setup",
        )
    }

    fn sdk(sdk: &Path) -> Result<Self> {
        let cc = sdk.join("bin/clang");
        if !cc.is_file() {
            bail!(
                "WASI_SDK_PATH is {}, but there is no bin/clang in it; name the directory \
                 of an unpacked WASI SDK, or unset it",
                sdk.display()
            );
        }
        Ok(Self {
            cc,
            ar: None,
            flags: vec![format!(
                "\"--sysroot={}\"",
                sdk.join("share/wasi-sysroot").display()
            )],
        })
    }

    fn clang() -> Option<Self> {
        let targets = output(Command::new("clang").arg("--print-targets"))?;
        if !targets.contains("wasm32") {
            return None;
        }
        let headers = match env::var_os("SQLARIUM_WASI_INCLUDE") {
            Some(directory) => PathBuf::from(directory),
            None => HEADERS
                .iter()
                .map(PathBuf::from)
                .find(|directory| directory.join("stdlib.h").is_file())?,
        };
        Some(Self {
            cc: "clang".into(),
            ar: None,
            // Not /usr/include, which belongs to this machine.
            flags: vec![format!("\"-isystem{}\"", headers.display())],
        })
    }

    fn zig(environment: &Environment, directory: &Path) -> Result<Option<Self>> {
        let local = environment.target.join("toolchain/python");
        let candidates: [(&str, Option<&Path>); 3] = [
            ("zig", None),
            ("python3 -m ziglang", None),
            ("python3 -m ziglang", Some(&local)),
        ];
        for (zig, python_path) in candidates {
            let mut words = zig.split(' ');
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words).arg("version");
            if let Some(path) = python_path {
                command.env("PYTHONPATH", path);
            }
            if output(&mut command).is_none() {
                continue;
            }
            let setting = python_path.map_or(String::new(), |path| {
                format!("PYTHONPATH='{}' ", path.display())
            });
            // zig has its own names for targets, so the one that the cc crate adds has to go.
            let cc = script(
                &directory.join("zig-cc"),
                &format!(
                    "for word do\n  shift\n  case $word in --target=*) ;; *) set -- \"$@\" \"$word\" ;; esac\ndone\n\
                     {setting}exec {zig} cc -target wasm32-wasi \"$@\"\n"
                ),
            )?;
            let ar = script(
                &directory.join("zig-ar"),
                &format!("{setting}exec {zig} ar \"$@\"\n"),
            )?;
            return Ok(Some(Self {
                cc,
                ar: Some(ar),
                flags: Vec::new(),
            }));
        }
        Ok(None)
    }

    /// Adds what every C file starts with, and the profile of what SQLite does; not that one where the
    /// compiler reads profiles of other versions alone. Its trial goes into `directory`.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read.
    pub fn with_files(mut self, workspace: &Path, directory: &Path) -> Result<Self> {
        let mut hasher = DefaultHasher::new();
        let mut file = |name: &str| -> Result<String> {
            let path = workspace.join(name);
            let content =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            content.hash(&mut hasher);
            Ok(path.display().to_string())
        };
        let (first, profile) = (file(FIRST)?, file(PROFILE)?);
        self.flags.push(format!("-include \"{first}\""));
        let probe = directory.join("probe.c");
        fs::write(&probe, "int probe;\n")
            .with_context(|| format!("cannot write {}", probe.display()))?;
        let tried = Command::new(&self.cc)
            .args(["--target=wasm32-wasip2", "-c"])
            .args([&probe, Path::new("-o"), &probe.with_extension("o")])
            .arg(format!("-fprofile-instr-use={profile}"))
            .stdin(Stdio::null())
            .output();
        if tried.is_ok_and(|tried| tried.status.success()) {
            self.flags
                .push(format!("\"-fprofile-instr-use={profile}\""));
            // sqlite-vec has none.
            self.flags.push("-Wno-profile-instr-unprofiled".into());
        }
        // For cargo, which compiles again where flags differ.
        self.flags
            .push(format!("-DSQLARIUM_FILES={:x}", hasher.finish()));
        Ok(self)
    }

    /// Sets the variables that the `cc` crate reads in the nested build.
    pub fn configure(&self, cargo: &mut Command) {
        let mut flags = self.flags.join(" ");
        flags.push(' ');
        flags.push_str(FLAGS);
        cargo
            .env("CC_wasm32_wasip2", &self.cc)
            .env("CFLAGS_wasm32_wasip2", flags.trim_start())
            // Paths in them may have spaces.
            .env("CC_SHELL_ESCAPED_FLAGS", "1");
        match &self.ar {
            Some(ar) => cargo.env("AR_wasm32_wasip2", ar),
            None => cargo.env_remove("AR_wasm32_wasip2"),
        };
        // The other spellings, which name compilers of the outer build.
        for name in ["CC", "AR", "CFLAGS"] {
            cargo
                .env_remove(format!("{name}_wasm32-wasip2"))
                .env_remove(format!("TARGET_{name}"));
        }
    }
}

/// Standard output of a command; none if it fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Writes an executable shell script, unless it is there already: cargo rebuilds for a newer one.
pub fn script(path: &Path, body: &str) -> Result<PathBuf> {
    let text = format!("#!/bin/sh\n{body}");
    if fs::read_to_string(path).is_ok_and(|there| there == text) {
        return Ok(path.to_path_buf());
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("cannot make {} executable", path.display()))?;
    }
    Ok(path.to_path_buf())
}
