//! The order of the host's parts: none uses one above it.

use std::fs;
use std::path::{Path, PathBuf};

/// From the top down. What stands on one line does not use its neighbours.
const HOST: [&[&str]; 6] = [
    &["main"],
    &["cli"],
    &["demo", "server", "shell", "clients"],
    &["sandbox"],
    &["storage", "audit", "threads"],
    &["budgets", "log", "terminal"],
];

fn layer(part: &str) -> usize {
    HOST.iter()
        .position(|layer| layer.contains(&part))
        .unwrap_or_else(|| panic!("{part} has no layer"))
}

/// The sources below a directory, except for tests.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.file_stem().is_some_and(|name| name != "tests"))
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// The parts of the crate that a source names outside its unit tests and comments.
fn used(source: &str) -> Vec<&str> {
    let code = source.split("\n#[cfg(test)]\nmod tests {").next();
    let lines = code.unwrap_or_default().lines().map(str::trim_start);
    let paths = lines
        .filter(|line| !line.starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1))
        // One path, or several in braces.
        .flat_map(|path| match path.strip_prefix('{') {
            Some(paths) => paths.split(',').collect(),
            None => vec![path],
        });
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let names = paths.map(str::trim).map(|path| {
        let end = path.find(|c| !is_name(c)).unwrap_or(path.len());
        &path[..end]
    });
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn no_part_of_the_host_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = sources(&root);
    assert!(files.len() > 30, "{} sources", files.len());
    for file in files {
        let name = file.strip_prefix(&root).expect("a source");
        let first = name.components().next().expect("a part");
        let own = Path::new(first.as_os_str()).file_stem().expect("a name");
        let own = own.to_str().expect("a name");
        for part in used(&fs::read_to_string(&file).expect("a source")) {
            assert!(
                part == own || layer(part) > layer(own),
                "{} uses {part}",
                name.display()
            );
        }
    }
}

#[test]
fn uses_are_found_wherever_they_stand() {
    let source = "use crate::storage::File;\nuse crate::{log, cli::{self}, };\n// crate::shell\n\
                  let x = crate::budgets::y(crate::terminal::z);\n\
                  #[cfg(test)]\nmod tests {\n use crate::server;\n}";
    assert_eq!(
        used(source),
        ["storage", "log", "cli", "budgets", "terminal"]
    );
}
