//! Lines that arrive while a call runs.
//!
//! They are judged by a fresh instance made from the kept state, which cannot change the
//! session that is at work. So only what depends on no order of messages is answered at once:
//! `ping`, modern requests other than `tools/call`, and malformed lines. A cancellation acts
//! at once; everything else waits its turn.

use serde_json::value::RawValue;

use super::jsonrpc::{self, Id, Line, Message, Request};
use super::session::{Answer, Session, reply};
use crate::host::Host;

/// How many waiting lines are looked through, and how many of their bytes: enough for any
/// client in its senses, and a bound on what a flood of lines costs.
const SCAN_LINES: u32 = 1024;
const SCAN_BYTES: usize = 16 << 20;
/// The longest line that is looked at as a cancellation, in bytes.
const LONGEST_CANCELLATION: usize = 64 << 10;

/// What to do with a line that arrives while a call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overheard {
    /// It has to wait its turn.
    Later,
    /// It is dealt with; the line, if any, is its answer.
    Settled(Option<String>),
    /// It takes back the running call.
    Cancel,
    /// It takes back the waiting line of this index.
    Withdraw(u32),
}

impl Session {
    /// Judges a line that arrives while another instance runs a call.
    pub fn overhear(&mut self, line: &[u8]) -> Overheard {
        match jsonrpc::line(line) {
            Line::Blank => Overheard::Settled(None),
            Line::Single(Ok(Message::Request(request))) => self.overhear_request(request),
            Line::Single(Ok(Message::Notification(notification))) => match notification.cancels {
                Some(id) => self.overhear_cancellation(&id),
                None => Overheard::Settled(None),
            },
            Line::Single(Ok(Message::Response)) => Overheard::Settled(None),
            Line::Single(Err(malformed)) => {
                Overheard::Settled(Some(self.writer.reply(&self.refuse(malformed))))
            }
            Line::Batch(items) => self.overhear_batch(&items),
        }
    }

    /// A batch is taken apart in its turn; but one of nothing that is answered need not wait if
    /// it takes back the running call.
    fn overhear_batch(&self, items: &[&RawValue]) -> Overheard {
        let cancels = |message: &Message| match message {
            Message::Notification(notification) => {
                self.kept.running.is_some() && notification.cancels == self.kept.running
            }
            _ => false,
        };
        let messages: Result<Vec<Message>, _> =
            items.iter().map(|item| jsonrpc::message(item)).collect();
        match messages {
            Ok(messages)
                if self.revision().has_batches()
                    && messages.iter().any(cancels)
                    && !messages
                        .iter()
                        .any(|message| matches!(message, Message::Request(_))) =>
            {
                Overheard::Cancel
            }
            _ => Overheard::Later,
        }
    }

    fn overhear_request(&self, request: Request) -> Overheard {
        if request.method == "initialize" {
            return Overheard::Later;
        }
        if request.is_modern() {
            return match self.stateless(&request) {
                None => Overheard::Later,
                Some(Answer::Reply(reply)) => Overheard::Settled(Some(self.writer.reply(&reply))),
                Some(Answer::Notice(line)) => Overheard::Settled(Some(line)),
                Some(Answer::Silence) => Overheard::Settled(None),
            };
        }
        if request.method == "ping" {
            let pong = reply(request.id, Ok(serde_json::Map::new()));
            return Overheard::Settled(Some(self.writer.reply(&pong)));
        }
        Overheard::Later
    }

    fn overhear_cancellation(&self, id: &Id) -> Overheard {
        if self.kept.running.as_ref() == Some(id) {
            return Overheard::Cancel;
        }
        // A call looks for its cancellation in line before it runs, so that nothing is lost
        // that comes before it is known, or while another member of its batch runs.
        let mut looked_for = self.kept.running.is_none() || self.kept.batch;
        for (index, line) in waiting(self.host) {
            match jsonrpc::line(&line) {
                Line::Single(Ok(Message::Request(request))) if request.id == *id => {
                    return self.withdraw(index, request);
                }
                Line::Batch(items) => {
                    looked_for |= items.iter().any(|item| {
                        matches!(jsonrpc::message(item), Ok(Message::Request(request)) if request.id == *id)
                    });
                }
                _ => {}
            }
        }
        if looked_for {
            Overheard::Later
        } else {
            Overheard::Settled(None)
        }
    }

    fn withdraw(&self, index: u32, request: Request) -> Overheard {
        if request.method == "initialize" {
            // Must not be cancelled, in any revision.
            return Overheard::Settled(None);
        }
        let modern = request.is_modern();
        if self.strict && !modern {
            // It is owed an answer, which only the session at work can give. It looks for the
            // cancellation when the request's turn comes.
            return Overheard::Later;
        }
        Overheard::Withdraw(index)
    }
}

/// Whether a line that waits takes this request back.
pub(super) fn is_taken_back(host: &dyn Host, id: &Id) -> bool {
    waiting(host).any(|(_, line)| {
        line.len() <= LONGEST_CANCELLATION
            && match jsonrpc::line(&line) {
                Line::Single(Ok(message)) => takes_back(&message, id),
                Line::Batch(items) => takes_one_back(&items, id),
                _ => false,
            }
    })
}

/// Whether a member of a batch takes this request back.
pub(super) fn takes_one_back(items: &[&RawValue], id: &Id) -> bool {
    items
        .iter()
        .any(|item| jsonrpc::message(item).is_ok_and(|message| takes_back(&message, id)))
}

fn takes_back(message: &Message, id: &Id) -> bool {
    matches!(message, Message::Notification(notification) if notification.cancels.as_ref() == Some(id))
}

/// The lines that wait, oldest first, with their index.
fn waiting(host: &dyn Host) -> impl Iterator<Item = (u32, Vec<u8>)> {
    let mut left = SCAN_BYTES;
    (0..SCAN_LINES).map_while(move |index| {
        let line = host.waiting(index)?;
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
    use crate::settings::Settings;

    /// The instance that overhears, while another runs a call under this id.
    fn while_running(id: &str) -> (&'static Recorder, Session) {
        running_under(&Settings::default(), "2025-03-26", id)
    }

    fn running_under(
        settings: &Settings,
        revision: &str,
        id: &str,
    ) -> (&'static Recorder, Session) {
        let host = Recorder::leaked();
        let mut busy = session(settings, "", host);
        busy.handle(initialize(revision).as_bytes());
        busy.handle(request(id, "tools/call", r#"{"name":"echo"}"#).as_bytes());
        // Kept at the handshake, then before the call, then after it.
        let state = host.state_at(1);
        (host, session(settings, &state, host))
    }

    fn settled(session: &mut Session, line: &str) -> Option<serde_json::Value> {
        match session.overhear(line.as_bytes()) {
            Overheard::Settled(answer) => answer.map(|line| json(&line)),
            other => panic!("{line} is {other:?}"),
        }
    }

    #[test]
    fn the_running_call_is_cancelled_by_its_id_type_and_value() {
        let (_, mut session) = while_running("7");
        assert_eq!(session.overhear(cancel("7").as_bytes()), Overheard::Cancel);
        assert_eq!(
            session.overhear(cancel(r#""7""#).as_bytes()),
            Overheard::Settled(None)
        );
        assert_eq!(
            session.overhear(cancel("8").as_bytes()),
            Overheard::Settled(None)
        );
        let (_, mut session) = while_running(r#""a""#);
        assert_eq!(
            session.overhear(cancel(r#""\u0061""#).as_bytes()),
            Overheard::Cancel
        );
    }

    #[test]
    fn a_batch_of_notifications_takes_the_running_call_back_and_any_other_waits() {
        let (_, mut session) = while_running("7");
        let mut judge = |line: String| session.overhear(line.as_bytes());
        let noise = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(
            judge(format!("[{noise},{}]", cancel("7"))),
            Overheard::Cancel
        );
        for line in [
            format!("[{}]", cancel("8")),
            format!("[{},{}]", cancel("7"), request("9", "ping", "{}")),
        ] {
            assert_eq!(judge(line), Overheard::Later);
        }
        let (_, mut session) = running_under(&Settings::default(), "2025-11-25", "7");
        let line = format!("[{}]", cancel("7"));
        assert_eq!(session.overhear(line.as_bytes()), Overheard::Later);
    }

    #[test]
    fn a_cancellation_waits_for_a_call_that_is_not_known_yet() {
        let host = Recorder::leaked();
        let mut session = session(&Settings::default(), "", host);
        assert_eq!(session.overhear(cancel("1").as_bytes()), Overheard::Later);
    }

    #[test]
    fn a_waiting_request_is_withdrawn() {
        let (host, mut session) = while_running("1");
        host.wait(&request("2", "tools/list", "{}"));
        host.wait("not json");
        host.wait(&request("3", "tools/call", r#"{"name":"echo"}"#));
        assert_eq!(
            session.overhear(cancel("3").as_bytes()),
            Overheard::Withdraw(2)
        );
        assert_eq!(
            session.overhear(cancel("2").as_bytes()),
            Overheard::Withdraw(0)
        );
        assert!(host.sent().is_empty());
    }

    #[test]
    fn a_strict_server_leaves_a_waiting_legacy_request_to_the_session_that_owes_it_an_answer() {
        let (host, mut session) = running_under(&strict(), "2025-11-25", "1");
        host.wait(&request("2", "tools/call", r#"{"name":"echo"}"#));
        host.wait(&modern("3", "tools/call", r#","name":"echo""#));
        assert_eq!(
            session.overhear(cancel("3").as_bytes()),
            Overheard::Withdraw(1)
        );
        assert_eq!(session.overhear(cancel("2").as_bytes()), Overheard::Later);
    }

    #[test]
    fn initialize_is_not_taken_back() {
        let (host, mut session) = while_running("1");
        host.wait(&initialize("2025-11-25"));
        assert_eq!(
            session.overhear(cancel("0").as_bytes()),
            Overheard::Settled(None)
        );
    }

    #[test]
    fn a_member_of_a_waiting_batch_is_left_for_the_batch_to_find() {
        let (host, mut session) = while_running("1");
        host.wait(&format!(
            "[{},{}]",
            request("2", "ping", "{}"),
            request("3", "ping", "{}")
        ));
        assert_eq!(session.overhear(cancel("3").as_bytes()), Overheard::Later);
        assert_eq!(
            session.overhear(cancel("4").as_bytes()),
            Overheard::Settled(None)
        );
    }

    #[test]
    fn in_a_running_batch_the_member_at_work_is_cancelled_and_a_later_one_waits() {
        let host = Recorder::leaked();
        let mut busy = session(&Settings::default(), "", host);
        busy.handle(initialize("2025-03-26").as_bytes());
        let call = |id: &str| request(id, "tools/call", r#"{"name":"echo"}"#);
        busy.handle(format!("[{},{}]", call("1"), call("2")).as_bytes());
        let mut session = session(&Settings::default(), &host.state_at(1), host);
        assert_eq!(session.overhear(cancel("1").as_bytes()), Overheard::Cancel);
        assert_eq!(session.overhear(cancel("2").as_bytes()), Overheard::Later);
    }

    #[test]
    fn a_ping_is_answered_at_once() {
        let (_, mut session) = while_running("1");
        let pong = settled(&mut session, &request("2", "ping", "{}")).expect("an answer");
        assert_eq!(pong["result"], serde_json::json!({}));
        let gone = settled(&mut session, &modern("3", "ping", "")).expect("an answer");
        assert_eq!(gone["error"]["code"], -32601);
    }

    #[test]
    fn what_stands_alone_is_answered_at_once_and_the_rest_waits() {
        let (host, mut session) = while_running("1");
        let before = host.state();
        for (method, params) in [
            ("server/discover", ""),
            ("tools/list", ""),
            ("subscriptions/listen", r#","notifications":{}"#),
            ("resources/list", ""),
        ] {
            assert!(
                settled(&mut session, &modern("2", method, params)).is_some(),
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
            assert_eq!(
                session.overhear(line.as_bytes()),
                Overheard::Later,
                "{line}"
            );
        }
        assert_eq!(host.state(), before, "who overhears leaves no state");
    }

    #[test]
    fn nothing_is_said_to_what_needs_no_answer() {
        let (_, mut session) = while_running("1");
        for line in [
            "",
            "\r",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(settled(&mut session, line), None, "{line}");
        }
    }

    #[test]
    fn a_malformed_line_is_refused_at_once() {
        let (_, mut session) = while_running("1");
        let refusal = settled(&mut session, "{").expect("an answer");
        assert_eq!(refusal["error"]["code"], -32700);
    }

    #[test]
    fn a_flood_of_waiting_lines_is_not_read_to_its_end() {
        let (host, mut session) = while_running("1");
        for _ in 0..SCAN_LINES {
            host.wait(&request("2", "ping", "{}"));
        }
        host.wait(&request("3", "ping", "{}"));
        assert_eq!(
            session.overhear(cancel("3").as_bytes()),
            Overheard::Settled(None)
        );
    }
}
