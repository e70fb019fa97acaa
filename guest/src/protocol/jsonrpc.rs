//! What a line says, by JSON-RPC 2.0 (<https://www.jsonrpc.org/specification>) as MCP narrows
//! it: ids are strings or integers and never null, parameters are objects.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::engine::statement::params::exact;

/// The line is not JSON.
pub const PARSE_ERROR: i64 = -32_700;
/// The line is JSON, but no message of the protocol in use.
pub const INVALID_REQUEST: i64 = -32_600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32_601;
/// The method does not take these parameters.
pub const INVALID_PARAMS: i64 = -32_602;
/// The answer cannot be given.
pub const INTERNAL_ERROR: i64 = -32_603;
/// A request before the handshake, to a strict server; in legacy revisions only.
pub const NOT_INITIALIZED: i64 = -32_002;
/// The request was cancelled; answered by a strict server to legacy requests only.
pub const REQUEST_CANCELLED: i64 = -32_800;
/// The request asks for a revision that is not served statelessly.
pub const UNSUPPORTED_VERSION: i64 = -32_022;

/// The `_meta` key that names the revision of a modern request.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The `_meta` key under which a modern request says what its client can do.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The `_meta` key under which a modern client introduces itself.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// A request id or a progress token: a string or an integer, written back exactly as it came.
#[derive(Clone, Debug)]
pub struct Id {
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
    /// Reads an id; `None` if it is neither a string nor an integer. `7.0` is the integer 7,
    /// as some languages write it.
    pub fn parse(raw: &RawValue) -> Option<Self> {
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

    /// Its spelling on the wire.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }
}

/// A JSON-RPC error: the request is broken, or cannot be answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Error {
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
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// There is no such method in the era of the request.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("Method not found: {method}"))
    }
}

/// A request, to be answered under its id.
#[derive(Clone, Debug)]
pub struct Request {
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
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        meta(&self.params)
    }

    /// Whether it carries what only modern requests carry.
    pub fn has_modern_meta(&self) -> bool {
        is_modern(&self.params)
    }

    /// Whether it belongs to the stateless era: by its `_meta`, or by a method that only
    /// modern revisions have.
    pub fn is_modern(&self) -> bool {
        self.has_modern_meta()
            || matches!(
                self.method.as_str(),
                "server/discover" | "subscriptions/listen"
            )
    }
}

fn meta(params: &Map<String, Value>) -> Option<&Map<String, Value>> {
    params.get("_meta")?.as_object()
}

fn is_modern(params: &Map<String, Value>) -> bool {
    meta(params).is_some_and(|meta| {
        [META_VERSION, META_CAPABILITIES, META_CLIENT]
            .iter()
            .any(|key| meta.contains_key(*key))
    })
}

/// A notification: never answered, whatever it says.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The request that it takes back, if it is a well-formed `notifications/cancelled`.
    pub cancels: Option<Id>,
}

/// One message.
#[derive(Clone, Debug)]
pub enum Message {
    /// To be answered.
    Request(Request),
    /// To be heard.
    Notification(Notification),
    /// The client's answer to a request; this server sends none, so it is nobody's.
    Response,
}

/// What is no message.
#[derive(Clone, Debug)]
pub struct Malformed {
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
pub enum Line<'a> {
    /// Nothing on it.
    Blank,
    /// One message, or what should have been one.
    Single(Result<Message, Malformed>),
    /// The texts of a batch; never empty.
    Batch(Vec<&'a RawValue>),
}

/// Takes a line apart. A byte order mark, a carriage return and white space around the
/// message are passed over, since clients on Windows and people at a terminal send them.
pub fn line(bytes: &[u8]) -> Line<'_> {
    let bytes = bytes
        .strip_prefix(b"\xEF\xBB\xBF")
        .unwrap_or(bytes)
        .trim_ascii();
    if bytes.is_empty() {
        return Line::Blank;
    }
    let raw: &RawValue = match std::str::from_utf8(bytes) {
        Err(_) => {
            let why =
                "Parse error: the line is not UTF-8. Send JSON as UTF-8, one message per line.";
            return Line::Single(Err(Malformed::new(PARSE_ERROR, why)));
        }
        Ok(text) => match serde_json::from_str(text) {
            Err(error) => return Line::Single(Err(not_json(&error))),
            Ok(raw) => raw,
        },
    };
    if !raw.get().starts_with('[') {
        return Line::Single(message(raw));
    }
    match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
        Err(error) => Line::Single(Err(not_json(&error))),
        Ok(items) if items.is_empty() => Line::Single(Err(Malformed::new(
            INVALID_REQUEST,
            "Invalid request: an empty array holds no message.",
        ))),
        Ok(items) => Line::Batch(items),
    }
}

/// Reads one message.
///
/// # Errors
///
/// What cannot be answered as a request and is no notification either.
pub fn message(raw: &RawValue) -> Result<Message, Malformed> {
    if !raw.get().starts_with('{') {
        let why = "Invalid request: a message is a JSON object.";
        return Err(Malformed::new(INVALID_REQUEST, why));
    }
    // Members of the same name: the last one counts, as in most readers of JSON.
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(raw.get()).map_err(|error| not_json(&error))?;
    let method = members
        .get("method")
        .map(|raw| serde_json::from_str::<String>(raw.get()));

    if !members.contains_key("id") {
        match method {
            Some(Ok(method)) => {
                return Ok(Message::Notification(Notification {
                    cancels: cancelled(&method, members.get("params").copied()),
                    method,
                }));
            }
            None if is_response(&members) => return Ok(Message::Response),
            _ => {}
        }
    } else if method.is_none() && is_response(&members) {
        return Ok(Message::Response);
    }

    let id = members.get("id").and_then(|raw| Id::parse(raw));
    let params: Option<Value> = match members.get("params") {
        None => None,
        // Whoever asked can still be told, since the rest of the line was read.
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
    let version = members.get("jsonrpc");
    if version
        .is_none_or(|raw| serde_json::from_str::<String>(raw.get()).ok().as_deref() != Some("2.0"))
    {
        return Err(refuse(r#"the member "jsonrpc" must be "2.0"."#));
    }
    let Some(Ok(method)) = method else {
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
    let token = members.get("params").and_then(|raw| progress_token(raw));
    Ok(Message::Request(Request {
        id,
        method,
        params,
        token,
    }))
}

/// The ids under which a line has to be answered, found without holding what else is on it.
/// None, if that cannot be told.
pub fn awaited(bytes: &[u8]) -> Vec<Id> {
    #[derive(Deserialize)]
    struct Glimpse<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
        #[serde(rename = "method")]
        _method: IgnoredAny,
    }
    let id = |glimpse: Glimpse<'_>| Id::parse(glimpse.id);
    let glimpse = serde_json::from_slice(bytes).map(id);
    let several = || serde_json::from_slice::<Vec<&RawValue>>(bytes).unwrap_or_default();
    match glimpse {
        Ok(id) => id.into_iter().collect(),
        Err(_) => several()
            .into_iter()
            .filter_map(|raw| id(serde_json::from_str(raw.get()).ok()?))
            .collect(),
    }
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
        let arguments = members(members(raw)?.get("arguments")?)?;
        Some(arguments.get("params")?.get())
    };
    if let Some(text) = text()
        && matches!(exact(text), Cow::Owned(_))
    {
        params["arguments"]["params"] = text.into();
    }
}

fn is_response(members: &BTreeMap<String, &RawValue>) -> bool {
    members.contains_key("result") || members.contains_key("error")
}

fn not_json(error: &serde_json::Error) -> Malformed {
    let why = if error.to_string().starts_with("recursion limit exceeded") {
        "Parse error: the line nests deeper than 127 levels.".to_owned()
    } else {
        format!("Parse error: the line is not JSON ({error}).")
    };
    Malformed::new(PARSE_ERROR, why)
}

/// The members of an object, unparsed; `None` if it is none.
fn members(raw: &RawValue) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// The id that a cancellation names, with its spelling, which a parsed number would lose.
fn cancelled(method: &str, params: Option<&RawValue>) -> Option<Id> {
    if method != "notifications/cancelled" {
        return None;
    }
    Id::parse(members(params?)?.get("requestId")?)
}

fn progress_token(params: &RawValue) -> Option<Id> {
    let params = members(params)?;
    let meta = members(params.get("_meta")?)?;
    Id::parse(meta.get("progressToken")?)
}

#[cfg(test)]
#[path = "jsonrpc_tests.rs"]
mod tests;
