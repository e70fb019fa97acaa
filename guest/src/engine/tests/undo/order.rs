//! Writes that came later, of this session and of others.

use super::*;

#[test]
fn later_writes_of_another_process_are_in_the_way_and_stay() {
    for (write, meddle) in [
        (
            "UPDATE items SET name = 'mine' WHERE id = 1",
            "UPDATE items SET name = 'theirs' WHERE id = 1",
        ),
        (
            "UPDATE items SET name = 'mine' WHERE id = 1",
            "DELETE FROM items WHERE id = 1",
        ),
        (
            "DELETE FROM items WHERE id = 2",
            "INSERT INTO items(id, name) VALUES(2, 'theirs')",
        ),
        (
            "INSERT INTO parent VALUES(9, 'r')",
            "INSERT INTO child(p) VALUES(9)",
        ),
        (
            "UPDATE parent SET n = 'm' WHERE id = 1",
            "INSERT INTO parent VALUES(3, 'p')",
        ),
        (
            "INSERT INTO plain VALUES(8)",
            "ALTER TABLE plain ADD COLUMN y",
        ),
        ("CREATE TABLE t(a)", "INSERT INTO t VALUES(1)"),
        ("CREATE TABLE t(a)", "DROP TABLE t"),
        ("DROP TABLE plain", "CREATE TABLE plain(z)"),
        (
            "CREATE VIRTUAL TABLE f USING fts5(x)",
            "INSERT INTO f VALUES('y')",
        ),
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, SHOP);
        exec(&mut engine, write).unwrap();
        native(&path, &format!("PRAGMA foreign_keys=ON; {meddle}"));
        let state = everything(&path);
        let failure = refused(
            undo(&mut engine),
            Status::InvalidState,
            "was written to since",
        );
        assert!(
            failure.message.ends_with("Nothing was changed."),
            "{write}; {meddle}: {failure}"
        );
        assert_eq!(everything(&path), state, "{write}; {meddle}");
        // The session continues, with its guards and its triggers as before.
        exec(&mut engine, "UPDATE items SET name = 'w' WHERE id = 7").unwrap();
        assert_eq!(number(&mut engine, "SELECT count(*) > 0 FROM log"), 1);
        refused(
            exec(&mut engine, "UPDATE sqlite_schema SET sql = 'x'"),
            Status::Readonly,
            "",
        );
        refused(
            exec(&mut engine, "INSERT INTO child(p) VALUES(77)"),
            Status::Constraint,
            "FOREIGN KEY",
        );
    }
}

fn undo_number(engine: &mut Engine, write: i64) -> Result<Output, Failure> {
    engine.database(None)?.undo(Some(write))
}

#[test]
fn a_write_is_undone_by_its_number_where_later_ones_lie_elsewhere() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    let states: Vec<Vec<String>> = [
        "UPDATE items SET price = 1 WHERE id = 1",
        "UPDATE norowid SET v = 'second' WHERE k = 'a'",
        "UPDATE parent SET n = 'third' WHERE id = 1",
    ]
    .iter()
    .map(|sql| {
        let before = everything(&path);
        exec(&mut engine, sql).unwrap();
        before
    })
    .collect();
    let told = undo_number(&mut engine, 2).unwrap();
    assert_eq!(told.extra["undone"]["number"], 2);
    let sql = "SELECT price || v || n FROM items, norowid, parent
               WHERE items.id = 1 AND k = 'a' AND parent.id = 1";
    assert_eq!(value(&mut engine, sql), text("1.01third"));
    let again = refused(
        undo_number(&mut engine, 2),
        Status::InvalidState,
        "was undone already",
    );
    assert!(again.message.starts_with("Write 2 ("), "{again}");
    // The others follow each other now.
    undo(&mut engine).unwrap();
    assert_eq!(value(&mut engine, sql), text("1.01p"));
    undo_number(&mut engine, 1).unwrap();
    assert_eq!(everything(&path), states[0]);
    refused(
        undo_number(&mut engine, 4),
        Status::NotFound,
        "has no write 4",
    );
    refused(
        undo_number(&mut engine, 0),
        Status::NotFound,
        "has no write 0",
    );
}

#[test]
fn a_later_write_to_the_same_pages_is_in_the_way_and_named() {
    for later in [
        &["UPDATE items SET price = 2 WHERE id = 1"][..],
        // Changed and changed back: nothing is different, but the write between would bring it back.
        &[
            "UPDATE items SET price = 2 WHERE id = 1",
            "UPDATE items SET price = 1 WHERE id = 1",
        ],
        // And there and back again, across the write itself.
        &[
            "UPDATE items SET price = 49.5 WHERE id = 1",
            "DELETE FROM log WHERE rowid = 2",
        ],
        &["UPDATE norowid SET v = 5 WHERE k = 'a'", "DROP TABLE items"],
    ] {
        let folder = Folder::new();
        let (mut engine, path) = on(&folder, SHOP);
        let first = everything(&path);
        exec(&mut engine, "UPDATE items SET price = 1 WHERE id = 1").unwrap();
        for sql in later {
            exec(&mut engine, sql).unwrap();
        }
        let state = everything(&path);
        let last = later.len() + 1;
        let failure = refused(
            undo_number(&mut engine, 1),
            Status::InvalidState,
            &format!("Write {last} ("),
        );
        assert_eq!(
            failure.hint.as_deref(),
            Some(&*format!("Undo write {last} first.")),
            "{later:?}"
        );
        assert_eq!(everything(&path), state, "{later:?}");
        for write in (1..=last).rev() {
            undo_number(&mut engine, write as i64).unwrap();
        }
        assert_eq!(everything(&path), first, "{later:?}");
    }
}

#[test]
fn a_write_of_another_process_between_two_of_ours_is_found_when_the_first_is_undone() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    exec(&mut engine, "UPDATE norowid SET v = 'ours' WHERE k = 'a'").unwrap();
    exec(&mut engine, "UPDATE parent SET n = 'ours' WHERE id = 1").unwrap();
    native(&path, "UPDATE norowid SET v = 'theirs' WHERE k = 'a'");
    let told = |engine: &mut Engine| {
        let past = engine.database(None).unwrap().past(99).unwrap();
        let apart: Vec<bool> = past.entries.iter().map(|entry| entry.apart).collect();
        (apart, past.since)
    };
    assert_eq!(told(&mut engine), (vec![false, false], true));
    exec(&mut engine, "INSERT INTO twin VALUES(1)").unwrap();
    assert_eq!(told(&mut engine), (vec![true, false, false], false));
    undo(&mut engine).unwrap();
    // The second one lies elsewhere.
    undo(&mut engine).unwrap();
    let failure = refused(
        undo(&mut engine),
        Status::InvalidState,
        "by another connection",
    );
    assert!(failure.message.starts_with("Write 1 ("), "{failure}");
    assert_eq!(
        value(&mut engine, "SELECT v FROM norowid WHERE k = 'a'"),
        text("theirs")
    );
}

#[test]
fn writes_on_other_pages_stay_and_are_not_in_the_way_where_all_still_fits() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    exec(&mut engine, "UPDATE items SET price = 1 WHERE id = 1").unwrap();
    native(&path, "UPDATE norowid SET v = 'theirs' WHERE k = 'a'");
    undo(&mut engine).unwrap();
    let sql = "SELECT price || v FROM items, norowid WHERE id = 1 AND k = 'a'";
    assert_eq!(value(&mut engine, sql), text("49.5theirs"));
}

#[test]
fn what_was_written_to_a_file_that_was_replaced_is_not_undone_in_the_new_one() {
    let folder = Folder::new();
    let (mut engine, path) = on(&folder, SHOP);
    exec(&mut engine, "UPDATE items SET price = 1 WHERE id = 1").unwrap();
    std::fs::rename(folder.database("other.db", SHOP), &path).unwrap();
    let before = everything(&path);
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "was replaced by another one",
    );
    // What is written to the new one is.
    exec(&mut engine, "DELETE FROM items").unwrap();
    undo(&mut engine).unwrap();
    refused(
        undo(&mut engine),
        Status::InvalidState,
        "was replaced by another one",
    );
    assert_eq!(everything(&path), before);
}
