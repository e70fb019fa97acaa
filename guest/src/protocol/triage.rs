//! Lines that arrive while a call runs.
//!
//! They are triaged by a fresh instance made from the saved state, which cannot change the
//! session that is at work. So only what depends on no order of messages is answered at once:
//! `ping`, modern requests other than `tools/call`, and malformed lines. A cancellation acts
//! at once; everything else waits its turn.

use super::jsonrpc::{self, Id, Line, Message, Outline, Request};
use super::session::{Answer, Session, reply};
use super::state::read_finished;
use crate::host::Host;

/// How many queued lines are looked through, and how many of their bytes: enough for any
/// client in its senses, and a bound on what a flood of lines costs.
const SCAN_LINES: u32 = 1024;
const SCAN_BYTES: usize = 16 << 20;
/// The longest line that is looked at as a cancellation, in bytes.
const LONGEST_CANCELLATION: usize = 64 << 10;

/// What to do with a line that arrives while a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Triaged {
    /// It has to wait its turn.
    Defer,
    /// It is dealt with; the line, if any, is its answer.
    Handled(Option<String>),
    /// It cancels the call that runs.
    CancelRunning,
    /// It cancels the queued line of this index.
    CancelQueued(u32),
}

impl Session {
    /// Decides about a line that arrives while another instance answers one.
    pub fn triage(&self, line: &[u8]) -> Triaged {
        let refuse = |malformed| Triaged::Handled(Some(self.writer.reply(&self.refuse(malformed))));
        match jsonrpc::line(line) {
            Line::Blank => Triaged::Handled(None),
            Line::Malformed(malformed) => refuse(malformed),
            Line::Single(text) => match jsonrpc::message(text) {
                Ok(Message::Request(request)) => self.triage_request(request),
                Ok(Message::Notification(notification)) => match notification.cancels {
                    Some(id) => self.triage_cancellation(&id),
                    None => Triaged::Handled(None),
                },
                Ok(Message::Response) => Triaged::Handled(None),
                Err(malformed) => refuse(malformed),
            },
            Line::Batch(items) => self.triage_batch(&items),
        }
    }

    /// A batch is taken apart in its turn; but one of nothing that is answered need not wait if
    /// it cancels the running call.
    fn triage_batch(&self, items: &[&str]) -> Triaged {
        let messages: Result<Vec<Message>, _> =
            items.iter().map(|item| jsonrpc::message(item)).collect();
        let (true, Ok(messages)) = (self.revision().has_batches(), messages) else {
            return Triaged::Defer;
        };
        let asks = |message: &Message| matches!(message, Message::Request(_));
        if messages.iter().any(asks) {
            return Triaged::Defer;
        }
        match self.running().and_then(|running| running.at_work) {
            Some(id) if messages.iter().any(|message| cancels(message, &id)) => {
                Triaged::CancelRunning
            }
            _ => Triaged::Defer,
        }
    }

    fn triage_request(&self, request: Request) -> Triaged {
        if request.method == "initialize" {
            return Triaged::Defer;
        }
        if request.is_modern() {
            return match self.stateless(&request) {
                None => Triaged::Defer,
                Some(Answer::Reply(reply)) => Triaged::Handled(Some(self.writer.reply(&reply))),
                Some(Answer::Notice(line)) => Triaged::Handled(Some(line)),
                Some(Answer::Silence) => Triaged::Handled(None),
            };
        }
        if request.method == "ping" {
            let pong = reply(request.id, Ok(serde_json::Map::new()));
            return Triaged::Handled(Some(self.writer.reply(&pong)));
        }
        Triaged::Defer
    }

    fn triage_cancellation(&self, id: &Id) -> Triaged {
        let Some(running) = self.running() else {
            return Triaged::Defer;
        };
        if running.at_work.as_ref() == Some(id) {
            return Triaged::CancelRunning;
        }
        // A batch looks for its members' cancellations in line before it runs each.
        let mut looked_for = running.to_come.contains(id);
        for (index, line) in queued(self.host) {
            match jsonrpc::line(&line) {
                Line::Single(text) => match jsonrpc::message(text) {
                    Ok(Message::Request(request)) if request.id == *id => {
                        return self.cancel_queued(index, &request);
                    }
                    _ => {}
                },
                Line::Batch(items) => looked_for |= ids(&items).any(|other| other == *id),
                Line::Blank | Line::Malformed(_) => {}
            }
        }
        if looked_for {
            Triaged::Defer
        } else {
            Triaged::Handled(None)
        }
    }

    fn cancel_queued(&self, index: u32, request: &Request) -> Triaged {
        if request.method == "initialize" {
            // Must not be cancelled, in any revision.
            Triaged::Handled(None)
        } else if self.strict && !request.is_modern() {
            // It is owed an answer, which only the session at work can give. It looks for the
            // cancellation when the request's turn comes.
            Triaged::Defer
        } else {
            Triaged::CancelQueued(index)
        }
    }

    /// The calls of the line that the other instance answers; none if it answers none.
    fn running(&self) -> Option<Running> {
        let line = self.host.running()?;
        let mut calls = Running::default();
        match jsonrpc::line(&line) {
            Line::Single(text) => calls.at_work = called(text),
            Line::Batch(items) if self.revision().has_batches() => {
                let answered = items
                    .iter()
                    .filter(|item| !matches!(Outline::read(item), Ok(None)));
                let mut left = answered.skip(read_finished(&self.saved).len());
                calls.at_work = left.next().and_then(|item| called(item));
                calls.to_come = left.filter_map(|item| called(item)).collect();
            }
            _ => {}
        }
        Some(calls)
    }
}

/// The calls of tools on a line that is being answered.
#[derive(Default)]
struct Running {
    at_work: Option<Id>,
    to_come: Vec<Id>,
}

/// The id of a call of a tool.
fn called(text: &str) -> Option<Id> {
    let outline = Outline::read(text).ok()??;
    outline.tool.is_some().then_some(outline.id)
}

/// The ids of the requests in a batch.
fn ids(items: &[&str]) -> impl Iterator<Item = Id> {
    items
        .iter()
        .filter_map(|item| Some(Outline::read(item).ok()??.id))
}

/// Whether a queued line cancels this request.
pub(super) fn is_cancelled(host: &dyn Host, id: &Id) -> bool {
    queued(host).any(|(_, line)| {
        line.len() <= LONGEST_CANCELLATION
            && match jsonrpc::line(&line) {
                Line::Single(text) => cancels_one(&[text], id),
                Line::Batch(items) => cancels_one(&items, id),
                Line::Blank | Line::Malformed(_) => false,
            }
    })
}

/// Whether a member of a batch cancels this request.
pub(super) fn cancels_one(items: &[&str], id: &Id) -> bool {
    items
        .iter()
        .any(|item| jsonrpc::message(item).is_ok_and(|message| cancels(&message, id)))
}

fn cancels(message: &Message, id: &Id) -> bool {
    matches!(message, Message::Notification(notification) if notification.cancels.as_ref() == Some(id))
}

/// The queued lines, oldest first, with their index.
fn queued(host: &dyn Host) -> impl Iterator<Item = (u32, Vec<u8>)> {
    let mut left = SCAN_BYTES;
    (0..SCAN_LINES).map_while(move |index| {
        let line = host.queued(index)?;
        left = left.checked_sub(line.len())?;
        Some((index, line))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        Recorder, cancel, initialize, json, modern, request, session, strict,
    };
    use super::*;
    use crate::settings::ServerSettings;

    /// The instance that triages, while another runs a call under this id.
    fn while_running(id: &str) -> (&'static Recorder, Session) {
        running_under(&ServerSettings::default(), "2025-03-26", id)
    }

    fn call(id: &str) -> String {
        request(id, "tools/call", r#"{"name":"echo"}"#)
    }

    fn running_under(
        settings: &ServerSettings,
        revision: &str,
        id: &str,
    ) -> (&'static Recorder, Session) {
        let host = Recorder::leaked();
        session(settings, &[], host).answer(initialize(revision).as_bytes());
        host.run(&call(id));
        (host, session(settings, &host.state(), host))
    }

    fn handled(session: &Session, line: &str) -> Option<serde_json::Value> {
        match session.triage(line.as_bytes()) {
            Triaged::Handled(answer) => answer.map(|line| json(&line)),
            other => panic!("{line} is {other:?}"),
        }
    }

    #[test]
    fn the_running_call_is_cancelled_by_its_id_type_and_value() {
        let (_, session) = while_running("7");
        assert_eq!(
            session.triage(cancel("7").as_bytes()),
            Triaged::CancelRunning
        );
        assert_eq!(
            session.triage(cancel(r#""7""#).as_bytes()),
            Triaged::Handled(None)
        );
        assert_eq!(
            session.triage(cancel("8").as_bytes()),
            Triaged::Handled(None)
        );
        let (_, session) = while_running(r#""a""#);
        assert_eq!(
            session.triage(cancel(r#""\u0061""#).as_bytes()),
            Triaged::CancelRunning
        );
    }

    #[test]
    fn a_batch_of_notifications_cancels_the_running_call_and_any_other_waits() {
        let (_, session) = while_running("7");
        let judge = |line: String| session.triage(line.as_bytes());
        let noise = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(
            judge(format!("[{noise},{}]", cancel("7"))),
            Triaged::CancelRunning
        );
        for line in [
            format!("[{}]", cancel("8")),
            format!("[{},{}]", cancel("7"), request("9", "ping", "{}")),
        ] {
            assert_eq!(judge(line), Triaged::Defer);
        }
        let (_, session) = running_under(&ServerSettings::default(), "2025-11-25", "7");
        let line = format!("[{}]", cancel("7"));
        assert_eq!(session.triage(line.as_bytes()), Triaged::Defer);
    }

    #[test]
    fn a_cancellation_waits_where_it_is_not_known_what_runs() {
        let session = session(&ServerSettings::default(), &[], Recorder::leaked());
        assert_eq!(session.triage(cancel("1").as_bytes()), Triaged::Defer);
    }

    #[test]
    fn what_is_no_call_runs_to_its_end() {
        let (host, session) = while_running("1");
        for line in [initialize("2025-11-25"), request("0", "tools/list", "{}")] {
            host.run(&line);
            let triaged = session.triage(cancel("0").as_bytes());
            assert_eq!(triaged, Triaged::Handled(None), "{line}");
        }
    }

    #[test]
    fn a_queued_request_is_cancelled() {
        let (host, session) = while_running("1");
        host.queue(&request("2", "tools/list", "{}"));
        host.queue("not json");
        host.queue(&request("3", "tools/call", r#"{"name":"echo"}"#));
        assert_eq!(
            session.triage(cancel("3").as_bytes()),
            Triaged::CancelQueued(2)
        );
        assert_eq!(
            session.triage(cancel("2").as_bytes()),
            Triaged::CancelQueued(0)
        );
        assert!(host.sent().is_empty());
    }

    #[test]
    fn a_strict_server_leaves_a_queued_legacy_request_to_the_session_that_owes_it_an_answer() {
        let (host, session) = running_under(&strict(), "2025-11-25", "1");
        host.queue(&request("2", "tools/call", r#"{"name":"echo"}"#));
        host.queue(&modern("3", "tools/call", r#","name":"echo""#));
        assert_eq!(
            session.triage(cancel("3").as_bytes()),
            Triaged::CancelQueued(1)
        );
        assert_eq!(session.triage(cancel("2").as_bytes()), Triaged::Defer);
    }

    #[test]
    fn initialize_is_not_cancelled() {
        let (host, session) = while_running("1");
        host.queue(&initialize("2025-11-25"));
        assert_eq!(
            session.triage(cancel("0").as_bytes()),
            Triaged::Handled(None)
        );
    }

    #[test]
    fn a_member_of_a_queued_batch_is_left_for_the_batch_to_find() {
        let (host, session) = while_running("1");
        host.queue(&format!(
            "[{},{}]",
            request("2", "ping", "{}"),
            request("3", "ping", "{}")
        ));
        assert_eq!(session.triage(cancel("3").as_bytes()), Triaged::Defer);
        assert_eq!(
            session.triage(cancel("4").as_bytes()),
            Triaged::Handled(None)
        );
    }

    #[test]
    fn in_a_running_batch_the_member_at_work_is_cancelled_and_a_later_one_waits() {
        let host = Recorder::leaked();
        session(&ServerSettings::default(), &[], host).answer(initialize("2025-03-26").as_bytes());
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let ping = request("0", "ping", "{}");
        host.run(&format!(
            "[{ping},{note},{},{},{}]",
            call("1"),
            call("2"),
            call("3")
        ));
        host.extend_state(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n");
        let triage = |id: &str| {
            session(&ServerSettings::default(), &host.state(), host).triage(cancel(id).as_bytes())
        };
        assert_eq!(triage("1"), Triaged::CancelRunning);
        assert_eq!((triage("2"), triage("3")), (Triaged::Defer, Triaged::Defer));
        assert_eq!(triage("0"), Triaged::Handled(None));
        // Finished without a reply.
        host.extend_state(b"\n");
        assert_eq!(triage("1"), Triaged::Handled(None));
        assert_eq!(triage("2"), Triaged::CancelRunning);
        // What was saved is not what this line could have led to.
        host.extend_state(b"nonsense\n\n\n");
        assert_eq!(triage("2"), Triaged::CancelRunning);
    }

    #[test]
    fn a_ping_is_answered_at_once() {
        let (_, session) = while_running("1");
        let pong = handled(&session, &request("2", "ping", "{}")).expect("an answer");
        assert_eq!(pong["result"], serde_json::json!({}));
        let gone = handled(&session, &modern("3", "ping", "")).expect("an answer");
        assert_eq!(gone["error"]["code"], -32601);
    }

    #[test]
    fn what_stands_alone_is_answered_at_once_and_the_rest_waits() {
        let (host, session) = while_running("1");
        let before = host.state();
        for (method, params) in [
            ("server/discover", ""),
            ("tools/list", ""),
            ("subscriptions/listen", r#","notifications":{}"#),
            ("resources/list", ""),
        ] {
            assert!(
                handled(&session, &modern("2", method, params)).is_some(),
                "{method}"
            );
        }
        for line in [
            modern("2", "tools/call", r#","name":"echo""#),
            request("2", "tools/call", r#"{"name":"echo"}"#),
            request("2", "tools/list", "{}"),
            request("2", "nope", "{}"),
            initialize("2025-11-25"),
            format!("[{}]", request("2", "ping", "{}")),
        ] {
            assert_eq!(session.triage(line.as_bytes()), Triaged::Defer, "{line}");
        }
        assert_eq!(host.state(), before, "who triages saves no state");
    }

    #[test]
    fn nothing_is_said_to_what_needs_no_answer() {
        let (_, session) = while_running("1");
        for line in [
            "",
            "\r",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(handled(&session, line), None, "{line}");
        }
    }

    #[test]
    fn a_malformed_line_is_refused_at_once() {
        let (_, session) = while_running("1");
        let refusal = handled(&session, "{").expect("an answer");
        assert_eq!(refusal["error"]["code"], -32700);
    }

    #[test]
    fn a_flood_of_queued_lines_is_not_read_to_its_end() {
        let (host, session) = while_running("1");
        for _ in 0..SCAN_LINES {
            host.queue(&request("2", "ping", "{}"));
        }
        host.queue(&request("3", "ping", "{}"));
        assert_eq!(
            session.triage(cancel("3").as_bytes()),
            Triaged::Handled(None)
        );
    }
}
