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

#[test]
fn it_asks_for_its_own_contract_and_for_clocks_randomness_and_standard_streams_alone() {
    let (imports, _) = surface(&bytes());
    let own: BTreeSet<&str> = imports
        .iter()
        .map(|name| unversioned(name))
        .filter(|name| name.starts_with("sqlarium:"))
        .collect();
    assert_eq!(
        own,
        BTreeSet::from([
            "sqlarium:sandbox/console",
            "sqlarium:sandbox/mailbox",
            "sqlarium:sandbox/storage",
            "sqlarium:sandbox/types",
        ])
    );
    let foreign: Vec<&String> = imports
        .iter()
        .filter(|name| {
            ![
                "sqlarium:sandbox/",
                "wasi:cli/",
                "wasi:clocks/",
                "wasi:io/",
                "wasi:random/",
            ]
            .iter()
            .any(|allowed| name.starts_with(allowed))
        })
        .collect();
    assert!(
        foreign.is_empty(),
        "the sandbox must have no way to files or the network, but it imports {foreign:?}"
    );
}

#[test]
fn it_offers_the_server_the_commands_and_the_shell() {
    let (_, exports) = surface(&bytes());
    let exports: BTreeSet<&str> = exports.iter().map(|name| unversioned(name)).collect();
    assert_eq!(
        exports,
        BTreeSet::from([
            "sqlarium:sandbox/command",
            "sqlarium:sandbox/server",
            "sqlarium:sandbox/shell",
        ])
    );
}
