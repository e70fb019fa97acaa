//! What the built component is, read from its bytes: what it asks of its host and what it offers.

use std::collections::BTreeSet;
use std::fs;

use sqlarium_tests::component;
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

fn bytes() -> Vec<u8> {
    fs::read(component()).expect("the component")
}

/// The component's own imports and exports, not those of the modules inside it.
fn surface(bytes: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.expect("a well-formed component") {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.insert(import.expect("an import").name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    exports.insert(export.expect("an export").name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    (imports, exports)
}

/// `wasi:io/poll@0.2.6` without its version.
fn unversioned(name: &str) -> &str {
    name.split_once('@')
        .map_or(name, |(interface, _)| interface)
}

#[test]
fn it_is_valid_with_no_proposal_beyond_webassembly_2() {
    let features = WasmFeatures::WASM2 | WasmFeatures::COMPONENT_MODEL;
    Validator::new_with_features(features)
        .validate_all(&bytes())
        .expect("a valid component");
}

/// What `wit/world.wit` says: the imports, the exports, and the interfaces of WASI beside them.
fn world() -> [BTreeSet<String>; 3] {
    let text = include_str!("../../wit/world.wit");
    ["import ", "export ", "/// - "].map(|mark| {
        let named = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(mark));
        let name = |name: &str| match name.strip_suffix(';') {
            Some(own) => format!("sqlarium:sandbox/{own}"),
            None => name.to_owned(),
        };
        named.map(name).collect()
    })
}

#[test]
fn it_asks_for_its_own_contract_and_for_clocks_randomness_and_standard_streams_alone() {
    let (imports, _) = surface(&bytes());
    let (mut own, mut wasi) = (BTreeSet::new(), BTreeSet::new());
    for import in &imports {
        let name = unversioned(import).to_owned();
        match name.strip_prefix("wasi:") {
            Some(_) => wasi.insert(name),
            None => own.insert(name),
        };
    }
    let [allowed, _, listed] = world();
    assert!(wasi.is_subset(&listed), "{wasi:?}");
    // What the list is for. The rest is what the library links, and another build of it links fewer.
    for used in ["wasi:clocks/monotonic-clock", "wasi:random/random"] {
        assert!(wasi.contains(used), "{used}");
    }
    // The types have no functions, and what is never called is left out.
    own.remove("sqlarium:sandbox/types");
    assert!(own.is_subset(&allowed), "{own:?}");
    for used in [
        "storage",
        "shared-memory",
        "direct-io",
        "control",
        "console",
    ] {
        assert!(own.contains(&format!("sqlarium:sandbox/{used}")), "{used}");
    }
}

#[test]
fn it_imports_one_version_of_wasi_and_one_of_the_contract() {
    let (imports, _) = surface(&bytes());
    for (prefix, version) in [("wasi:", "0.2."), ("sqlarium:", "0.2.0")] {
        let versions: BTreeSet<&str> = imports
            .iter()
            .filter(|name| name.starts_with(prefix))
            .filter_map(|name| Some(name.split_once('@')?.1))
            .collect();
        assert_eq!(versions.len(), 1, "{versions:?}");
        assert!(
            versions.iter().all(|found| found.starts_with(version)),
            "{versions:?}"
        );
    }
}

#[test]
fn it_exports_what_the_world_says() {
    let (_, exports) = surface(&bytes());
    let exports: BTreeSet<String> = exports
        .iter()
        .map(|name| unversioned(name).to_owned())
        .collect();
    let [_, promised, _] = world();
    assert_eq!(exports, promised);
}
