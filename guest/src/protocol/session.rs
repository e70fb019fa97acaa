//! One client on one pipe: which message gets which answer.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::jsonrpc::{
    self, Error, INVALID_PARAMS, INVALID_REQUEST, Id, Line, META_CAPABILITIES, META_VERSION,
    Malformed, Message, NOT_INITIALIZED, REQUEST_CANCELLED, Request, UNSUPPORTED_VERSION,
};
use super::record::{self, Record};
use super::reply::{Reply, Writer};
use super::revision::{NoId, Revision};
use super::state::SavedState;
use super::tools::{self, Call, Toolbox};
use super::triage::is_cancelled;
use crate::command::interface::command::Registry;
use crate::command::interface::session_log::{ENTRIES, SessionLog};
use crate::host::Host;
use crate::settings::ServerSettings;
use crate::text::escape::clipped;

/// One client on one pipe.
///
/// ```
/// use sqlarium_guest::host::Alone;
/// use sqlarium_guest::protocol::Session;
/// use sqlarium_guest::registry::REGISTRY;
/// use sqlarium_guest::settings::ServerSettings;
///
/// let mut session = Session::new(ServerSettings::default(), Vec::new(), &Alone, &REGISTRY);
/// let reply = session.answer(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
/// assert_eq!(reply.as_deref(), Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
///
/// // A notification is heard, and not answered.
/// let silence = session.answer(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
/// assert_eq!(silence, None);
/// ```
pub struct Session {
    pub(super) tools: Box<dyn Toolbox>,
    pub(super) host: &'static dyn Host,
    pub(super) writer: Writer,
    pub(super) strict: bool,
    pub(super) state: SavedState,
    pub(super) record: Record,
    /// What an earlier instance saved, until this one answers a line.
    pub(super) saved: Vec<u8>,
    request_bytes: u64,
    /// The longest line of a result.
    line_bytes: u64,
    /// Entries of the log that were appended to the saved state since all of it was saved; none before that.
    appended: Option<usize>,
}

/// What a request gets.
pub(super) enum Answer {
    /// The answer.
    Reply(Reply),
    /// A notification that stands for the answer for now.
    Notice(String),
    /// Nothing: it was cancelled.
    Silence,
}

impl From<Option<Reply>> for Answer {
    fn from(reply: Option<Reply>) -> Self {
        reply.map_or(Self::Silence, Self::Reply)
    }
}

impl Session {
    /// A session for the owner's choices. `saved` is what an earlier instance gave to
    /// [`Host::save_state`], or empty. Opens no database.
    pub fn new(
        mut settings: ServerSettings,
        saved: Vec<u8>,
        host: &'static dyn Host,
        registry: &'static Registry,
    ) -> Self {
        if settings.threads {
            settings.command.output.beside_bytes = record::MOST_BYTES;
        }
        let tools = tools::Served::new(settings.clone(), host, registry);
        Self::with_tools(Box::new(tools), &settings, saved, host)
    }

    pub(super) fn with_tools(
        mut tools: Box<dyn Toolbox>,
        settings: &ServerSettings,
        saved: Vec<u8>,
        host: &'static dyn Host,
    ) -> Self {
        if let Some(log) = tools.log() {
            log.restore(&saved);
        }
        Self {
            tools,
            appended: None,
            host,
            writer: Writer::new(settings.command.output.reply_bytes),
            line_bytes: settings.command.output.line_bytes(),
            strict: settings.strict,
            record: Record::new(settings, host),
            state: SavedState::read(&saved),
            saved,
            request_bytes: settings.request_bytes,
        }
    }

    /// Takes one line without its newline; answers with one line, or with silence.
    pub fn answer(&mut self, line: &[u8]) -> Option<String> {
        self.saved = Vec::new();
        if self.appended.is_some_and(|appended| appended >= ENTRIES) {
            self.save();
        }
        let answer = match jsonrpc::line(line) {
            Line::Blank => Answer::Silence,
            Line::Malformed(malformed) => Answer::Reply(self.refuse(malformed)),
            Line::Single(text) => match jsonrpc::message(text) {
                Ok(Message::Request(request)) => self.respond(request),
                // A cancellation that gets here comes too late: its request is answered.
                Ok(Message::Notification(_) | Message::Response) => Answer::Silence,
                Err(malformed) => Answer::Reply(self.refuse(malformed)),
            },
            Line::Batch(items) => match self.refuse_batch(&items) {
                Some(reply) => Answer::Reply(reply),
                None => return self.batch(&items),
            },
        };
        match answer {
            Answer::Reply(reply) => Some(self.writer.reply(&reply)),
            Answer::Notice(line) => Some(line),
            Answer::Silence => None,
        }
    }

    /// The reply to a line that is longer than the request budget: `head` is its start, as far as the
    /// budget goes, and behind that its end.
    pub fn overlong(&self, head: &[u8]) -> String {
        let why = format!(
            "Invalid request: the line is longer than the request budget of {} bytes (--request). \
             Send less at once: bind long values in parts, or split a batch.",
            self.request_bytes
        );
        let budget = usize::try_from(self.request_bytes).unwrap_or(usize::MAX);
        let start = head.get(..budget).unwrap_or(head);
        self.writer.reply(&self.refuse(Malformed {
            code: INVALID_REQUEST,
            message: why,
            id: jsonrpc::id_within(start).or_else(|| jsonrpc::id_at_end(head)),
            modern: false,
        }))
    }

    /// The revision by which legacy requests are served.
    pub(super) fn revision(&self) -> Revision {
        self.state.negotiated.unwrap_or(Revision::LEGACY)
    }

    /// How an error looks that belongs to no request.
    pub(super) fn no_id(&self) -> NoId {
        match (self.state.modern, self.state.negotiated) {
            (true, _) => Revision::MODERN.no_id(),
            (false, Some(revision)) => revision.no_id(),
            // Nothing is agreed on yet: JSON-RPC's own form.
            (false, None) => NoId::Null,
        }
    }

    /// The reply to what is no message.
    pub(super) fn refuse(&self, malformed: Malformed) -> Reply {
        let error = Error::new(malformed.code, malformed.message);
        match malformed.id {
            Some(id) => Reply::error(id, error),
            None if malformed.modern => Reply::anonymous(Revision::MODERN.no_id(), error),
            None => Reply::anonymous(self.no_id(), error),
        }
    }

    /// Answers one request, in the era that it belongs to.
    pub(super) fn respond(&mut self, request: Request) -> Answer {
        // `initialize` is a legacy request whatever its `_meta` says, since clients put modern
        // keys there while they probe; unless it lacks what every legacy one has.
        let opens =
            request.method == "initialize" && request.params.contains_key("protocolVersion");
        let modern = request.is_modern() && !opens;
        if self.state.modern != modern {
            self.state.modern = modern;
            self.save();
        }
        if modern {
            return match self.stateless(&request) {
                Some(reply) => reply,
                None => self.call(request, Revision::MODERN),
            };
        }
        let result = match request.method.as_str() {
            "ping" => Ok(Map::new()),
            "initialize" => self.initialize(&request.params),
            method if self.strict && self.state.negotiated.is_none() => Err(Error::new(
                NOT_INITIALIZED,
                format!(
                    "Server not initialized: send initialize before {}, because this server \
                     runs with --strict.",
                    clipped(method, 80)
                ),
            )),
            "tools/list" => tools::list(&*self.tools, self.revision(), &request.params),
            "tools/call" => return self.call(request, self.revision()),
            method => Err(Error::method_not_found(method)),
        };
        Answer::Reply(reply(request.id, result))
    }

    fn initialize(&mut self, params: &Map<String, Value>) -> Result<Map<String, Value>, Error> {
        let invalid = |why: &str| Err(Error::new(INVALID_PARAMS, why));
        let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
            return invalid(
                "initialize needs params.protocolVersion, the revision that the client wants, as a string.",
            );
        };
        if self.strict {
            if self.state.negotiated.is_some() {
                let why = "Invalid request: the session is initialized already, and this server \
                           runs with --strict.";
                return Err(Error::new(INVALID_REQUEST, why));
            }
            if !params.get("capabilities").is_some_and(Value::is_object) {
                return invalid(
                    "initialize needs params.capabilities, an object, because this server runs \
                     with --strict.",
                );
            }
            if !params
                .get("clientInfo")
                .is_some_and(|info| info["name"].is_string() && info["version"].is_string())
            {
                return invalid(
                    "initialize needs params.clientInfo with a name and a version, because this \
                     server runs with --strict.",
                );
            }
        }
        let revision = Revision::negotiate(asked);
        self.state.negotiated = Some(revision);
        self.save();
        let mut result = Map::new();
        result.insert("protocolVersion".into(), json!(revision.name()));
        result.insert("capabilities".into(), revision.capabilities());
        result.insert("serverInfo".into(), revision.implementation());
        result.insert("instructions".into(), json!(self.tools.instructions()));
        Ok(revision.result(result))
    }

    /// Answers a modern request that needs no database and no earlier message; `None` is a
    /// well-formed `tools/call`.
    pub(super) fn stateless(&self, request: &Request) -> Option<Answer> {
        if let Err(error) = check_meta(request) {
            return Some(Answer::Reply(Reply::error(request.id.clone(), error)));
        }
        let result = match request.method.as_str() {
            "tools/call" => return None,
            "server/discover" => Ok(discover(&*self.tools)),
            "tools/list" => tools::list(&*self.tools, Revision::MODERN, &request.params),
            "subscriptions/listen" => match self.listen(request) {
                Ok(answer) => return Some(answer),
                Err(error) => Err(error),
            },
            "initialize" => Err(Error {
                data: Some(json!({"supported": Revision::stateless()})),
                ..Error::method_not_found("initialize")
            }),
            method => Err(Error::method_not_found(method)),
        };
        Some(Answer::Reply(reply(request.id.clone(), result)))
    }

    /// Opens a subscription: the acknowledgement says that nothing of what was asked for will
    /// come, since tools never change and there is nothing else. The stream ends when the
    /// client cancels it, after which nothing may be sent, or with the process.
    fn listen(&self, request: &Request) -> Result<Answer, Error> {
        #[derive(Serialize)]
        struct Acknowledged<'a> {
            #[serde(rename = "_meta")]
            meta: Meta<'a>,
            notifications: Map<String, Value>,
        }
        #[derive(Serialize)]
        struct Meta<'a> {
            #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
            subscription: &'a Id,
        }
        if !request
            .params
            .get("notifications")
            .is_some_and(Value::is_object)
        {
            let why = "subscriptions/listen needs params.notifications, an object that says what to listen for.";
            return Err(Error::new(INVALID_PARAMS, why));
        }
        let params = Acknowledged {
            meta: Meta {
                subscription: &request.id,
            },
            notifications: Map::new(),
        };
        let line = self
            .writer
            .notice("notifications/subscriptions/acknowledged", &params);
        Ok(line.map_or(Answer::Silence, Answer::Notice))
    }

    /// Runs a tool.
    fn call(&mut self, request: Request, revision: Revision) -> Answer {
        let thread = self.record.thread(request.thread());
        let Request {
            id, params, token, ..
        } = request;
        let named = self.record.refusable(&params);
        let call = match Call::read(&*self.tools, params) {
            Ok(call) => call,
            Err(error) => {
                self.record.refuse(&id, thread, named);
                return Answer::Reply(Reply::error(id, error));
            }
        };
        // A strict server owes an answer to what is cancelled in line, too, so triage left it there.
        if self.strict && !revision.is_modern() && is_cancelled(self.host, &id) {
            return self.cancelled(id, revision).into();
        }
        let sql = self.tools.sql(&call.tool);
        let session = self.record.begin(&id, thread, &call, sql);
        let notify = token.map(|token| tools::progress(self.host, self.writer, revision, token));
        let answer = match &call.arguments {
            Some(arguments) => self.tools.call(&call.tool, arguments, notify),
            None => Some(tools::unread()),
        };
        self.keep_log();
        self.record.end(answer.as_ref());
        match answer {
            Some(answer) => {
                let result = tools::result(revision, answer, self.line_bytes);
                Answer::Reply(Reply::call(id, result.remembering(session)))
            }
            None => self.cancelled(id, revision).into(),
        }
    }

    /// What a request gets that was cancelled: silence, as every revision asks. Older servers
    /// answered, and a strict one does so to legacy requests.
    pub(super) fn cancelled(&self, id: Id, revision: Revision) -> Option<Reply> {
        (self.strict && !revision.is_modern())
            .then(|| Reply::error(id, Error::new(REQUEST_CANCELLED, "Request cancelled")))
    }

    /// Saves the state with the host, in the place of what was saved.
    pub(super) fn save(&mut self) {
        let mut state = self.state.write();
        if let Some(log) = self.tools.log() {
            state.extend(log.saved());
        }
        self.host.save_state(&state);
        self.appended = Some(0);
    }

    /// Saves what the last call came to, if that is remembered.
    pub(super) fn keep_log(&mut self) {
        let Some(entry) = self.tools.log().and_then(SessionLog::unsaved) else {
            return;
        };
        match &mut self.appended {
            None => self.save(),
            // A batch can have more calls than there is room for; the next line saves all anew.
            Some(appended) if *appended >= ENTRIES => {}
            Some(appended) => {
                *appended += 1;
                self.host.extend_state(&entry);
            }
        }
    }
}

pub(super) fn reply(id: Id, result: Result<Map<String, Value>, Error>) -> Reply {
    match result {
        Ok(result) => Reply::result(id, result),
        Err(error) => Reply::error(id, error),
    }
}

/// Whether a modern request carries what it has to: which revision it speaks, and what its
/// client can do.
fn check_meta(request: &Request) -> Result<(), Error> {
    let field = |key: &str| request.meta().and_then(|meta| meta.get(key));
    let missing = |key: &str| {
        Error::new(
            INVALID_PARAMS,
            format!("Missing required _meta field: {key}"),
        )
    };
    let asked = field(META_VERSION).ok_or_else(|| missing(META_VERSION))?;
    let capabilities = field(META_CAPABILITIES).ok_or_else(|| missing(META_CAPABILITIES))?;
    let Some(asked) = asked.as_str() else {
        return Err(Error::new(
            INVALID_PARAMS,
            format!("The _meta field {META_VERSION} must be a string"),
        ));
    };
    if !capabilities.is_object() {
        return Err(Error::new(
            INVALID_PARAMS,
            format!("The _meta field {META_CAPABILITIES} must be an object"),
        ));
    }
    if Revision::find(asked).is_some_and(Revision::is_modern) {
        return Ok(());
    }
    Err(Error {
        code: UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".into(),
        data: Some(json!({"supported": Revision::stateless(), "requested": clipped(asked, 80)})),
    })
}

fn discover(tools: &dyn Toolbox) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("supportedVersions".into(), json!(Revision::stateless()));
    result.insert("capabilities".into(), Revision::MODERN.capabilities());
    result.insert("instructions".into(), json!(tools.instructions()));
    Revision::MODERN.cacheable(result)
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
