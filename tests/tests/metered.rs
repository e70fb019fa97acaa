//! The check that the component counts its work: it passes, and no component passes from which
//! a part of the counter was taken.

#[path = "../../host/build/metered.rs"]
mod metered;

use std::ops::Range;

use sqlarium_tests::component;
use wasmparser::{Operator, Parser, Payload, TypeRef};

const NOP: u8 = 0x01;
const LOOP: u8 = 0x03;
const CALL: u8 = 0x10;
const DROP: u8 = 0x1a;
const LOCAL_GET: u8 = 0x20;
const LOCAL_SET: u8 = 0x21;
const LOCAL_TEE: u8 = 0x22;
const GLOBAL_GET: u8 = 0x23;
const GLOBAL_SET: u8 = 0x24;

/// The instructions that count a unit, and where their parts are.
struct Count {
    at: Range<usize>,
    /// The constant that is taken away.
    lessens: usize,
    /// What says that it is too little.
    compares: usize,
    /// The index of what refills.
    refills: Range<usize>,
    /// What the counter becomes, where a local stands for it: the instruction that writes it, and the one
    /// before the loop that reads it into the local.
    kept: Option<[Range<usize>; 2]>,
}

/// Finds them all, by their bytes.
fn counts(component: &[u8]) -> Vec<Count> {
    let mut counts = Vec::new();
    let mut at = 0;
    while at + 40 < component.len() {
        match plain(component, at).or_else(|| kept(component, at)) {
            Some(count) => {
                at = count.at.end;
                counts.push(count);
            }
            None => at += 1,
        }
    }
    counts
}

/// A count in the counter itself, at this place.
fn plain(component: &[u8], start: usize) -> Option<Count> {
    let left = index(component, start, GLOBAL_GET)?;
    let get = &component[left.clone()];
    let (at, lessens) = take(component, left.end, &[&[0x42, 1, 0x7d, GLOBAL_SET], get])?;
    let (at, _) = take(component, at, &[&[GLOBAL_GET], get])?;
    let (call, compares) = take(component, at, &[&[0x42, 0, 0x53, 0x04, 0x40]])?;
    let refill = index(component, call, CALL)?;
    Some(Count {
        at: start..refill.end + 1,
        lessens: lessens + 1,
        compares: compares + 2,
        refills: call..refill.end,
        kept: None,
    })
}

/// A count in a local that stands for the counter, at this place: within a loop.
fn kept(component: &[u8], start: usize) -> Option<Count> {
    let local = index(component, start, LOCAL_GET)?;
    let get = &component[local.clone()];
    let (set, lessens) = take(component, local.end, &[&[0x42, 1, 0x7d, LOCAL_TEE], get])?;
    let left = index(component, set, GLOBAL_SET)?;
    let (at, _) = take(component, left.end, &[&[LOCAL_GET], get])?;
    let (call, compares) = take(component, at, &[&[0x42, 0, 0x53, 0x04, 0x40]])?;
    let refill = index(component, call, CALL)?;
    let again = index(component, refill.end, GLOBAL_GET)?;
    let (end, _) = take(component, again.end, &[&[LOCAL_SET], get, &[0x0b]])?;
    // The loop has no parameters: its opcode and one byte.
    let before = start - 2 - 1 - get.len();
    Some(Count {
        at: start..end,
        lessens: lessens + 1,
        compares: compares + 2,
        refills: call..refill.end,
        kept: Some([set..left.end, before..start - 2]),
    })
}

/// Where bytes end that are at this place, and where they begin; none if others are there.
fn take(component: &[u8], at: usize, parts: &[&[u8]]) -> Option<(usize, usize)> {
    let bytes = parts.concat();
    let found = component.get(at..)?.starts_with(&bytes);
    found.then_some((at + bytes.len(), at))
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
    let (kept, plain): (Vec<&Count>, Vec<&Count>) =
        counts.iter().partition(|count| count.kept.is_some());
    assert!(kept.len() > 500, "{} in loops that keep it", kept.len());
    let some = |counts: &[&Count]| counts.len() / 4;
    let chosen = plain.iter().step_by(some(&plain));
    for count in chosen.chain(kept.iter().step_by(some(&kept))) {
        let Range { start, end } = count.at;
        let nops = |range: &Range<usize>| vec![NOP; range.len()];
        // Whatever is on the stack goes.
        let dropped = |range: &Range<usize>| [vec![DROP], vec![NOP; range.len() - 1]].concat();
        let mut mutants = vec![
            ("no less", changed(&component, count.lessens, &[0])),
            (
                "never too little",
                changed(&component, count.compares, &[0x55]),
            ),
            (
                "no refill",
                changed(&component, count.refills.start, &nops(&count.refills)),
            ),
        ];
        // At the beginning of a function it may be one count of several in a circle.
        if component[start - 2] == LOOP {
            mutants.push(("nothing", changed(&component, start, &nops(&count.at))));
        }
        if let Some([written, read]) = &count.kept {
            let forgotten = changed(&component, written.start, &dropped(written));
            mutants.push(("what is kept is not written", forgotten));
            if component[start - 2] == LOOP {
                let stale = changed(&component, read.start, &dropped(read));
                mutants.push(("what is kept is old", stale));
            }
        }
        for (what, mutant) in mutants {
            assert!(metered::check(&mutant).is_err(), "{what} at {start}..{end}");
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
