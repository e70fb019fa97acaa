//! The pages for people: what they name is there.

use std::fs;
use std::path::{Path, PathBuf};

/// What a path that a page names starts with.
const ROOTS: [&str; 7] = [".ci/", "docs/", "guest/", "host/", "tests/", "web/", "wit/"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every page, with its path from the top of the repository.
fn pages() -> Vec<(String, String)> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "fuzz", "tests/schemas", "web"] {
        for entry in fs::read_dir(repository().join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "md") {
                let name = path.file_name().expect("a name").to_string_lossy();
                let name = Path::new(folder).join(&*name).display().to_string();
                pages.push((name, fs::read_to_string(path).expect("a page")));
            }
        }
    }
    pages
}

/// What stands between backticks and has the form of a path in this repository.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2).filter(|code| {
        ROOTS.iter().any(|root| code.starts_with(root))
            && code
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
    })
}

/// The targets of a page's links into the repository.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

#[test]
fn every_path_that_a_page_names_exists() {
    let mut named = 0;
    let mut missing = Vec::new();
    for (name, page) in pages() {
        for path in paths(&page) {
            named += 1;
            if !repository().join(path).exists() {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
    assert!(named > 50, "only {named} paths");
}

#[test]
fn every_link_into_the_repository_leads_somewhere() {
    let mut named = 0;
    let mut missing = Vec::new();
    for (name, page) in pages() {
        let folder = repository().join(&name).parent().map(Path::to_owned);
        for target in links(&page) {
            named += 1;
            if !folder.as_deref().expect("a folder").join(target).exists() {
                missing.push(format!("{name}: {target}"));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
    assert!(named > 20, "only {named} links");
}

/// The libraries of others that a manifest names.
fn libraries(manifest: &str) -> impl Iterator<Item = &str> {
    manifest
        .split("\n[")
        .filter(|section| {
            let title = section.split(']').next().unwrap_or_default();
            title.ends_with("dependencies") && !title.starts_with("workspace")
        })
        .flat_map(|section| section.lines().skip(1))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.starts_with("sqlarium"))
}

#[test]
fn every_library_is_there_for_a_reason() {
    let (_, page) = pages()
        .into_iter()
        .find(|(name, _)| name == "docs/architecture.md")
        .expect("the page");
    let reasons = page.split("## Libraries").nth(1).expect("its part");
    for folder in [
        "guest",
        "guest/component",
        "host",
        "tests",
        "tests/hostile",
        "tests/hostile/guest",
    ] {
        let manifest = repository().join(folder).join("Cargo.toml");
        for library in libraries(&fs::read_to_string(manifest).expect("a manifest")) {
            assert!(reasons.contains(&format!("`{library}`")), "why {library}?");
        }
    }
}

#[test]
fn the_readers_of_pages_see_what_they_are_to_see() {
    let page = "See `guest/src/lib.rs`, `host/src/*.rs`, `query`, [that](../wit/types.wit#l1) and [b](https://b.c/d).";
    assert_eq!(paths(page).collect::<Vec<_>>(), ["guest/src/lib.rs"]);
    assert_eq!(links(page).collect::<Vec<_>>(), ["../wit/types.wit"]);
    let manifest = "[package]\nname = \"x\"\n\n[dependencies]\n# Why.\nserde.workspace = true\ntoml = \"1\"\n\n[lints]\na = 1\n";
    assert_eq!(libraries(manifest).collect::<Vec<_>>(), ["serde", "toml"]);
}
