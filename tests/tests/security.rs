//! SECURITY.md: the list of files with unsafe code is that of the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources below a directory that hold unsafe code, tests aside, by their paths in the
/// repository.
fn unsafe_sources(directory: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(repository().join(directory)).expect("a directory of sources");
    let mut found = BTreeSet::new();
    for entry in entries {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        let path = format!("{directory}/{name}");
        if entry.path().is_dir() {
            found.extend(unsafe_sources(&path));
        } else if name.ends_with(".rs")
            && !path.contains("/tests")
            && is_unsafe(&fs::read_to_string(entry.path()).expect("a source"))
        {
            found.insert(path);
        }
    }
    found
}

/// Whether code, comments aside, is unsafe or may be.
fn is_unsafe(source: &str) -> bool {
    let mut code = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let marks = [
        "unsafe {",
        "unsafe fn",
        "unsafe impl",
        "unsafe extern",
        "unsafe_code",
    ];
    code.any(|line| marks.iter().any(|mark| line.contains(mark)))
}

#[test]
fn every_file_with_unsafe_code_is_listed_and_no_other() {
    let page = fs::read_to_string(repository().join("SECURITY.md")).expect("SECURITY.md");
    let section = page
        .split("\n## ")
        .find(|section| section.starts_with("Unsafe code"))
        .expect("the section");
    let listed: BTreeSet<String> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|(path, why)| {
            assert!(why.len() > 10, "{path} says why");
            path.to_owned()
        })
        .collect();
    let mut sources = unsafe_sources("host");
    sources.extend(unsafe_sources("guest"));
    assert_eq!(listed, sources, "left: SECURITY.md, right: the sources");
}

#[test]
fn unsafe_code_is_seen_and_comments_are_not() {
    assert!(is_unsafe("    let x = unsafe { f() };"));
    assert!(is_unsafe("#![expect(unsafe_code, reason = \"C\")]"));
    assert!(!is_unsafe("// unsafe { f() }\nlet safe = 1;"));
}
