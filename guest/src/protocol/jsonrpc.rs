//! What a line says, by JSON-RPC 2.0 (<https://www.jsonrpc.org/specification>) as MCP narrows
//! it: ids are strings or integers and never null, parameters are objects.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::engine::statement::params::exact;
use crate::text::escape::clipped;

/// The line is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// The line is JSON, but no message of the protocol in use.
pub(crate) const INVALID_REQUEST: i64 = -32_600;
/// No such method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
/// The method does not take these parameters.
pub(crate) const INVALID_PARAMS: i64 = -32_602;
/// The answer cannot be given.
pub(crate) const INTERNAL_ERROR: i64 = -32_603;
/// A request before the handshake, to a strict server; in legacy revisions only.
pub(crate) const NOT_INITIALIZED: i64 = -32_002;
/// The request was cancelled; answered by a strict server to legacy requests only.
pub(crate) const REQUEST_CANCELLED: i64 = -32_800;
/// The request asks for a revision that is not served statelessly.
pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;

/// The `_meta` key that names the revision of a modern request.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key under which a modern request says what its client can do.
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The `_meta` key under which a modern client introduces itself.
pub(crate) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The `_meta` keys under which a client names the thread that a call belongs to, the first one first.
pub(crate) const META_THREAD: [&str; 2] = ["sqlarium/thread", "threadId"];
/// The `_meta` keys that only modern requests have.
const MODERN_META: [&str; 3] = [META_VERSION, META_CAPABILITIES, META_CLIENT];

/// A request id or a progress token: a string or an integer, written back exactly as it came.
#[derive(Clone, Debug)]
pub(crate) struct Id {
    raw: Box<RawValue>,
    value: IdValue,
}

/// What ids are compared by: JSON type and value, not spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
enum IdValue {
    Text(String),
    /// The decimal digits, signed; integers of any size are told apart.
    Integer(String),
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Id {}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl Id {
    /// It as JSON, exactly as it came.
    pub(crate) fn json(&self) -> &str {
        self.raw.get()
    }

    /// Reads an id; `None` if it is neither a string nor an integer. `7.0` is the integer 7,
    /// as some languages write it.
    pub(crate) fn parse(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let value = if text.starts_with('"') {
            IdValue::Text(serde_json::from_str(text).ok()?)
        } else {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            let digits = whole.strip_prefix('-').unwrap_or(whole);
            if digits.is_empty()
                || !digits.bytes().all(|b| b.is_ascii_digit())
                || !fraction.bytes().all(|b| b == b'0')
            {
                return None;
            }
            IdValue::Integer(if digits == "0" { digits } else { whole }.to_owned())
        };
        Some(Self {
            raw: raw.to_owned(),
            value,
        })
    }
}

/// A JSON-RPC error: the request is broken, or cannot be answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Error {
    /// One of the codes of this module.
    pub code: i64,
    /// What is wrong, in a sentence.
    pub message: String,
    /// Details that the protocol asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Error {
    /// An error without details.
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// There is no such method in the era of the request.
    pub(crate) fn method_not_found(method: &str) -> Self {
        // A name can be as long as a request line.
        let method = clipped(method, 80);
        Self::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }
}

/// A request, to be answered under its id.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// What the answer is filed under.
    pub id: Id,
    /// The method.
    pub method: String,
    /// Its parameters; empty if absent or null.
    pub params: Map<String, Value>,
    /// The progress token, if the client wants to hear of progress.
    pub token: Option<Id>,
}

impl Request {
    /// The `_meta` of the parameters, if it is an object.
    pub(crate) fn meta(&self) -> Option<&Map<String, Value>> {
        meta(&self.params)
    }

    /// The thread that it belongs to, as its client writes it.
    pub(crate) fn thread(&self) -> Option<&str> {
        let meta = self.meta()?;
        META_THREAD.iter().find_map(|key| meta.get(*key)?.as_str())
    }

    /// Whether it belongs to the stateless era: by its `_meta`, or by a method that only
    /// modern revisions have.
    pub(crate) fn is_modern(&self) -> bool {
        is_modern(&self.params) || is_modern_method(&self.method)
    }
}

fn meta(params: &Map<String, Value>) -> Option<&Map<String, Value>> {
    params.get("_meta")?.as_object()
}

fn is_modern(params: &Map<String, Value>) -> bool {
    meta(params).is_some_and(|meta| MODERN_META.iter().any(|key| meta.contains_key(*key)))
}

fn is_modern_method(method: &str) -> bool {
    matches!(method, "server/discover" | "subscriptions/listen")
}

/// A notification: never answered, whatever it says.
#[derive(Clone, Debug)]
pub(crate) struct Notification {
    /// The request that it takes back, if it is a well-formed `notifications/cancelled`.
    pub cancels: Option<Id>,
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    /// To be answered.
    Request(Request),
    /// To be heard.
    Notification(Notification),
    /// The client's answer to a request; this server sends none, so it is nobody's.
    Response,
}

/// What is no message.
#[derive(Clone, Debug)]
pub(crate) struct Malformed {
    /// The code of its error.
    pub code: i64,
    /// What is wrong with it, in a sentence.
    pub message: String,
    /// The id, if it could be read.
    pub id: Option<Id>,
    /// Whether its `_meta` shows that a modern client wrote it.
    pub modern: bool,
}

impl Malformed {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: None,
            modern: false,
        }
    }
}

/// A line, taken apart.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    /// Nothing on it.
    Blank,
    /// The text of one message, or of what should be one.
    Single(&'a str),
    /// The texts of a batch; never empty.
    Batch(Vec<&'a str>),
    /// No message and no batch.
    Malformed(Malformed),
}

/// Takes a line apart. A byte order mark, a carriage return and white space around the
/// message are passed over, since clients on Windows and people at a terminal send them.
pub(crate) fn line(bytes: &[u8]) -> Line<'_> {
    let bytes = bare(bytes);
    if bytes.is_empty() {
        return Line::Blank;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        let why = "Parse error: the line is not UTF-8. Send JSON as UTF-8, one message per line.";
        return Line::Malformed(Malformed::new(PARSE_ERROR, why));
    };
    if !text.starts_with('[') {
        return Line::Single(text);
    }
    match serde_json::from_str::<Vec<&RawValue>>(text) {
        Err(error) => Line::Malformed(not_json(&error)),
        Ok(items) if items.is_empty() => Line::Malformed(Malformed::new(
            INVALID_REQUEST,
            "Invalid request: an empty array holds no message.",
        )),
        Ok(items) => Line::Batch(items.into_iter().map(RawValue::get).collect()),
    }
}

/// A line without a byte order mark and white space around the message.
fn bare(bytes: &[u8]) -> &[u8] {
    bytes
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(bytes)
        .trim_ascii()
}

/// Reads one message.
///
/// # Errors
///
/// What cannot be answered as a request and is no notification either.
pub(crate) fn message(text: &str) -> Result<Message, Malformed> {
    let envelope = Envelope::read(text)?;
    match envelope.kind() {
        MessageKind::Response => return Ok(Message::Response),
        MessageKind::Notification(method) => {
            return Ok(Message::Notification(Notification {
                cancels: cancelled(&method, envelope.params),
            }));
        }
        MessageKind::Request => {}
    }
    let id = envelope.id.and_then(Id::parse);
    let params: Option<Value> = match envelope.params {
        None => None,
        // Whoever asked can still get a reply, since the rest of the line was read.
        Some(raw) => match serde_json::from_str(raw.get()) {
            Ok(mut params) => {
                keep_integers(&mut params, raw);
                Some(params)
            }
            Err(error) => {
                return Err(Malformed {
                    id,
                    ..not_json(&error)
                });
            }
        },
    };
    let refuse = |why: &str| Malformed {
        code: INVALID_REQUEST,
        message: format!("Invalid request: {why}"),
        id: id.clone(),
        modern: params
            .as_ref()
            .and_then(Value::as_object)
            .is_some_and(is_modern),
    };
    if envelope.version.and_then(string).as_deref() != Some("2.0") {
        return Err(refuse(r#"the member "jsonrpc" must be "2.0"."#));
    }
    let Some(method) = envelope.method.and_then(string) else {
        return Err(refuse(r#"the member "method" must be a string."#));
    };
    let Some(id) = id.clone() else {
        return Err(refuse(r#"the member "id" must be a string or an integer."#));
    };
    let params = match params {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(refuse(r#"the member "params" must be an object."#)),
    };
    let asks_for_progress = meta(&params).is_some_and(|meta| meta.contains_key("progressToken"));
    let token = envelope.params.filter(|_| asks_for_progress);
    Ok(Message::Request(Request {
        id,
        method,
        params,
        token: token.and_then(progress_token),
    }))
}

/// The members of a message, unparsed.
struct Envelope<'a> {
    version: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    /// Whether it has a result or an error.
    answers: bool,
}

/// What a message is by its members.
enum MessageKind {
    /// A request, or what has to be refused as one.
    Request,
    /// A notification of this method.
    Notification(String),
    /// An answer.
    Response,
}

impl<'a> Envelope<'a> {
    fn read(text: &'a str) -> Result<Self, Malformed> {
        let names = ["jsonrpc", "id", "method", "params", "result", "error"];
        let refused = match members(text, names) {
            Ok(members) => return Ok(Self::of(members)),
            Err(refused) => refused,
        };
        // What is wrong with it as JSON comes first.
        Err(match serde_json::from_str::<&RawValue>(text) {
            Ok(_) if !text.starts_with('{') => Malformed::new(
                INVALID_REQUEST,
                "Invalid request: a message is a JSON object.",
            ),
            Ok(_) => not_json(&refused),
            Err(error) => not_json(&error),
        })
    }

    fn of(members: [Option<&'a RawValue>; 6]) -> Self {
        let [version, id, method, params, result, error] = members;
        Self {
            version,
            id,
            method,
            params,
            answers: result.is_some() || error.is_some(),
        }
    }

    fn kind(&self) -> MessageKind {
        match (self.id, self.method.map(string)) {
            (_, None) if self.answers => MessageKind::Response,
            (None, Some(Some(method))) => MessageKind::Notification(method),
            _ => MessageKind::Request,
        }
    }
}

/// What has to be known of a request to reply that it came to nothing, read without holding what
/// else it says.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    /// What the reply is filed under.
    pub id: Id,
    /// The tool, if it calls one.
    pub tool: Option<String>,
    /// Whether it asks for the answer as an object.
    pub wants_object: bool,
    /// Whether it belongs to the stateless era.
    pub modern: bool,
    /// The thread that it belongs to, if its client says so.
    pub thread: Option<String>,
}

impl Outline {
    /// Reads it; none for a message that gets no reply.
    ///
    /// # Errors
    ///
    /// As for [`message`].
    pub(crate) fn read(text: &str) -> Result<Option<Self>, Malformed> {
        let envelope = Envelope::read(text)?;
        if !matches!(envelope.kind(), MessageKind::Request) {
            return Ok(None);
        }
        let Some(id) = envelope.id.and_then(Id::parse) else {
            return message(text).map(|_| None);
        };
        let method = envelope.method.and_then(string).unwrap_or_default();
        let [name, arguments, meta] = envelope
            .params
            .and_then(|params| members(params.get(), ["name", "arguments", "_meta"]).ok())
            .unwrap_or_default();
        let output = arguments.and_then(|arguments| members(arguments.get(), ["output"]).ok()?[0]);
        let keys = meta.and_then(|meta| members(meta.get(), MODERN_META).ok());
        let named = meta.and_then(|meta| members(meta.get(), META_THREAD).ok());
        let mut named = named.unwrap_or_default().into_iter().flatten();
        Ok(Some(Self {
            id,
            tool: name.and_then(string).filter(|_| method == "tools/call"),
            wants_object: output.and_then(string).as_deref() == Some("json"),
            modern: keys.is_some_and(|keys| keys.iter().any(Option::is_some))
                || is_modern_method(&method),
            thread: named.find_map(string),
        }))
    }
}

/// The id that the start of a message shows, if it shows all of it.
pub(crate) fn id_within(head: &[u8]) -> Option<Id> {
    struct Head<'s, 'a>(&'s mut Option<&'a RawValue>);
    impl<'a> Visitor<'a> for Head<'_, 'a> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(name) = map.next_key::<String>()? {
                match name.as_str() {
                    "id" => *self.0 = Some(map.next_value()?),
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(())
        }
    }
    let head = bare(head);
    let mut found = None;
    // It ends somewhere in the middle, which is an error behind what was found.
    let _ = serde_json::Deserializer::from_slice(head).deserialize_map(Head(&mut found));
    let text = found?.get().as_bytes();
    // A number at the very end may have more digits.
    (text.as_ptr_range().end < head.as_ptr_range().end).then(|| Id::parse(found?))?
}

/// The id that the end of a message shows: the last member of the object, or the last before its
/// version. What ends with the message's own bracket is in no object within it, and in no text.
pub(crate) fn id_at_end(line: &[u8]) -> Option<Id> {
    const END: usize = 512;
    let end = String::from_utf8_lossy(&line[line.len().saturating_sub(END)..]);
    let end = end.trim_end().strip_suffix('}')?;
    let last = |end: &'_ str, name: &str| -> Option<(usize, usize)> {
        let at = end.rfind(&format!("\"{name}\""))?;
        let before = end[..at].trim_end();
        let value = end[at + name.len() + 2..].trim_start().strip_prefix(':')?;
        before
            .ends_with([',', '{'])
            .then_some((before.len(), end.len() - value.len()))
    };
    let end = match last(end, "jsonrpc") {
        Some((before, value)) if end[value..].trim() == "\"2.0\"" => {
            end[..before].trim_end_matches(',')
        }
        _ => end,
    };
    let (_, value) = last(end, "id")?;
    Id::parse(serde_json::from_str(end[value..].trim()).ok()?)
}

/// Puts the values to bind back as they are written, if a number among them would not keep an
/// integer: here, since nobody else sees how they were written.
fn keep_integers(params: &mut Value, raw: &RawValue) {
    let mut run = 0;
    let long = raw.get().bytes().any(|byte| {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        run > 18
    });
    if !long {
        return;
    }
    let text = || {
        let arguments = members(raw.get(), ["arguments"]).ok()?[0]?;
        Some(members(arguments.get(), ["params"]).ok()?[0]?.get())
    };
    if let Some(text) = text()
        && matches!(exact(text), Cow::Owned(_))
    {
        params["arguments"]["params"] = text.into();
    }
}

/// The object that a string of JSON holds, which may be encoded more than once; nothing for a blank
/// one. Values to bind are kept as they are written.
pub(crate) fn decoded(text: &str) -> Option<Map<String, Value>> {
    const ENCODED: usize = 3;
    let mut text = Cow::Borrowed(text);
    for _ in 0..ENCODED {
        if text.trim().is_empty() {
            return Some(Map::new());
        }
        match serde_json::from_str(&text).ok()? {
            Value::String(inner) => text = Cow::Owned(inner),
            arguments @ Value::Object(_) => {
                let line = format!("{{\"arguments\":{text}}}");
                let mut params = json!({"arguments": arguments});
                keep_integers(&mut params, serde_json::from_str(&line).ok()?);
                return match params["arguments"].take() {
                    Value::Object(arguments) => Some(arguments),
                    _ => None,
                };
            }
            _ => return None,
        }
    }
    None
}

fn not_json(error: &serde_json::Error) -> Malformed {
    let why = if error.to_string().starts_with("recursion limit exceeded") {
        "Parse error: the line nests deeper than 127 levels.".to_owned()
    } else {
        format!("Parse error: the line is not JSON ({error}).")
    };
    Malformed::new(PARSE_ERROR, why)
}

/// The members of an object that have these names, unparsed. Of those with the same name the last
/// one counts, as in most readers of JSON.
pub(super) fn members<'a, const N: usize>(
    text: &'a str,
    names: [&str; N],
) -> serde_json::Result<[Option<&'a RawValue>; N]> {
    struct Members<'n, const N: usize>([&'n str; N]);
    impl<'a, const N: usize> Visitor<'a> for Members<'_, N> {
        type Value = [Option<&'a RawValue>; N];
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = [None; N];
            while let Some(at) = map.next_key_seed(Position(&self.0))? {
                let value = map.next_value::<&RawValue>()?;
                if let Some(at) = at {
                    found[at] = Some(value);
                }
            }
            Ok(found)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = deserializer.deserialize_map(Members(names))?;
    deserializer.end().map(|()| found)
}

/// Which of these names a string is, if it is one of them.
struct Position<'n>(&'n [&'n str]);

impl<'a> DeserializeSeed<'a> for Position<'_> {
    type Value = Option<usize>;
    fn deserialize<D: Deserializer<'a>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Position<'_> {
    type Value = Option<usize>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|wanted| *wanted == name))
    }
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// The id that a cancellation names, with its spelling, which a parsed number would lose.
fn cancelled(method: &str, params: Option<&RawValue>) -> Option<Id> {
    if method != "notifications/cancelled" {
        return None;
    }
    Id::parse(members(params?.get(), ["requestId"]).ok()?[0]?)
}

fn progress_token(params: &RawValue) -> Option<Id> {
    let meta = members(params.get(), ["_meta"]).ok()?[0]?;
    Id::parse(members(meta.get(), ["progressToken"]).ok()?[0]?)
}

#[cfg(test)]
#[path = "jsonrpc_tests.rs"]
mod tests;
