//! The files of a guest that misbehaves: it gets none that were not granted, and what it makes is
//! complete and in the place of nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

use tempfile::TempDir;

use super::client::Host;
use super::hostile::database;

/// Every file below a folder: what it is, its bytes, and when it was last changed.
fn everything(folder: &Path, into: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let bytes = if metadata.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        let what = format!(
            "{:?} {:?} {bytes:?}",
            metadata.file_type(),
            metadata.modified()
        );
        into.insert(path.clone(), what);
        if metadata.is_dir() {
            everything(&path, into);
        }
    }
}

/// A root with links that lead out of it, and what lies outside.
struct Premises(TempDir);

impl Premises {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for folder in ["served", "root/below", "outside"] {
            fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        for path in ["served/shop.db", "outside/secret.db", "root/inside.db"] {
            database(&base.path().join(path));
        }
        fs::write(base.path().join("served/neighbour"), "not served").unwrap();
        symlink("../outside", base.path().join("root/out")).unwrap();
        symlink("../outside/secret.db", base.path().join("root/link.db")).unwrap();
        symlink("../outside/new.db", base.path().join("root/new-link.db")).unwrap();
        symlink("../../outside", base.path().join("root/below/out")).unwrap();
        Self(base)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Names that lead out, one way or another.
    fn names(&self) -> String {
        let absolute = |name| self.path(name).display().to_string();
        [
            "../outside/secret.db",
            "below/../../outside/secret.db",
            "out/secret.db",
            "out/new.db",
            "link.db",
            "new-link.db",
            "below/out/secret.db",
            "out/../../outside/secret.db",
            "../served/neighbour",
        ]
        .into_iter()
        .map(str::to_owned)
        .chain(
            [
                "outside/secret.db",
                "outside/secret.db-mj000000900",
                "served/neighbour",
            ]
            .map(absolute),
        )
        .collect::<Vec<_>>()
        .join(" ")
    }

    fn outside(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        everything(&self.path("outside"), &mut all);
        everything(&self.path("served"), &mut all);
        all.retain(|path, _| !path.to_string_lossy().contains("shop.db"));
        all
    }
}

#[test]
fn no_name_leads_to_a_file_that_was_not_granted() {
    let premises = Premises::new();
    let before = premises.outside();
    let mut host = Host::hostile(&premises.path("served"), Some(&premises.path("root")));
    let told = host.ask(&format!("names {}", premises.names()));
    println!("{told}");
    // Odd names below the root are names below the root; what was made stays there.
    let granted = told.split_once("granted: ").expect("a report").1;
    for word in [
        "outside",
        "out/",
        "link",
        "neighbour",
        "etc",
        "proc",
        "dev",
        "..",
        "shop.db-shm",
    ] {
        assert!(!granted.contains(word), "{word}: {granted}");
    }
    assert_eq!(host.ask("well"), "well");
    assert_eq!(host.finish(), Some(0));
    assert_eq!(premises.outside(), before);
}

#[test]
fn new_files_are_complete_and_replace_nothing_in_use() {
    let premises = Premises::new();
    let (before, root) = (premises.outside(), premises.path("root"));
    let listing = || -> BTreeSet<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let names = fs::read_dir(&root).unwrap().map(name);
        names.map(|name| name.into_string().unwrap()).collect()
    };
    let mut expected = listing();
    expected.insert("whole".into());
    let mut host = Host::hostile(&premises.path("served"), Some(&root));
    let told = host.ask("staged");
    println!("{told}");
    for part in [
        "open ok: 256,",
        "publish ok: 1",
        "again invalid: 1,",
        "late read-only: 2,",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(
        !told.contains("over ok") && !told.contains("plain ok"),
        "{told}"
    );
    assert_eq!(fs::read(root.join("whole")).unwrap(), b"all of it");
    assert!(host.ask("offsets").contains("staged write full"));
    assert_eq!(host.ask("well"), "well");
    assert_eq!(host.finish(), Some(0));
    let mut left = listing();
    // The log of the database that was opened may stay, as a crash leaves it.
    left.retain(|name| !name.starts_with("inside.db-"));
    assert_eq!(left, expected);
    assert_eq!(premises.outside(), before);
}

#[test]
fn the_system_is_asked_for_no_file_that_was_not_granted() {
    let premises = Premises::new();
    let trace = premises.path("trace");
    let tracer = ["strace", "-f", "-qq", "-y", "-e", "trace=file", "-o"].map(Into::into);
    let tracer = [&tracer[..], &[trace.clone().into()]].concat();
    let works = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .status();
    if !works.is_ok_and(|status| status.success()) {
        println!("there is no strace here, or it may not trace: not shown");
        return;
    }
    let (served, root) = (premises.path("served"), premises.path("root"));
    let mut host = Host::start(&mut Host::command(
        "hostile",
        &served,
        Some(&root),
        Some(tracer),
    ));
    assert_eq!(host.ask("well"), "well");
    // What is opened before is the program's own.
    let start = fs::read_to_string(&trace).unwrap().len();
    for misdeed in [
        &format!("names {}", premises.names()),
        "opens 300",
        "staged",
        "churn 200",
        "offsets",
        "storm 1 500",
    ] {
        host.ask(misdeed);
    }
    assert_eq!(host.ask("well"), "well");
    let traced = fs::read_to_string(&trace).unwrap();
    let lines: Vec<&str> = traced[start..].lines().collect();
    assert!(lines.len() > 100, "only {} lines", lines.len());
    let temporary = env::temp_dir();
    for line in lines {
        // The calls that change something, and those that open something.
        let (Some((call, rest)), false) = (line.split_once('('), line.contains(" = -1 ")) else {
            continue;
        };
        let call = call.rsplit(' ').next().unwrap_or_default();
        let looks = [
            "stat",
            "lstat",
            "newfstatat",
            "access",
            "faccessat",
            "faccessat2",
            "readlink",
            "readlinkat",
            "statx",
            "statfs",
            "fstat",
        ];
        if looks.contains(&call) || rest.contains("O_PATH") || rest.contains("O_DIRECTORY") {
            continue;
        }
        let allowed = rest.contains("O_TMPFILE")
            || rest.contains("/proc/self/fd/")
            || rest.contains(&format!("{}/shop.db", served.display()))
            || rest.contains(root.to_str().unwrap())
            // SQLite's directory for a durable deletion, which is synced.
            || rest.contains(&format!("\"{}\", O_RDONLY", served.display()))
            || rest.contains("/dev/urandom")
            || rest.contains(&format!("\"{}", temporary.display())) && rest.contains("O_EXCL");
        assert!(allowed, "{line}");
    }
    assert_eq!(host.finish(), Some(0));
}
