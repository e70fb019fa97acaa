//! Metering of one core module. It only adds: no index that was there changes.

use std::collections::HashSet;

use anyhow::{Result, bail, ensure};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{
    BranchHints, CodeSection, ConstExpr, ExportKind, ExportSection, FunctionSection, GlobalSection,
    GlobalType, Module, RawSection, TypeSection, ValType,
};
use wasmparser::{
    ElementItems, Export, ExternalKind, FunctionBody, Operator, Parser, Payload, TypeRef,
};

use super::calls::{self, Body};
use super::counter::{BETWEEN, Counter};

/// The interface whose functions are for the meter.
const CONTROL: &str = "sqlarium:sandbox/control@";

/// Asks for the next slice.
const METER: &str = "meter";

/// How those are called that drop a resource which the component exports.
const EXPORTED: &str = "[export]";
const DROP: &str = "[resource-drop]";

/// The import for which the host has to know exactly what was used before.
const EXACT: &str = "usage";

/// What the module has.
#[derive(Default)]
struct Facts<'a> {
    /// The number of parameters of each type.
    parameters: Vec<usize>,
    /// The type of each function, the imported ones first.
    functions: Vec<u32>,
    imported: u32,
    globals: u32,
    meter: Option<u32>,
    exact: Option<u32>,
    /// Imports that drop a resource of the component's own.
    drops: HashSet<u32>,
    exports: Vec<Export<'a>>,
    bodies: Vec<FunctionBody<'a>>,
    /// Functions that can be called indirectly.
    table: HashSet<u32>,
}

/// The same module, metered; none if it does not import `control.meter`.
pub fn meter(module: &[u8]) -> Result<Option<Vec<u8>>> {
    let facts = Facts::read(module)?;
    let Some(meter) = facts.meter else {
        return Ok(None);
    };
    ensure!(
        !facts.table.contains(&meter) && facts.table.is_disjoint(&facts.drops),
        "the import that meters, or one that begins anew, is in a table"
    );
    write(module, &facts, meter).map(Some)
}

impl<'a> Facts<'a> {
    fn read(module: &'a [u8]) -> Result<Self> {
        let mut facts = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(types) => {
                    for ty in types.into_iter_err_on_gc_types() {
                        facts.parameters.push(ty?.params().len());
                    }
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        facts.import(import?);
                    }
                }
                Payload::FunctionSection(functions) => {
                    for ty in functions {
                        facts.functions.push(ty?);
                    }
                }
                Payload::GlobalSection(globals) => facts.globals += globals.count(),
                Payload::ExportSection(exports) => {
                    for export in exports {
                        facts.exports.push(export?);
                    }
                }
                Payload::ElementSection(elements) => {
                    for element in elements {
                        let ElementItems::Functions(items) = element?.items else {
                            bail!("it has elements that are not indices of functions");
                        };
                        for function in items {
                            facts.table.insert(function?);
                        }
                    }
                }
                Payload::StartSection { .. } => bail!("it has a start function"),
                Payload::CodeSectionEntry(body) => facts.bodies.push(body),
                _ => {}
            }
        }
        Ok(facts)
    }

    fn import(&mut self, import: wasmparser::Import<'_>) {
        match import.ty {
            TypeRef::Func(ty) => {
                if import.module.starts_with(EXPORTED) && import.name.starts_with(DROP) {
                    self.drops.insert(self.imported);
                }
                if import.module.starts_with(CONTROL) {
                    match import.name {
                        METER => self.meter = Some(self.imported),
                        EXACT => self.exact = Some(self.imported),
                        _ => {}
                    }
                }
                self.functions.push(ty);
                self.imported += 1;
            }
            TypeRef::Global(_) => self.globals += 1,
            _ => {}
        }
    }

    /// Which of the functions that are defined count at their entry.
    fn counting(&self) -> Result<Vec<bool>> {
        let defined = |function: u32| function.checked_sub(self.imported).map(|at| at as usize);
        let mut bodies = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let mut facts = Body::default();
            for operator in body.get_operators_reader()? {
                facts.instructions += 1;
                match operator? {
                    Operator::Call { function_index } => {
                        facts.calls.extend(defined(function_index));
                    }
                    Operator::CallIndirect { .. } => facts.indirect += 1,
                    _ => {}
                }
            }
            bodies.push(facts);
        }
        let table = self.table.iter().copied().filter_map(defined).collect();
        Ok(calls::choose(&bodies, &table))
    }

    /// The number of parameters of a function.
    fn parameters(&self, function: u32) -> u32 {
        let ty = self.functions[function as usize];
        u32::try_from(self.parameters[ty as usize]).expect("a function has few parameters")
    }
}

/// Writes the module again, section by section.
fn write(module: &[u8], facts: &Facts<'_>, meter: u32) -> Result<Vec<u8>> {
    let (asks, plain) = (facts.parameters.len(), facts.parameters.len() + 1);
    let mut counter = Counter {
        meter,
        left: facts.globals,
        quiet: facts.globals + 1,
        refill: u32::try_from(facts.functions.len())?,
        exact: None,
        drops: facts.drops.clone(),
        hints: Vec::new(),
    };
    // What is added: its types and bodies, in the order of its indices.
    let mut types = vec![u32::try_from(plain)?];
    let mut added = vec![counter.refill_body()];
    let mut add = |like: u32, body| {
        types.push(facts.functions[like as usize]);
        added.push(body);
        counter.refill + types.len() as u32 - 1
    };
    if let Some(import) = facts.exact {
        let body = counter.exact_body(import, facts.parameters(import));
        let index = add(import, body);
        counter.exact = Some((import, index));
    }
    let mut exports = ExportSection::new();
    for export in &facts.exports {
        let index = match export.kind {
            ExternalKind::Func => {
                let body = counter.entrance_body(
                    export.name,
                    export.index,
                    facts.parameters(export.index),
                );
                add(export.index, body)
            }
            _ => export.index,
        };
        exports.export(export.name, ExportKind::from(export.kind), index);
    }
    let mut code = CodeSection::new();
    for (at, (body, counts)) in facts.bodies.iter().zip(facts.counting()?).enumerate() {
        let index = facts.imported + u32::try_from(at)?;
        code.function(&counter.metered(index, facts.parameters(index), body, counts)?);
    }
    for body in &added {
        code.function(body);
    }

    let mut output = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(reader) => {
                let mut section = TypeSection::new();
                RoundtripReencoder.parse_type_section(&mut section, reader)?;
                ensure!(section.len() as usize == asks, "it has groups of types");
                section.ty().function([ValType::I64], [ValType::I64]);
                section.ty().function([], []);
                output.section(&section);
            }
            Payload::FunctionSection(_) => {
                let mut section = FunctionSection::new();
                let defined = facts.functions.iter().skip(facts.imported as usize);
                for &ty in defined.chain(&types) {
                    section.function(ty);
                }
                output.section(&section);
            }
            Payload::GlobalSection(reader) => {
                let mut section = GlobalSection::new();
                RoundtripReencoder.parse_global_section(&mut section, reader)?;
                section.global(mutable(ValType::I64), &ConstExpr::i64_const(BETWEEN));
                section.global(mutable(ValType::I32), &ConstExpr::i32_const(0));
                output.section(&section);
            }
            Payload::ExportSection(_) => {
                output.section(&exports);
            }
            Payload::CodeSectionStart { .. } => {
                let mut hints = BranchHints::new();
                for (function, at) in std::mem::take(&mut counter.hints) {
                    hints.function_hints(function, at);
                }
                output.section(&hints);
                output.section(&code);
            }
            Payload::CodeSectionEntry(_) | Payload::CustomSection(_) => {}
            other => {
                if let Some((id, range)) = other.as_section() {
                    let data = &module[range];
                    output.section(&RawSection { id, data });
                }
            }
        }
    }
    Ok(output.finish())
}

fn mutable(val_type: ValType) -> GlobalType {
    GlobalType {
        val_type,
        mutable: true,
        shared: false,
    }
}
