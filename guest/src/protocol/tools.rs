//! `tools/list` and `tools/call`, on top of the command table.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::jsonrpc::{Error, INVALID_PARAMS, Id, decoded};
use super::reply::{CallResult, TextContent, Writer};
use super::revision::Revision;
use super::tool_schema::declare;
use crate::answer::failure::{Failure, Status};
use crate::command::interface::argument::{Argument, Shape};
use crate::command::interface::audience::Audience;
use crate::command::interface::command::{Command, Effect, Registry};
use crate::command::interface::context::Context;
use crate::command::interface::session_log::SessionLog;
use crate::command::interface::toolset::{Toolset, unserved};
use crate::command::invoke::{Answer, invoke};
pub use crate::host::interrupt::Notify;
use crate::host::interrupt::{Progress as Reached, TO_A_CLIENT};
use crate::host::{Host, Interruption};
use crate::render::fits_twice;
use crate::settings::{ServerSettings, Undo};
use crate::text::count::grouped;
use crate::text::escape::{clipped, visible};

/// The tools of a session: the command table behind the owner's choice of tools.
///
/// ```
/// use serde_json::json;
/// use sqlarium_guest::host::Alone;
/// use sqlarium_guest::protocol::tools::{Served, Toolbox};
/// use sqlarium_guest::registry::REGISTRY;
/// use sqlarium_guest::settings::ServerSettings;
///
/// let settings = ServerSettings { tools: "query,tables".into(), ..ServerSettings::default() };
/// let mut tools = Served::new(settings, &Alone, &REGISTRY);
/// assert_eq!(tools.declarations().len(), 2);
/// assert_eq!(tools.nearest("sqlarium_tabels").as_deref(), Some("sqlarium_tables"));
///
/// let arguments = json!({"sql": "SELECT 6 * 7", "output": "json"});
/// let answer = tools.call("sqlarium_query", arguments.as_object().unwrap(), None).unwrap();
/// assert!(answer.json && answer.text.contains(r#""rows":[[42]]"#));
/// ```
pub trait Toolbox {
    /// The declarations, in the order of the table, with every member that any revision knows.
    fn declarations(&self) -> Vec<Map<String, Value>>;
    /// What a client is told at the start. Nothing that a database holds may speak here.
    fn instructions(&self) -> String;
    /// The name of the command behind a tool and what it does to data, if it is served.
    fn command(&self, tool: &str) -> Option<(&'static str, Effect)>;
    /// The tool that is served and that a client most likely meant by a name that is not.
    fn nearest(&self, tool: &str) -> Option<String>;
    /// The argument of a tool that holds what it runs, if it runs SQL.
    fn sql(&self, _tool: &str) -> Option<&'static str> {
        None
    }
    /// Why a tool that there is is not served, to end a sentence with.
    fn unserved(&self, _tool: &str) -> Option<&'static str> {
        None
    }
    /// Runs a tool that is served; no answer if the client has cancelled the call.
    fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
        notify: Option<Notify>,
    ) -> Option<Answer>;
    /// What the calls came to, if that is remembered.
    fn log(&mut self) -> Option<&mut SessionLog> {
        None
    }
}

/// The command table, with the databases that its commands work on.
pub struct Served {
    context: Context,
    tools: Toolset,
}

impl Served {
    /// The tools that the owner chose. Opens no database.
    pub fn new(
        settings: ServerSettings,
        host: &'static dyn Host,
        registry: &'static Registry,
    ) -> Self {
        let ServerSettings {
            mut command, tools, ..
        } = settings;
        // If the owner's choice cannot be read, nothing is served rather than everything.
        let tools = Toolset::served(registry, &tools, &command.engine).unwrap_or_default();
        let undo = &mut command.engine.undo;
        // What no tool can take back is not worth keeping.
        let useful = |undo: &Undo| undo.required || tools.can_undo();
        *undo = undo.take().filter(useful);
        let audience = Audience::Client(tools.clone());
        Self {
            context: Context::new(command, host, registry, audience),
            tools,
        }
    }

    fn find(&self, tool: &str) -> Option<&'static Command> {
        self.tools.find(tool)
    }
}

impl Toolbox for Served {
    fn declarations(&self) -> Vec<Map<String, Value>> {
        self.tools
            .commands()
            .filter_map(|command| match declare(command, &self.context) {
                Value::Object(tool) => Some(tool),
                _ => None,
            })
            .collect()
    }

    fn instructions(&self) -> String {
        self.tools.instructions()
    }

    fn command(&self, tool: &str) -> Option<(&'static str, Effect)> {
        let command = self.find(tool)?;
        let effect = command.effect_under(&self.context.settings.engine)?;
        Some((command.name, effect))
    }

    fn sql(&self, tool: &str) -> Option<&'static str> {
        let mut arguments = self.find(tool)?.arguments.iter();
        // The lines of a shell are SQL for the most part.
        let runs = |argument: &&Argument| argument.shape == Shape::Sql || argument.name == "input";
        arguments.find(runs).map(|argument| argument.name)
    }

    fn nearest(&self, tool: &str) -> Option<String> {
        self.tools.nearest(tool)
    }

    fn unserved(&self, tool: &str) -> Option<&'static str> {
        let mut commands = self.context.registry.commands.iter();
        let command = commands.find(|command| command.is_tool(tool))?;
        Some(unserved(command, &self.context.settings.engine).unwrap_or("with these --tools"))
    }

    fn call(
        &mut self,
        tool: &str,
        arguments: &Map<String, Value>,
        notify: Option<Notify>,
    ) -> Option<Answer> {
        let Some(command) = self.find(tool) else {
            let failure = Failure::new(Status::NotFound, format!("Unknown tool: {tool}"));
            return Some(Answer::refusal(failure));
        };
        self.context.engine.interrupt().begin(notify, TO_A_CLIENT);
        let answer = invoke(command, arguments, &mut self.context);
        let interrupt = self.context.engine.interrupt();
        // From here on no progress may be reported.
        interrupt.end();
        (interrupt.interruption() != Some(Interruption::Cancelled)).then_some(answer)
    }

    fn log(&mut self) -> Option<&mut SessionLog> {
        Some(&mut self.context.log)
    }
}

/// What `tools/list` answers.
///
/// # Errors
///
/// Any cursor: the list has one page, and no cursor was ever handed out for it.
pub(crate) fn list(
    tools: &dyn Toolbox,
    revision: Revision,
    params: &Map<String, Value>,
) -> Result<Map<String, Value>, Error> {
    match params.get("cursor") {
        None | Some(Value::Null) => {}
        // Some clients open every list with an empty cursor.
        Some(Value::String(cursor)) if cursor.is_empty() => {}
        Some(_) => {
            let why = "Invalid cursor: the tool list has one page. Ask without params.cursor.";
            return Err(Error::new(INVALID_PARAMS, why));
        }
    }
    let declared: Vec<_> = tools
        .declarations()
        .into_iter()
        .map(|tool| revision.tool(tool))
        .collect();
    let mut result = Map::new();
    result.insert("tools".into(), json!(declared));
    Ok(revision.cacheable(result))
}

/// What else goes when a call is aborted.
const LOST: &str = "Temporary tables and PRAGMA settings are lost.";

/// A call that can be made.
#[derive(Debug)]
pub(crate) struct Call {
    /// The tool, which is served.
    pub tool: String,
    /// The arguments, not yet looked at; none if they are no object.
    pub arguments: Option<Map<String, Value>>,
}

impl Call {
    /// Reads the parameters of `tools/call`.
    ///
    /// # Errors
    ///
    /// A call without a name, or of a tool that is not served. What is wrong with the arguments is
    /// said in a result: that is what a model sees.
    pub(crate) fn read(tools: &dyn Toolbox, mut params: Map<String, Value>) -> Result<Self, Error> {
        let Some(Value::String(tool)) = params.remove("name") else {
            let why = "tools/call needs params.name, the name of a tool, as a string.";
            return Err(Error::new(INVALID_PARAMS, why));
        };
        if tools.command(&tool).is_none() {
            return Err(Error::new(INVALID_PARAMS, unknown(tools, &tool)));
        }
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Some(Map::new()),
            Some(Value::Object(arguments)) => Some(arguments),
            // Some clients have one kind of empty container.
            Some(Value::Array(none)) if none.is_empty() => Some(Map::new()),
            // Models often encode them once too often.
            Some(Value::String(text)) => decoded(&text),
            Some(_) => None,
        };
        Ok(Self { tool, arguments })
    }
}

/// What a call gets whose arguments are no object.
pub(crate) fn unread() -> Answer {
    let why = "arguments must be an object with the tool's arguments by name.";
    let hint = "Give each by its name, as {\"name\": \"value\"}.";
    Answer::refusal(Failure::new(Status::Syntax, why).hint(hint))
}

/// The result of a call of a command that was aborted for `reason`.
pub(crate) fn interrupted(
    (command, effect): (&'static str, Effect),
    wants_object: bool,
    revision: Revision,
    reason: &str,
) -> CallResult {
    let caution = match effect {
        // It may have been aborted after its commit.
        Effect::Writes { .. } | Effect::MayWrite => {
            " It may have been committed: check before you repeat it."
        }
        Effect::Reads => "",
    };
    let status = Status::Interrupted.name();
    let object = wants_object.then(|| {
        to_raw_value(&json!({
            "ok": false,
            "command": command,
            "status": status,
            "message": reason,
            "hint": format!("{LOST}{caution}"),
        }))
    });
    let text = format!("{status}: {reason} {LOST}{caution}");
    content(revision, text, object.and_then(Result::ok), true)
}

/// The result of a call, on a line of so many bytes.
pub(crate) fn result(revision: Revision, answer: Answer, line: u64) -> CallResult {
    let failed = answer.failure.is_some() || answer.failed;
    // The text repeats the object for clients that do not know structured content. Where there is no room for both
    // it stands alone.
    let twice = answer.json && fits_twice(&answer.text, line);
    let object = twice.then(|| RawValue::from_string(answer.text.clone()));
    content(revision, answer.text, object.and_then(Result::ok), failed)
}

fn content(
    revision: Revision,
    text: String,
    object: Option<Box<RawValue>>,
    is_error: bool,
) -> CallResult {
    CallResult {
        content: [TextContent {
            r#type: "text",
            text,
        }],
        structured_content: object.filter(|_| revision.has_structured_content()),
        is_error,
        envelope: revision.result(Map::new()).into(),
    }
}

fn unknown(tools: &dyn Toolbox, asked: &str) -> String {
    // A name can be as long as a request line; what is far longer than any tool is cut here.
    let shown = clipped(asked, 80);
    if let Some(why) = tools.unserved(asked) {
        return format!("Unknown tool: {shown} is not served {why}.");
    }
    match tools.nearest(&shown) {
        Some(name) => format!("Unknown tool: {shown}. Did you mean {name}?"),
        None => format!("Unknown tool: {shown}"),
    }
}

/// How far a call is, for whoever waits.
fn message(seconds: f64, reached: &Reached) -> String {
    let phase = match reached.phase.as_str() {
        "" => "running",
        phase => phase,
    };
    let mut text = format!("{phase} for {seconds} s");
    if reached.done > 0 || reached.total.is_some() {
        let of = reached
            .total
            .map(|total| format!("{} of ", grouped(reached.done.min(total))));
        let number = reached.total.unwrap_or(reached.done);
        let plural = if number == 1 { "" } else { "s" };
        text += &format!(
            ": {}{} {}{plural}",
            of.unwrap_or_default(),
            grouped(number),
            reached.unit
        );
    }
    visible(&text).into_owned()
}

/// What reports to the client that a call goes on, for a client that gave a progress token.
pub(crate) fn progress(
    host: &'static dyn Host,
    writer: Writer,
    revision: Revision,
    token: Id,
) -> Notify {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Progress<'a> {
        progress_token: &'a Id,
        progress: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }
    let mut last = 0.0;
    Box::new(move |elapsed, reached| {
        // Tenths of a second are enough, and the value has to increase every time.
        let seconds = (elapsed.as_secs_f64() * 10.0).round() / 10.0;
        if seconds <= last {
            return;
        }
        last = seconds;
        let message = revision
            .has_progress_message()
            .then(|| message(seconds, reached));
        let params = Progress {
            progress_token: &token,
            progress: seconds,
            message,
        };
        if let Some(line) = writer.notice("notifications/progress", &params) {
            host.notify(&line);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_what_is_done_and_of_how_much() {
        let reached = |phase: &str, done, total, unit| Reached {
            phase: phase.into(),
            done,
            total,
            unit,
        };
        for (reached, said) in [
            (reached("", 0, None, "row"), "running for 2.5 s"),
            (reached("", 1, None, "row"), "running for 2.5 s: 1 row"),
            (
                reached("importing", 120_000, None, "row"),
                "importing for 2.5 s: 120,000 rows",
            ),
            (
                reached("copying", 12, Some(4_000), "page"),
                "copying for 2.5 s: 12 of 4,000 pages",
            ),
            (
                reached("copying a\u{1b}[1m\n", 0, None, "row"),
                "copying a\\u001b[1m\\n for 2.5 s",
            ),
        ] {
            assert_eq!(message(2.5, &reached), said);
        }
    }
}
