//! Every reply of the transcripts is valid by the official JSON Schema of its revision, and has
//! no member that its revision does not know.

mod transcript;

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use jsonschema::Validator;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

use transcript::Transcript;

/// The newest revision with a handshake: what a client gets that did not open one.
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN];

fn main() -> Result<ExitCode> {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = transcript::all()?
        .into_iter()
        .map(|transcript| trial(transcript.name.clone(), move || check(&transcript)))
        .collect();
    for revision in REVISIONS {
        trials.push(trial(
            format!("the schema of {revision} refuses what is wrong"),
            move || refuses(revision),
        ));
    }
    trials.push(trial(
        "every revision has replies of every kind".into(),
        covered,
    ));
    Ok(libtest_mimic::run(&arguments, trials).exit_code())
}

fn trial(name: String, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, || {
        test().map_err(|error| Failed::from(format!("{error:#}")))
    })
}

/// The schema of one revision.
struct Schema {
    revision: &'static str,
    root: Value,
    /// Where its definitions are: `definitions`, from 2025-11-25 on `$defs`.
    place: &'static str,
    compiled: HashMap<String, Validator>,
}

impl Schema {
    fn open(revision: &str) -> Result<Self> {
        let revision = REVISIONS
            .into_iter()
            .find(|known| *known == revision)
            .context("an unknown revision")?;
        let path = format!("{}/schemas/{revision}.json", env!("CARGO_MANIFEST_DIR"));
        let root: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        let place = if root.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        Ok(Self {
            revision,
            root,
            place,
            compiled: HashMap::new(),
        })
    }

    /// The first of these definitions that the revision has: they were renamed over time.
    fn named(&self, names: &[&str]) -> Result<String> {
        let definitions = &self.root[self.place];
        let name = names.iter().find(|name| definitions.get(**name).is_some());
        Ok((*name.with_context(|| format!("{}: no {names:?}", self.revision))?).to_owned())
    }

    fn check(&mut self, names: &[&str], value: &Value) -> Result<()> {
        let name = self.named(names)?;
        if !self.compiled.contains_key(&name) {
            let mut schema = self.root.clone();
            schema["$ref"] = json!(format!("#/{}/{name}", self.place));
            let validator =
                jsonschema::validator_for(&schema).map_err(|error| anyhow::anyhow!("{error}"))?;
            self.compiled.insert(name.clone(), validator);
        }
        if let Some(error) = self.compiled[&name].iter_errors(value).next() {
            bail!(
                "{} {name}: {error} at {} in {value}",
                self.revision,
                error.instance_path()
            );
        }
        Ok(())
    }

    /// The schemas are open: they allow any member. This holds a value to those that they name.
    fn closed(&self, name: &str, value: &Value) -> Result<()> {
        let properties = &self.root[self.place][name]["properties"];
        for member in value
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::keys)
        {
            ensure!(
                properties.get(member).is_some(),
                "{} {name} has no member {member}: {value}",
                self.revision
            );
        }
        Ok(())
    }
}

/// What was asked under an id.
struct Asked {
    method: String,
    revision: String,
}

/// What a transcript's replies were checked as: a revision and a definition each.
type Seen = Vec<(String, &'static str)>;

fn check(transcript: &Transcript) -> Result<()> {
    checked(transcript).map(drop)
}

fn checked(transcript: &Transcript) -> Result<Seen> {
    let mut negotiated: Option<String> = None;
    let mut asked: HashMap<String, Asked> = HashMap::new();
    let mut latest = LEGACY.to_owned();
    let mut schemas: HashMap<String, Schema> = HashMap::new();
    let mut seen = Vec::new();
    for step in &transcript.steps {
        ensure!(
            step.pause <= Duration::from_secs(1),
            "a pause that would make the tests slow"
        );
        let sent = step
            .sent
            .strip_prefix(b"\xEF\xBB\xBF")
            .unwrap_or(&step.sent);
        if let Ok(sent) = serde_json::from_slice::<Value>(sent) {
            for message in messages(&sent) {
                let modern = is_modern(message);
                let legacy = negotiated.as_deref().unwrap_or(LEGACY);
                latest = if modern { MODERN } else { legacy }.to_owned();
                if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
                    let revision = latest.clone();
                    asked.insert(
                        id.to_string(),
                        Asked {
                            method: method.to_owned(),
                            revision,
                        },
                    );
                }
            }
        }
        for line in &step.replies {
            if line.is_array() {
                ensure!(
                    negotiated.as_deref() == Some("2025-03-26"),
                    "a batch in the wrong revision: {line}"
                );
            }
            for reply in messages(line) {
                let question = reply.get("id").and_then(|id| asked.get(&id.to_string()));
                let opened = reply["result"]["protocolVersion"].as_str();
                if let Some(revision) = opened {
                    negotiated = Some(revision.to_owned());
                    latest = revision.to_owned();
                }
                let revision = opened
                    .unwrap_or_else(|| question.map_or(latest.as_str(), |asked| &asked.revision));
                let schema = match schemas.entry(revision.to_owned()) {
                    std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        entry.insert(Schema::open(revision)?)
                    }
                };
                let method = question.map(|asked| asked.method.as_str());
                let kind = check_message(schema, method, reply, negotiated.is_some())?;
                seen.push((revision.to_owned(), kind));
            }
        }
    }
    Ok(seen)
}

/// A line is one message or, in 2025-03-26, several.
fn messages(line: &Value) -> &[Value] {
    match line {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

fn is_modern(message: &Value) -> bool {
    let method = message["method"].as_str().unwrap_or_default();
    let opens = method == "initialize" && message["params"].get("protocolVersion").is_some();
    let meta = message["params"]["_meta"].as_object();
    let carries = meta.is_some_and(|meta| {
        meta.keys()
            .any(|key| key.starts_with("io.modelcontextprotocol/"))
    });
    (carries && !opens) || ["server/discover", "subscriptions/listen"].contains(&method)
}

fn check_message(
    schema: &mut Schema,
    method: Option<&str>,
    message: &Value,
    opened: bool,
) -> Result<&'static str> {
    let members: Vec<&str> = message
        .as_object()
        .context("not an object")?
        .keys()
        .map(String::as_str)
        .collect();
    if let Some(result) = message.get("result") {
        ensure!(
            members == ["jsonrpc", "id", "result"],
            "odd members in {message}"
        );
        schema.check(&["JSONRPCResultResponse", "JSONRPCResponse"], message)?;
        let method = method.with_context(|| format!("nobody asked for {message}"))?;
        let definition = match method {
            "initialize" => "InitializeResult",
            "ping" => "EmptyResult",
            "tools/list" => "ListToolsResult",
            "tools/call" => "CallToolResult",
            "server/discover" => "DiscoverResult",
            other => bail!("a result for {other}: {message}"),
        };
        schema.check(&[definition], result)?;
        schema.closed(definition, result)?;
        schema.closed("Implementation", &result["serverInfo"])?;
        schema.closed(
            "Implementation",
            &result["_meta"]["io.modelcontextprotocol/serverInfo"],
        )?;
        schema.closed("ServerCapabilities", &result["capabilities"])?;
        for tool in result["tools"].as_array().into_iter().flatten() {
            schema.closed("Tool", tool)?;
            if let Some(annotations) = tool.get("annotations") {
                schema.closed("ToolAnnotations", annotations)?;
            }
        }
        return Ok(definition);
    }
    if let Some(error) = message.get("error") {
        let mut message = message.clone();
        if message.get("id") == Some(&Value::Null) {
            // JSON-RPC's form. No schema of the protocol has it; it is used where none that is
            // agreed on has the other form.
            let before = !opened || schema.revision < LEGACY;
            ensure!(
                before && matches!(error["code"].as_i64(), Some(-32700 | -32600)),
                "id null in {message}"
            );
            message["id"] = json!(0);
        }
        let names: &[&str] = match error["code"].as_i64() {
            Some(-32022) => &["UnsupportedProtocolVersionError"],
            _ => &["JSONRPCErrorResponse", "JSONRPCError"],
        };
        schema.check(names, &message)?;
        if schema.revision == MODERN {
            ensure!(
                error["code"] != -32002,
                "a code that the revision forbids: {message}"
            );
        }
        return Ok("JSONRPCError");
    }
    ensure!(
        members == ["jsonrpc", "method", "params"],
        "odd members in {message}"
    );
    schema.check(&["JSONRPCNotification"], message)?;
    let (definition, parameters) = match message["method"].as_str() {
        Some("notifications/progress") => ("ProgressNotification", "ProgressNotificationParams"),
        Some("notifications/subscriptions/acknowledged") => (
            "SubscriptionsAcknowledgedNotification",
            "SubscriptionsAcknowledgedNotificationParams",
        ),
        other => bail!("an unexpected notification {other:?}"),
    };
    schema.check(&[definition], message)?;
    if schema.root[schema.place].get(parameters).is_some() {
        schema.closed(parameters, &message["params"])?;
    }
    Ok(definition)
}

/// A check that passes everything would not be noticed otherwise.
fn refuses(revision: &str) -> Result<()> {
    let mut schema = Schema::open(revision)?;
    let good = json!({"jsonrpc": "2.0", "id": 1, "result": {
        "resultType": "complete", "content": [{"type": "text", "text": ""}], "isError": false,
    }});
    if revision == MODERN {
        check_message(&mut schema, Some("tools/call"), &good, true)?;
    } else {
        ensure!(
            check_message(&mut schema, Some("tools/call"), &good, true).is_err(),
            "resultType is not known yet"
        );
    }
    for (pointer, bad) in [
        ("/result", json!({})),
        ("/result/content", json!("text")),
        ("/result/content/0", json!({"type": "text"})),
        ("/result/content/0/type", json!("song")),
        ("/result/isError", json!("no")),
        ("/id", json!(null)),
        ("/id", json!(1.5)),
        ("/jsonrpc", json!("1.0")),
    ] {
        let mut message = good.clone();
        if revision != MODERN {
            message["result"]
                .as_object_mut()
                .context("an object")?
                .remove("resultType");
        }
        *message.pointer_mut(pointer).context("a place")? = bad;
        ensure!(
            check_message(&mut schema, Some("tools/call"), &message, true).is_err(),
            "{message} passes"
        );
    }
    Ok(())
}

/// The transcripts would prove little if a revision did not occur in them.
fn covered() -> Result<()> {
    let mut seen = Seen::new();
    for transcript in transcript::all()? {
        seen.extend(checked(&transcript)?);
    }
    for revision in REVISIONS {
        let first = if revision == MODERN {
            "DiscoverResult"
        } else {
            "InitializeResult"
        };
        for kind in [first, "ListToolsResult", "CallToolResult", "JSONRPCError"] {
            ensure!(
                seen.iter().any(|(r, k)| r == revision && *k == kind),
                "no {kind} of {revision} in any transcript"
            );
        }
    }
    Ok(())
}
