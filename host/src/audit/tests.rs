use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use super::*;

fn options(folder: &TempDir, size: u64) -> Options {
    Options {
        file: folder.path().join("audit"),
        size,
        sql: false,
    }
}

fn call(tool: &str) -> Call {
    Call {
        request: "7".into(),
        thread: None,
        tool: tool.into(),
        arguments: vec![("sql".into(), "\"SELECT 1\"".into())],
        sql: Some("SELECT 1".into()),
    }
}

fn ok() -> Outcome {
    Outcome {
        status: "ok".into(),
        rows: 1,
        changes: 0,
    }
}

fn spent(fuel: u64) -> Spent {
    Spent {
        fuel,
        time: Duration::from_micros(fuel),
    }
}

fn recorded(audit: &Audit, call: Call) {
    audit.begin(call, spent(100)).expect("begun");
    audit.end(ok(), spent(1_600)).expect("ended");
    audit.finish(Some(300), spent(9_999), None);
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the file");
    let whole = |line: &str| {
        assert!(
            line.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
            "{line}"
        );
        serde_json::from_str(line).expect(line)
    };
    text.lines().map(whole).collect()
}

#[test]
fn a_call_has_one_line_with_what_it_took() {
    let folder = TempDir::new().expect("a folder");
    let audit = Audit::open(&options(&folder, 1 << 20)).expect("open");
    recorded(&audit, call("sqlarium_query"));
    let lines = lines(&folder.path().join("audit"));
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(line["event"], "call");
    assert_eq!(line["request"], 7);
    assert_eq!(line["thread"], Value::Null);
    assert_eq!(line["status"], "ok");
    assert_eq!((&line["fuel"], &line["ms"]), (&1_500.into(), &1.5.into()));
    assert_eq!((&line["rows"], &line["bytes"]), (&1.into(), &300.into()));
    assert_eq!(line["cut_by"], Value::Null);
    assert_eq!(line["arguments"]["sql"].as_str().map(str::len), Some(64));
    assert_eq!(line.get("sql"), None);
    let mode = fs::metadata(folder.path().join("audit"))
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn nothing_that_a_client_chooses_breaks_a_line_or_a_terminal() {
    let folder = TempDir::new().expect("a folder");
    let options = Options {
        sql: true,
        ..options(&folder, 1 << 20)
    };
    let audit = Audit::open(&options).expect("open");
    let odd = "\r\n\0\u{1b}[2J\u{7f}\u{9b}\u{202e}\u{2028}\"\\é\u{1f512}{\"event\":\"start\"}\n";
    let long = "é".repeat(100_000);
    for text in [odd, &long] {
        recorded(
            &audit,
            Call {
                request: serde_json::to_string(text).expect("JSON"),
                thread: Some(text.into()),
                tool: text.into(),
                arguments: vec![(text.into(), text.into()); 1_000],
                sql: Some(text.into()),
            },
        );
    }
    let lines = lines(&options.file);
    assert_eq!(lines.len(), 2);
    for member in ["request", "thread", "tool", "sql"] {
        assert_eq!(lines[0][member], odd, "{member}");
    }
    assert!(lines[1].to_string().len() < 100_000, "it is cut");
    assert_eq!(lines[1]["tool"], format!("{}…", "é".repeat(128)));
}

#[test]
fn the_id_of_a_request_is_what_the_client_sent() {
    let folder = TempDir::new().expect("a folder");
    let audit = Audit::open(&options(&folder, 1 << 20)).expect("open");
    for request in [
        "7",
        "\"7\"",
        "123456789012345678901234567890",
        "7.0",
        "nonsense",
    ] {
        let request = request.into();
        recorded(
            &audit,
            Call {
                request,
                ..call("t")
            },
        );
    }
    let ids: Vec<String> = lines(&folder.path().join("audit"))
        .iter()
        .map(|line| line["request"].to_string())
        .collect();
    let big = "\"123456789012345678901234567890\"";
    assert_eq!(ids, ["7", "\"7\"", big, "7.0", "\"nonsense\""]);
}

#[test]
fn a_call_that_is_aborted_has_its_line_and_what_is_not_known_is_null() {
    let folder = TempDir::new().expect("a folder");
    let audit = Audit::open(&options(&folder, 1 << 20)).expect("open");
    audit.begin(call("t"), spent(0)).expect("begun");
    audit.finish(None, spent(5), Some("timeout"));
    let line = &lines(&folder.path().join("audit"))[0];
    for member in ["status", "rows", "changes", "bytes"] {
        assert_eq!(line[member], Value::Null, "{member}");
    }
    assert_eq!(
        (&line["fuel"], &line["cut_by"]),
        (&5.into(), &"timeout".into())
    );
}

#[test]
fn calls_of_a_batch_have_a_line_each_as_they_end() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("audit");
    let audit = Audit::open(&options(&folder, 1 << 20)).expect("open");
    for _ in 0..3 {
        audit.begin(call("t"), spent(0)).expect("begun");
        audit.end(ok(), spent(1)).expect("ended");
    }
    assert_eq!(lines(&path).len(), 2);
    audit.finish(Some(900), spent(1), None);
    let lines = lines(&path);
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line["bytes"].is_null()));
}

#[test]
fn an_order_that_makes_no_sense_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let audit = Audit::open(&options(&folder, 1 << 20)).expect("open");
    audit.end(ok(), spent(0)).expect_err("none has begun");
    audit.begin(call("t"), spent(0)).expect("begun");
    audit.begin(call("t"), spent(0)).expect_err("one has begun");
    audit.end(ok(), spent(0)).expect("ended");
    audit.end(ok(), spent(0)).expect_err("it has ended");
    for _ in 1..CALLS_AT_ONCE {
        audit.begin(call("t"), spent(0)).expect("begun");
        audit.end(ok(), spent(0)).expect("ended");
    }
    audit.begin(call("t"), spent(0)).expect_err("too many");
    audit.finish(None, spent(0), None);
    audit.begin(call("t"), spent(0)).expect("another line");
}

#[test]
fn several_servers_append_whole_lines_and_few_files_are_kept() {
    const SIZE: u64 = 64 << 10;
    let folder = TempDir::new().expect("a folder");
    let options = options(&folder, SIZE);
    thread::scope(|scope| {
        for server in ["a", "b", "c"] {
            let options = &options;
            scope.spawn(move || {
                let audit = Audit::open(options).expect("open");
                for number in 0..2_000 {
                    recorded(&audit, call(&format!("{server}{number}")));
                }
                assert_eq!(audit.trouble(), None);
            });
        }
    });
    let mut files = 0;
    for number in 0..=6 {
        let path = match number {
            0 => options.file.clone(),
            number => folder.path().join(format!("audit.{number}")),
        };
        if !path.exists() {
            continue;
        }
        files += 1;
        let size = fs::metadata(&path).expect("a file").len();
        assert!(size < SIZE + (SIZE >> 2), "{size}");
        // Of each server, in order.
        let mut last = [None; 3];
        for line in lines(&path) {
            let (server, number) = line["tool"].as_str().expect("a tool").split_at(1);
            let last = &mut last["abc".find(server).expect("a server")];
            let number: Option<u32> = number.parse().ok();
            assert!(number > *last);
            *last = number;
        }
    }
    assert_eq!(files, 6);
}

#[test]
fn one_server_loses_no_line_to_rotation() {
    let folder = TempDir::new().expect("a folder");
    let audit = Audit::open(&options(&folder, 10_000)).expect("open");
    for number in 0..100 {
        recorded(&audit, call(&number.to_string()));
    }
    let mut found = Vec::new();
    for name in [
        "audit.5", "audit.4", "audit.3", "audit.2", "audit.1", "audit",
    ] {
        let path = folder.path().join(name);
        if path.exists() {
            found.extend(lines(&path).into_iter().map(|line| line["tool"].clone()));
        }
    }
    let expected: Vec<Value> = (0..100).map(|number| number.to_string().into()).collect();
    assert_eq!(found, expected);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_counted_and_stops_nothing() {
    let inner = |out| Audit {
        inner: Mutex::new(Inner {
            out,
            name: "full".into(),
            key: Key::random().expect("a key"),
            sql: false,
            call: None,
            calls: 0,
            lost: None,
            buffer: Vec::new(),
        }),
    };
    let full = AuditFile::open(Path::new("/dev/full"), 1 << 20).expect("open");
    let audit = inner(Out::File(full));
    assert_eq!(audit.trouble(), None);
    recorded(&audit, call("t"));
    let told = audit.trouble().expect("trouble");
    assert!(
        told.starts_with("The audit lacks 1 line that could not be written: "),
        "{told}"
    );
    recorded(&audit, call("t"));
    assert!(audit.trouble().expect("trouble").contains("2 lines"));
}

#[test]
fn digests_are_those_of_hmac_sha_256() {
    // The first test case of RFC 4231, its key filled up with zeros as HMAC itself does.
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("audit.key");
    fs::write(&path, format!("{}{}\n", "0b".repeat(20), "00".repeat(12))).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("mine");
    let key = Key::beside(&folder.path().join("audit")).expect("a key");
    assert_eq!(
        key.digest("Hi There"),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    );
}

#[test]
fn of_servers_that_start_together_one_makes_the_key() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("audit");
    let digests: Vec<String> = thread::scope(|scope| {
        let one = || Key::beside(&file).expect("a key").digest("x");
        let all: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        all.into_iter()
            .map(|one| one.join().expect("a digest"))
            .collect()
    });
    assert!(digests.iter().all(|digest| *digest == digests[0]));
    let key = folder.path().join("audit.key");
    let mode = fs::metadata(&key).expect("the key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
}

#[test]
fn a_key_that_is_none_or_that_others_can_read_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("audit.key");
    let refused = |text: &str, mode| {
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the mode");
        let key = Key::beside(&folder.path().join("audit"));
        format!("{:#}", key.map(drop).expect_err("refused"))
    };
    let whole = "0b".repeat(32);
    assert!(refused(&whole, 0o640).contains("chmod 600"));
    for text in [
        "",
        "0b",
        &"zz".repeat(32),
        &"é".repeat(32),
        &"0b".repeat(33),
    ] {
        refused(text, 0o600);
    }
}
