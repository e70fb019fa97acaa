//! Lines of a shell, and the dump of what they have made: read back, it dumps the same.

#![no_main]

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use libfuzzer_sys::fuzz_target;
use sqlarium_fuzz::{HOST, context, files, settings};
use sqlarium_guest::shell::console::Page;
use sqlarium_guest::shell::{Next, Shell};

/// Bytes of a text that are looked at.
const ROOM: usize = 1 << 20;

/// Dumps that are remembered.
const MOST_SEEN: usize = 1 << 20;

/// What lines print, and whether all of it is there and none failed.
fn ran(script: &[u8]) -> (String, bool) {
    let mut settings = settings();
    settings.command.output.text_bytes = ROOM as u32;
    let mut context = context(settings);
    let mut page = Page::new(ROOM);
    let mut shell = Shell::new(false, None);
    for line in script.split(|&byte| byte == b'\n') {
        HOST.begin();
        context.engine.interrupt().begin(None);
        if let Next::Quit(_) = shell.feed(line, &mut context, &mut page) {
            break;
        }
    }
    shell.finish(&mut context, &mut page);
    shell.close(&mut context);
    let (text, cut) = page.finish();
    (text, !cut && shell.errors() == 0)
}

/// Whether this dump was not read back yet; most inputs make what another has made, or nothing.
fn is_new(dump: &str) -> bool {
    static SEEN: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());
    let mut hasher = DefaultHasher::new();
    dump.hash(&mut hasher);
    let mut seen = SEEN.lock().expect("one thread");
    if seen.len() > MOST_SEEN {
        seen.clear();
    }
    seen.insert(hasher.finish())
}

fuzz_target!(|input: &[u8]| {
    let files = files();
    files.replace([("shop.db", &b""[..])]);
    ran(input);
    let (dump, whole) = ran(b".dump");
    if whole && dump.ends_with("COMMIT;\n") && is_new(&dump) {
        files.replace([("shop.db", &b""[..])]);
        let (said, read) = ran(dump.as_bytes());
        if read {
            assert_eq!(said, "");
            assert_eq!(ran(b".dump").0, dump);
        }
    }
    assert_eq!(files.open_files(), 0, "a file was left open");
});
