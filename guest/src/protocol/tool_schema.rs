//! A command as MCP declares a tool.
//!
//! The schemas keep to what every client takes: one `type` for each property, no unions, no
//! references. A property without a `type`, or an array without `items`, makes some clients drop
//! the whole tool, so `params` is declared as an object, and an array is taken all the same.

use serde_json::{Map, Value, json};

use crate::command::interface::argument::{Argument, Shape, accepted};
use crate::command::interface::command::{Command, Effect};
use crate::command::interface::context::Context;
use crate::settings::EngineSettings;

/// The tool as it stands in `tools/list` for the client of this context.
pub(crate) fn declare(command: &Command, context: &Context) -> Value {
    let engine = &context.settings.engine;
    let told = |text| context.audience.told(context.registry, command, text);
    json!({
        "name": command.tool_name(),
        "title": command.title,
        "description": told(command.description),
        "inputSchema": input(command, engine),
        "annotations": annotations(command.effect_under(engine).unwrap_or(command.effect)),
    })
}

fn input(command: &Command, settings: &EngineSettings) -> Value {
    let accepted = accepted(command, settings, false);
    let properties: Map<String, Value> = accepted
        .iter()
        .map(|argument| (argument.name.to_owned(), property(argument)))
        .collect();
    let required: Vec<&str> = accepted
        .iter()
        .filter(|argument| argument.required)
        .map(|argument| argument.name)
        .collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    schema.into()
}

fn property(argument: &Argument) -> Value {
    let mut property = Map::new();
    let kind = match argument.shape {
        Shape::Text
        | Shape::Sql
        | Shape::Names
        | Shape::InputPath
        | Shape::OutputPath
        | Shape::Choice(_) => "string",
        Shape::Integer { .. } => "integer",
        Shape::Flag => "boolean",
        Shape::Json => "object",
        Shape::Numbers => "array",
    };
    property.insert("type".into(), kind.into());
    match argument.shape {
        Shape::Integer { min, max } => {
            property.insert("minimum".into(), min.into());
            if max < i64::MAX {
                property.insert("maximum".into(), max.into());
            }
        }
        // The default is said in words, where there is more to say than that it is the first.
        Shape::Choice(words) => {
            property.insert("enum".into(), words.into());
        }
        Shape::Numbers => {
            property.insert("items".into(), json!({"type": "number"}));
        }
        Shape::Text
        | Shape::Sql
        | Shape::Names
        | Shape::InputPath
        | Shape::OutputPath
        | Shape::Flag
        | Shape::Json => {}
    }
    if !argument.summary.is_empty() {
        property.insert("description".into(), argument.summary.into());
    }
    property.into()
}

fn annotations(effect: Effect) -> Value {
    let (reads, destructive, idempotent) = match effect {
        Effect::Reads => (true, false, true),
        Effect::MayWrite => (false, true, false),
        Effect::Writes {
            destructive,
            idempotent,
        } => (false, destructive, idempotent),
    };
    json!({
        "readOnlyHint": reads,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::interface::audience::Audience;
    use crate::command::interface::toolset::Toolset;
    use crate::host::Alone;
    use crate::registry::REGISTRY;
    use crate::settings::CommandSettings;

    /// What a client works with that has these tools, and files.
    fn context(tools: Toolset) -> Context {
        let engine = EngineSettings {
            root: true,
            ..EngineSettings::default()
        };
        let settings = CommandSettings {
            engine,
            ..CommandSettings::default()
        };
        Context::new(settings, &Alone, &REGISTRY, Audience::Client(tools))
    }

    fn size(tools: &str) -> usize {
        // With everything on that makes them longer.
        let toolset = Toolset::parse(&REGISTRY, tools).unwrap();
        let context = context(toolset.clone());
        let tools: Vec<Value> = toolset
            .commands()
            .map(|command| declare(command, &context))
            .collect();
        serde_json::to_string(&json!({ "tools": tools }))
            .unwrap()
            .len()
    }

    #[test]
    fn the_lists_are_small_enough_to_be_read_in_every_conversation() {
        assert!(size("all") < 22_000, "all is {} bytes", size("all"));
        assert!(size("core") < 7_500, "core is {} bytes", size("core"));
        assert!(size("select") < 2_000, "select is {} bytes", size("select"));
    }

    #[test]
    fn names_and_descriptions_keep_within_what_clients_take() {
        for command in REGISTRY.commands.iter().chain(REGISTRY.select) {
            let name = command.tool_name();
            assert!(name.len() < 30, "{name}");
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
                "{name}"
            );
            assert!(command.description.len() < 2_000, "{name}");
            assert!(
                command.summary.len() < 80,
                "{name}: {}",
                command.summary.len()
            );
            assert!(!command.summary.contains('\n'), "{name}");
        }
    }

    #[test]
    fn every_schema_is_of_the_portable_kind() {
        let context = context(Toolset::all(&REGISTRY));
        for command in REGISTRY.commands.iter().chain(REGISTRY.select) {
            let tool = declare(command, &context);
            let schema = &tool["inputSchema"];
            assert_eq!(schema["type"], "object");
            assert_eq!(schema["additionalProperties"], false);
            let properties = schema["properties"].as_object().unwrap();
            for (name, property) in properties {
                let kind = property["type"].as_str().unwrap();
                assert!(
                    ["string", "integer", "boolean", "object", "array"].contains(&kind),
                    "{name}"
                );
                assert_eq!(kind == "array", property.get("items").is_some(), "{name}");
                for keyword in ["anyOf", "oneOf", "allOf", "$ref"] {
                    assert!(property.get(keyword).is_none(), "{name} {keyword}");
                }
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(properties.contains_key(name.as_str().unwrap()));
            }
            assert!(properties.contains_key("output"));
            assert_eq!(properties.contains_key("db"), command.database);
        }
    }

    #[test]
    fn annotations_follow_the_effect() {
        let context = context(Toolset::all(&REGISTRY));
        let query = declare(REGISTRY.find("query").unwrap(), &context);
        assert_eq!(
            query["annotations"],
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false})
        );
        let exec = declare(REGISTRY.find("exec").unwrap(), &context);
        assert_eq!(exec["annotations"]["readOnlyHint"], false);
        assert_eq!(exec["annotations"]["destructiveHint"], true);
        let create = declare(REGISTRY.find("create").unwrap(), &context);
        assert_eq!(create["annotations"]["destructiveHint"], false);
    }

    #[test]
    fn a_tool_without_arguments_of_its_own_still_has_properties() {
        let mut context = context(Toolset::all(&REGISTRY));
        context.settings.engine.root = false;
        let tool = declare(REGISTRY.find("databases").unwrap(), &context);
        assert_eq!(
            tool["inputSchema"],
            json!({
                "type": "object",
                "properties": {"output": {"type": "string", "enum": ["text", "json"]}},
                "additionalProperties": false,
            })
        );
    }
}
