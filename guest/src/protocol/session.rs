//! One client on one pipe: which message gets which answer.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::jsonrpc::{
    self, Error, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, Id, Line, META_CAPABILITIES,
    META_VERSION, Malformed, Message, NOT_INITIALIZED, REQUEST_CANCELLED, Request,
    UNSUPPORTED_VERSION,
};
use super::kept::Kept;
pub use super::overhear::Overheard;
use super::overhear::is_taken_back;
use super::reply::{Reply, Writer};
use super::revision::{NoId, Revision};
use super::tools::{self, Call, Toolbox};
use crate::command::spec::command::Registry;
use crate::host::{Host, Verdict};
use crate::settings::Settings;

/// The shortest line, in bytes, that somebody is told of before it is read: reading less takes
/// next to nothing of any budget.
const LONG: usize = 4 << 10;

/// One client on one pipe.
pub struct Session {
    pub(super) tools: Box<dyn Toolbox>,
    pub(super) host: &'static dyn Host,
    pub(super) writer: Writer,
    pub(super) strict: bool,
    pub(super) kept: Kept,
    request_bytes: u64,
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

/// Makes the line that goes out if a call is cut, from the reply that belongs to the call.
pub(super) type Frame<'a> = &'a dyn Fn(&Writer, Reply) -> String;

impl Session {
    /// A session for the owner's choices. `kept` is what an earlier instance gave to
    /// [`Host::keep`], or empty. Opens no database.
    pub fn new(
        settings: Settings,
        kept: &str,
        host: &'static dyn Host,
        registry: &'static Registry,
    ) -> Self {
        let tools = tools::Served::new(settings.clone(), host, registry);
        Self::with_tools(Box::new(tools), &settings, kept, host)
    }

    pub(super) fn with_tools(
        tools: Box<dyn Toolbox>,
        settings: &Settings,
        kept: &str,
        host: &'static dyn Host,
    ) -> Self {
        Self {
            tools,
            host,
            writer: Writer::new(settings.limits.reply_bytes),
            strict: settings.strict,
            kept: Kept::read(kept),
            request_bytes: settings.limits.request_bytes,
        }
    }

    /// Handles one line without its newline; answers with one line, or with silence.
    pub fn handle(&mut self, line: &[u8]) -> Option<String> {
        self.announce(line);
        match jsonrpc::line(line) {
            Line::Blank => None,
            Line::Single(Ok(Message::Request(request))) => {
                let answer = self.answer(request, &|writer, reply| writer.reply(&reply));
                let line = match answer {
                    Answer::Reply(reply) => Some(self.writer.reply(&reply)),
                    Answer::Notice(line) => Some(line),
                    Answer::Silence => None,
                };
                self.at_rest();
                line
            }
            // A cancellation that gets here comes too late: its request is answered.
            Line::Single(Ok(Message::Notification(_) | Message::Response)) => None,
            Line::Single(Err(malformed)) => Some(self.writer.reply(&self.refuse(malformed))),
            Line::Batch(_) if !self.revision().has_batches() => {
                let why = "Invalid request: only revision 2025-03-26 has batches, once it is \
                           negotiated. Send one message per line.";
                Some(self.writer.reply(&Reply::anonymous(
                    self.no_id(),
                    Error::new(INVALID_REQUEST, why),
                )))
            }
            Line::Batch(items) => {
                let line = self.batch(&items);
                self.at_rest();
                line
            }
        }
    }

    /// Leaves last words for a long line, whose reading alone may take more than there is.
    fn announce(&self, line: &[u8]) {
        if line.len() < LONG {
            return;
        }
        let ids = jsonrpc::awaited(line);
        let Some(first) = ids.first() else { return };
        let cut =
            |id: &Id, reason: &str| Reply::error(id.clone(), Error::new(INTERNAL_ERROR, reason));
        let write = |reason: &str| match line.first() {
            Some(b'[') => {
                let all: Vec<Reply> = ids.iter().map(|id| cut(id, reason)).collect();
                self.writer.batch(&all)
            }
            _ => self.writer.reply(&cut(first, reason)),
        };
        self.host.bequeath(&self.writer.last_words(write));
    }

    /// The reply to a line that is longer than the request budget.
    pub fn overlong(&self) -> String {
        let why = format!(
            "Invalid request: the line is longer than the request budget of {} bytes (--request). \
             Send less at once: bind long values in parts, or split a batch.",
            self.request_bytes
        );
        self.writer.reply(&Reply::anonymous(
            self.no_id(),
            Error::new(INVALID_REQUEST, why),
        ))
    }

    /// The revision by which legacy requests are served.
    pub(super) fn revision(&self) -> Revision {
        self.kept.negotiated.unwrap_or(Revision::LEGACY)
    }

    /// How an error looks that belongs to no request.
    fn no_id(&self) -> NoId {
        match (self.kept.modern, self.kept.negotiated) {
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
    pub(super) fn answer(&mut self, request: Request, frame: Frame) -> Answer {
        // `initialize` is a legacy request whatever its `_meta` says, since clients put modern
        // keys there while they probe; unless it lacks what every legacy one has.
        let opens =
            request.method == "initialize" && request.params.contains_key("protocolVersion");
        let modern = request.is_modern() && !opens;
        if self.kept.modern != modern {
            self.kept.modern = modern;
            self.keep();
        }
        if modern {
            return match self.stateless(&request) {
                Some(reply) => reply,
                None => self.call(request, Revision::MODERN, frame),
            };
        }
        let id = request.id.clone();
        let result = match request.method.as_str() {
            "ping" => Ok(Map::new()),
            "initialize" => self.initialize(&request.params),
            method if self.strict && self.kept.negotiated.is_none() => Err(Error::new(
                NOT_INITIALIZED,
                format!(
                    "Server not initialized: send initialize before {method}, because this server \
                     runs with --strict."
                ),
            )),
            "tools/list" => tools::list(&*self.tools, self.revision(), &request.params),
            "tools/call" => return self.call(request, self.revision(), frame),
            method => Err(Error::method_not_found(method)),
        };
        Answer::Reply(reply(id, result))
    }

    fn initialize(&mut self, params: &Map<String, Value>) -> Result<Map<String, Value>, Error> {
        let invalid = |why: &str| Err(Error::new(INVALID_PARAMS, why));
        let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
            return invalid(
                "initialize needs params.protocolVersion, the revision that the client wants, as a string.",
            );
        };
        if self.strict {
            if self.kept.negotiated.is_some() {
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
        self.kept.negotiated = Some(revision);
        self.keep();
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
    fn call(&mut self, request: Request, revision: Revision, frame: Frame) -> Answer {
        let Request {
            id, params, token, ..
        } = request;
        let call = match Call::read(&*self.tools, params) {
            Ok(call) => call,
            Err(error) => return Answer::Reply(Reply::error(id, error)),
        };
        self.kept.running = Some(id.clone());
        self.keep();
        // From here on a cancellation finds the call; one that came before waits in line.
        if is_taken_back(self.host, &id) {
            return self.cancelled(id, revision);
        }
        let cut = |reason: &str| Reply::result(id.clone(), call.interrupted(revision, reason));
        self.host.bequeath(
            &self
                .writer
                .last_words(|reason| frame(&self.writer, cut(reason))),
        );
        let notify = token.map(|token| tools::progress(self.host, self.writer, revision, token));
        let answer = self.tools.call(&call.tool, &call.arguments, notify);
        let cancelled = answer
            .failure
            .as_ref()
            .is_some_and(|failure| failure.cancelled)
            || self.host.poll(0) == Verdict::Cancelled;
        if cancelled {
            self.cancelled(id, revision)
        } else {
            Answer::Reply(Reply::result(id, tools::result(revision, answer)))
        }
    }

    /// What a request gets that was taken back: silence, as every revision asks. Older servers
    /// answered, and a strict one does so to legacy requests.
    pub(super) fn cancelled(&self, id: Id, revision: Revision) -> Answer {
        if self.strict && !revision.is_modern() {
            Answer::Reply(Reply::error(
                id,
                Error::new(REQUEST_CANCELLED, "Request cancelled"),
            ))
        } else {
            Answer::Silence
        }
    }

    /// Leaves the state with the host.
    pub(super) fn keep(&self) {
        self.host.keep(&self.kept.write());
    }

    /// No call runs any more. Its last words stay until the answer is with the host, which
    /// forgets them then: a call that is cut off on the way is answered by them.
    fn at_rest(&mut self) {
        self.kept.batch = false;
        if self.kept.running.take().is_some() {
            self.keep();
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
        data: Some(json!({"supported": Revision::stateless(), "requested": asked})),
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
