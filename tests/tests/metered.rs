//! The check that the component counts its work: it passes, and no component passes from which
//! a part of the counter was taken.

#[path = "../../host/build/metered.rs"]
mod metered;

use std::ops::Range;

use sqlarium_tests::component;
use wasmparser::{Operator, Parser, Payload, TypeRef};

const NOP: u8 = 0x01;
const LOOP: u8 = 0x03;

/// The instructions that count a unit: the counter's index twice, then that of what refills it.
struct Count {
    at: Range<usize>,
    lessens: usize,
    compares: usize,
    calls: usize,
}

/// Finds them all, by their bytes.
fn counts(component: &[u8]) -> Vec<Count> {
    let mut counts = Vec::new();
    let mut at = 0;
    while at + 40 < component.len() {
        let start = at;
        at += 1;
        let Some(left) = index(component, start, 0x23) else {
            continue;
        };
        // i64.const 1, i64.sub, global.set
        let lessens = left.end;
        let get = &component[start + 1..left.end];
        let mut expected = vec![0x42, 1, 0x7d, 0x24];
        expected.extend(get);
        expected.push(0x23);
        expected.extend(get);
        // i64.const 0, i64.lt_s, if, call
        expected.extend([0x42, 0, 0x53, 0x04, 0x40]);
        if !component[lessens..].starts_with(&expected) {
            continue;
        }
        let call = lessens + expected.len();
        let Some(refill) = index(component, call, 0x10) else {
            continue;
        };
        counts.push(Count {
            at: start..refill.end + 1,
            lessens: lessens + 1,
            compares: call - 3,
            calls: call,
        });
        at = refill.end;
    }
    counts
}

/// The bytes of an index after this opcode, at this place.
fn index(component: &[u8], at: usize, opcode: u8) -> Option<Range<usize>> {
    if component[at] != opcode {
        return None;
    }
    let length = component[at + 1..]
        .iter()
        .take(5)
        .position(|byte| byte & 0x80 == 0)?
        + 1;
    Some(at + 1..at + 1 + length)
}

/// With some of its bytes replaced.
fn changed(component: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut changed = component.to_vec();
    changed[at..at + bytes.len()].copy_from_slice(bytes);
    changed
}

#[test]
fn the_component_counts_and_none_passes_without_a_part_of_the_counter() {
    let component = std::fs::read(component()).expect("the component");
    metered::check(&component).expect("the component that is embedded");
    let counts = counts(&component);
    assert!(counts.len() > 5_000, "{} counts", counts.len());
    // As many of them as a test has time for, from all over the component.
    for count in counts.iter().step_by(counts.len() / 8) {
        let Range { start, end } = count.at;
        let mut mutants = vec![
            ("no less", changed(&component, count.lessens, &[0])),
            (
                "never too little",
                changed(&component, count.compares, &[0x55]),
            ),
            (
                "no refill",
                changed(&component, count.calls, &vec![NOP; end - 1 - count.calls]),
            ),
        ];
        // At the beginning of a function it may be one count of several in a circle.
        if component[start - 2] == LOOP {
            mutants.push((
                "nothing",
                changed(&component, start, &vec![NOP; end - start]),
            ));
        }
        for (what, mutant) in mutants {
            assert!(metered::check(&mutant).is_err(), "{what} at {start}");
        }
    }
}

/// The index of an import, and where the index stands in a call of it, in the module that has it.
fn import(
    component: &[u8],
    is: impl Fn(&str, &str) -> bool,
) -> (Option<u32>, Option<Range<usize>>) {
    let (mut imported, mut found) = (0, None);
    for payload in Parser::new(0).parse_all(component) {
        match payload.expect("a section") {
            Payload::Version { .. } if found.is_some() => break,
            Payload::Version { .. } => imported = 0,
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.expect("an import");
                    if let TypeRef::Func(_) = import.ty {
                        if is(import.module, import.name) {
                            found = Some(imported);
                        }
                        imported += 1;
                    }
                }
            }
            Payload::CodeSectionEntry(body) if found.is_some() => {
                let mut operators = body.get_operators_reader().expect("code");
                while !operators.eof() {
                    let at = operators.original_position();
                    match operators.read().expect("an operator") {
                        Operator::Call { function_index } if Some(function_index) == found => {
                            return (found, Some(at + 1..operators.original_position()));
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    (found, None)
}

#[test]
fn a_component_that_drops_a_resource_of_its_own_does_not_pass() {
    const DROP: &str = "[resource-drop]";
    let component = std::fs::read(component()).expect("the component");
    let exported = |module: &str| module.starts_with("[export]");
    let (own, called) = import(&component, |module, name| {
        exported(module) && name.starts_with(DROP)
    });
    assert_eq!(called, None);
    let (_, call) = import(&component, |module, name| {
        !exported(module) && name.starts_with(DROP)
    });
    let (own, call) = (
        own.expect("its own"),
        call.expect("another that is dropped"),
    );
    let mut index = vec![0x80; call.len()];
    index[0] |= u8::try_from(own)
        .ok()
        .filter(|own| *own < 0x80)
        .expect("few imports");
    *index.last_mut().expect("an index") &= 0x7f;
    let refused = metered::check(&changed(&component, call.start, &index)).expect_err("a mutant");
    assert!(
        format!("{refused:#}").contains("drops a resource of the component's own"),
        "{refused:#}"
    );
    // Under another name it would not be known.
    let mut names = component.windows(DROP.len() + 7);
    let at = names
        .position(|name| name == b"[resource-drop]session")
        .expect("a name");
    assert!(metered::check(&changed(&component, at, b"[resource-drip]")).is_err());
}
