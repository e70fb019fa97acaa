//! That a component cannot drop a resource of its own but under names by which that can be seen.
//!
//! What destroys such a resource is a function by which the host enters, and it begins with the meter:
//! called from within, it would let whoever calls it begin anew. So a module finds it under
//! `[export]…` and `[resource-drop]…` alone, as those who make components call it, and its check sees
//! that nothing calls it.

use std::collections::HashSet;

use anyhow::{Context, Result, bail, ensure};
use wasmparser::component_types::{ComponentAnyTypeId, ResourceId};
use wasmparser::types::TypesRef;
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentType, ExternalKind, Instance,
    Parser, Payload, Validator,
};

/// Whether a function of this name is one that drops a resource of the component's own.
pub fn is_own_drop(module: &str, name: &str) -> bool {
    module.starts_with(MODULE) && name.starts_with(DROP)
}

const MODULE: &str = "[export]";
const DROP: &str = "[resource-drop]";

/// Checks a valid component.
///
/// # Errors
///
/// If it passes a function that drops a resource of its own under another name.
pub fn check(component: &[u8]) -> Result<()> {
    let mut validator = Validator::new();
    let mut found = Found::default();
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload?;
        validator.payload(&payload)?;
        let within = validator.types(1).is_some();
        match payload {
            Payload::ComponentTypeSection(section) => {
                let types = validator.types(0).context("a section without types")?;
                let first = types.component_type_count() - section.count();
                for (index, ty) in (first..).zip(section) {
                    if let ComponentType::Resource { dtor, .. } = ty? {
                        // Each instance of that component would have another.
                        ensure!(!within, "a component within it has a resource of its own");
                        found.is_not_a_drop(dtor)?;
                        found.own.insert(resource(types, index)?);
                    }
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                let types = validator.types(0).context("a section without types")?;
                for function in section {
                    let function = function?;
                    if within {
                        // What is imported there may be anyone's.
                        let drops = matches!(function, CanonicalFunction::ResourceDrop { .. });
                        ensure!(!drops, "a component within it drops resources");
                    } else {
                        found.function(types, &function)?;
                    }
                }
            }
            Payload::ComponentAliasSection(section) if !within => {
                for alias in section {
                    found.alias(&alias?)?;
                }
            }
            Payload::InstanceSection(section) if !within => {
                for instance in section {
                    found.instance(&instance?)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What there is in the component so far.
#[derive(Default)]
struct Found {
    /// Its own resources.
    own: HashSet<ResourceId>,
    /// Functions of core WebAssembly.
    functions: u32,
    /// Those of them that drop one of its own.
    drops: HashSet<u32>,
    /// For each instance of core WebAssembly, whether it has such a one.
    instances: Vec<bool>,
}

impl Found {
    fn is_not_a_drop(&self, function: Option<u32>) -> Result<()> {
        let drops = function.is_some_and(|function| self.drops.contains(&function));
        ensure!(
            !drops,
            "what drops a resource of its own is something else, too"
        );
        Ok(())
    }

    fn function(&mut self, types: TypesRef<'_>, function: &CanonicalFunction) -> Result<()> {
        match function {
            CanonicalFunction::Lift {
                core_func_index,
                options,
                ..
            } => {
                self.is_not_a_drop(Some(*core_func_index))?;
                for option in options {
                    if let CanonicalOption::PostReturn(function) = option {
                        self.is_not_a_drop(Some(*function))?;
                    }
                }
                return Ok(());
            }
            CanonicalFunction::ResourceDrop { resource: index }
                if self.own.contains(&resource(types, *index)?) =>
            {
                self.drops.insert(self.functions);
            }
            _ => {}
        }
        self.functions += 1;
        Ok(())
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) -> Result<()> {
        if let ComponentAlias::CoreInstanceExport {
            kind: ExternalKind::Func,
            instance_index,
            ..
        } = alias
        {
            ensure!(
                !self.instances[*instance_index as usize],
                "what drops a resource of its own is taken out of an instance"
            );
            self.functions += 1;
        }
        Ok(())
    }

    fn instance(&mut self, instance: &Instance<'_>) -> Result<()> {
        let mut drops = false;
        match instance {
            Instance::FromExports(exports) => {
                for export in exports.iter() {
                    if export.kind == ExternalKind::Func && self.drops.contains(&export.index) {
                        ensure!(export.name.starts_with(DROP), "{} drops", export.name);
                        drops = true;
                    }
                }
            }
            Instance::Instantiate { args, .. } => {
                for argument in args.iter() {
                    if self.instances[argument.index as usize] {
                        let named = argument.name.starts_with(MODULE);
                        ensure!(named, "{} drops a resource of its own", argument.name);
                    }
                }
            }
        }
        self.instances.push(drops);
        Ok(())
    }
}

fn resource(types: TypesRef<'_>, index: u32) -> Result<ResourceId> {
    match types.component_any_type_at(index) {
        ComponentAnyTypeId::Resource(id) => Ok(id.resource()),
        other => bail!("type {index} is {other:?} and no resource"),
    }
}
