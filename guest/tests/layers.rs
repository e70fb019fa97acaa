//! The order of the layers: no folder of `src` uses one above it.

use std::fs;
use std::path::{Path, PathBuf};

/// From the top down; what stands on one line may not use its neighbours either, save for those to its right.
const LAYERS: [&[&str]; 9] = [
    &["component"],
    &["registry"],
    &["protocol", "shell"],
    &["command"],
    &["render"],
    &["engine"],
    &["storage"],
    &["answer", "settings", "host", "text"],
    &["bindings"],
];

/// Who may use the generated bindings.
const CONVERTERS: [&str; 2] = ["component.rs", "storage/wit.rs"];

/// The place of a module in the order: its line, and where it stands there.
fn place(module: &str) -> Option<(usize, usize)> {
    LAYERS.iter().enumerate().find_map(|(row, line)| {
        let column = line.iter().position(|name| *name == module)?;
        Some((row, column))
    })
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules of the crate's root that a source names outside its tests and comments.
fn uses(source: &str) -> Vec<&str> {
    let code = source
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    code.lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with("//"))
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| {
            rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
                .unwrap_or_default()
        })
        .collect()
}

#[test]
fn no_folder_uses_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 100, "{} sources", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
        let is_test = name.contains("test");
        let own = name.split(['/', '.']).next().unwrap();
        if own == "lib" || is_test {
            continue;
        }
        let (row, column) = place(own).unwrap_or_else(|| panic!("{own} has no place"));
        for used in uses(&fs::read_to_string(&file).unwrap()) {
            let Some((below, aside)) = place(used) else {
                panic!("{name} uses {used}, which has no place");
            };
            let allowed = match (below, used) {
                _ if used == own => true,
                (_, "bindings") => CONVERTERS.contains(&name),
                (below, _) if below == row => row == 7 && aside > column,
                (below, _) => below > row,
            };
            if !allowed {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_reader_of_uses_sees_what_it_is_to_see() {
    let source = "use crate::engine::x;\n#[cfg(test)]\npub mod local;\n// crate::shell\nlet a = crate::host::b(crate::text::c);\n\
                  #[cfg(test)]\nmod tests { use crate::registry::y; }";
    assert_eq!(uses(source), ["engine", "host", "text"]);
}
