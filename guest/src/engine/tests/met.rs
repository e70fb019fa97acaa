//! A constraint that fails names the value it met.

use super::*;

#[test]
fn a_constraint_that_fails_names_what_it_met() {
    let mut engine = engine(
        "CREATE TABLE customer(id INTEGER PRIMARY KEY, email TEXT UNIQUE COLLATE NOCASE, n INT CONSTRAINT positive CHECK (n > 0));
         CREATE TABLE pair(a, b, v, PRIMARY KEY(a, b)) WITHOUT ROWID;
         CREATE TABLE orders(id INTEGER PRIMARY KEY, customer REFERENCES customer(id), note TEXT NOT NULL);
         CREATE UNIQUE INDEX lowered ON orders(lower(note));
         CREATE TABLE kept(id INTEGER PRIMARY KEY); CREATE TABLE keeps(k REFERENCES kept ON DELETE RESTRICT);
         INSERT INTO kept VALUES(1); INSERT INTO keeps VALUES(1);
         CREATE TABLE strict(n INTEGER, m INT CHECK (m > 0)) STRICT;
         CREATE TABLE \"od,d t\"(\"a.b\" UNIQUE, \"c, d\");
         INSERT INTO customer VALUES(5, 'a@b.c', 1), (6, 'f@g.h', 1); INSERT INTO pair VALUES(1, 'x', 0);
         INSERT INTO orders VALUES(1, 5, 'Note'); INSERT INTO \"od,d t\" VALUES('it''s', 1)",
    );
    for (sql, params, part) in [
        (
            "DELETE FROM kept",
            json!(null),
            "A row of keeps refers to kept.id = 1, by keeps.k. A row refers to a row that does not exist, or another row still refers to it",
        ),
        (
            "UPDATE customer SET email = 'A@B.C', n = 2 WHERE id = 6",
            json!(null),
            "The row of customer with rowid 5 has email = 'a@b.c' already.",
        ),
        (
            "UPDATE customer AS c SET email = ? WHERE c.id = ? RETURNING id",
            json!(["a@b.c", 6]),
            "rowid 5 has email = 'a@b.c' already",
        ),
        (
            "UPDATE customer SET email = 'same'",
            json!(null),
            "More than one of the new rows has email = 'same'.",
        ),
        (
            "UPDATE customer SET n = -n WHERE id = 5",
            json!(null),
            "The new row of customer has n = -1.",
        ),
        (
            "UPDATE orders SET customer = 99 -- gone",
            json!(null),
            "orders.customer = 99, but customer has no row with id = 99.",
        ),
        (
            "INSERT INTO strict VALUES('five', 1)",
            json!(null),
            "annot store TEXT value in INTEGER column strict.n. The new row of strict has n = 'five'.",
        ),
        (
            "INSERT INTO strict VALUES(1, ?)",
            json!([-7]),
            "CHECK constraint failed: m > 0. The new row of strict has m = -7.",
        ),
        (
            "INSERT INTO customer(id) VALUES('x')",
            json!(null),
            "The new row of customer has id = 'x'.",
        ),
        (
            "INSERT INTO customer(n) VALUES(-1)",
            json!(null),
            "It is CHECK ( n > 0 ) on customer. The new row of customer has n = -1.",
        ),
        (
            "DELETE FROM customer WHERE id = 5",
            json!(null),
            "A row of orders refers to customer.id = 5, by orders.customer.",
        ),
        (
            "DELETE FROM customer AS c WHERE c.id = ? RETURNING id",
            json!([5]),
            "refers to customer.id = 5",
        ),
        (
            "INSERT INTO customer(email) VALUES('A@b.c')",
            json!(null),
            "UNIQUE constraint failed: customer.email. The row of customer with rowid 5 has email = 'a@b.c' already.",
        ),
        (
            "INSERT INTO customer(email) VALUES(?)",
            json!(["a@b.c"]),
            "rowid 5 has email = 'a@b.c' already",
        ),
        (
            "INSERT INTO customer VALUES(:id, :e, 1) RETURNING id",
            json!({"id": 9, "e": "a@b.c"}),
            "rowid 5 has email = 'a@b.c' already",
        ),
        (
            "INSERT INTO customer(id) VALUES(7), (5), (8)",
            json!(null),
            "rowid 5 has id = 5 already",
        ),
        (
            "INSERT INTO customer(id, email) SELECT 8, email FROM customer",
            json!(null),
            "rowid 5 has email = 'a@b.c' already",
        ),
        (
            "INSERT INTO customer(email) VALUES('x'), ('x')",
            json!(null),
            "More than one of the new rows has email = 'x'",
        ),
        (
            "INSERT INTO customer(id, email) VALUES(5, 'new') ON CONFLICT(email) DO NOTHING",
            json!(null),
            "rowid 5 has id = 5 already",
        ),
        (
            "INSERT INTO pair VALUES(1, 'x', 2)",
            json!(null),
            "UNIQUE constraint failed: pair.a, pair.b. A row of pair has a = 1, b = 'x' already.",
        ),
        (
            "INSERT INTO \"od,d t\" VALUES('it''s', 2)",
            json!(null),
            "has a.b = 'it''s' already",
        ),
        (
            "INSERT INTO orders(customer, note) VALUES(1, 'a'), (99, 'b')",
            json!(null),
            "FOREIGN KEY constraint failed. orders.customer = 1, but customer has no row with id = 1.",
        ),
        (
            "INSERT INTO orders(customer, note) VALUES(?, ?)",
            json!([99, "b"]),
            "orders.customer = 99, but customer has no row with id = 99.",
        ),
        (
            "INSERT INTO orders(note) VALUES('NOTE')",
            json!(null),
            "It is on orders: CREATE UNIQUE INDEX lowered",
        ),
        (
            "INSERT INTO orders(id) VALUES(2)",
            json!(null),
            "NOT NULL constraint failed: orders.note",
        ),
        (
            "INSERT INTO customer(n) VALUES(-1)",
            json!(null),
            "CHECK constraint failed: positive. It is CHECK ( n > 0 ) on customer.",
        ),
    ] {
        let params = Params::from_json(&params).unwrap();
        let result = engine.database(None).unwrap().exec(sql, &params);
        refused(result, Status::Constraint, part);
    }
    let long = format!(
        "INSERT INTO pair VALUES('{0}', 1, 1), ('{0}', 1, 1)",
        "é".repeat(500)
    );
    let failure = refused(
        exec(&mut engine, &long),
        Status::Constraint,
        "é…'".trim_end_matches("…'"),
    );
    assert!(
        failure.message.len() < 300 && failure.message.contains('…'),
        "{failure}"
    );
    refused(
        batch(
            &mut engine,
            "SELECT 1; INSERT INTO customer(email) VALUES('a@b.c')",
        ),
        Status::Constraint,
        "Statement 2 of the batch (line 1) failed: UNIQUE constraint failed: customer.email. The row of customer with rowid 5",
    );
    assert_eq!(number(&mut engine, "SELECT count(*) FROM customer"), 2);
    // And the connection writes as before.
    exec(&mut engine, "INSERT INTO customer(email) VALUES('new')").unwrap();
}

#[test]
fn a_foreign_key_of_several_columns_and_a_parents_new_key_are_named_too() {
    let mut engine = engine(
        "CREATE TABLE parent(id INTEGER PRIMARY KEY, a, b, UNIQUE(a, b));
         CREATE TABLE child(x, y, FOREIGN KEY(x, y) REFERENCES parent(a, b));
         CREATE TABLE one(p REFERENCES parent);
         CREATE TABLE pair(k, l, PRIMARY KEY(k, l)); CREATE TABLE of_pair(m, n, FOREIGN KEY(n, m) REFERENCES pair);
         CREATE TABLE staff(id INTEGER PRIMARY KEY, boss REFERENCES staff);
         INSERT INTO parent VALUES(1, 'x', 1), (2, 'x', 2), (3, 'y', 3), (4, 'z', 4);
         INSERT INTO child VALUES('x', 1), (NULL, 9); INSERT INTO one VALUES(1), (3);
         INSERT INTO pair VALUES('k', 'l'); INSERT INTO of_pair VALUES('l', 'k')",
    );
    for (sql, part) in [
        (
            "INSERT INTO child VALUES('x', 2), (NULL, 5), ('x', 9)",
            "child.x = 'x' and child.y = 9, but parent has no row with a = 'x' and b = 9.",
        ),
        (
            "UPDATE child SET y = 7 WHERE x = 'x'",
            "child.x = 'x' and child.y = 7, but parent has no row with a = 'x' and b = 7.",
        ),
        (
            "INSERT INTO of_pair(n, m) VALUES('k', 'z')",
            "of_pair.n = 'k' and of_pair.m = 'z', but pair has no row with k = 'k' and l = 'z'.",
        ),
        (
            "DELETE FROM parent WHERE b < 3 AND id > 0 AND a = 'x'",
            "A row of child refers to parent.a = 'x' and parent.b = 1, by child.x and child.y.",
        ),
        (
            "UPDATE parent SET b = 5 WHERE id = 1",
            "A row of child refers to parent.a = 'x' and parent.b = 1, by child.x and child.y.",
        ),
        // 1, 2, 3, 4 become 2, 3, 4, 5, so that 3 is there still.
        (
            "UPDATE parent SET id = -(id + 1)",
            "A row of one refers to parent.id = 1, by one.p.",
        ),
        (
            "UPDATE pair SET k = 'm', l = 'l'",
            "A row of of_pair refers to pair.k = 'k' and pair.l = 'l', by of_pair.n and of_pair.m.",
        ),
        (
            "INSERT INTO staff VALUES(5, 6), (6, 5), (7, 8)",
            "staff.boss = 8, but staff has no row with id = 8.",
        ),
    ] {
        let failure = refused(exec(&mut engine, sql), Status::Constraint, part);
        assert!(failure.message.starts_with("FOREIGN KEY"), "{failure}");
    }
}

#[test]
fn what_a_trigger_or_an_upsert_met_is_not_guessed() {
    let mut engine = engine(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, n); CREATE TABLE log(n CHECK (n < 5), a UNIQUE);
         CREATE TRIGGER logs AFTER INSERT ON t BEGIN INSERT INTO log VALUES(new.n, new.a); END;
         INSERT INTO t VALUES(1, 'x', 1), (2, 'y', 1); DELETE FROM t WHERE id = 2; INSERT INTO t VALUES(3, 'z', 1)",
    );
    for (sql, said) in [
        (
            "INSERT INTO t VALUES(9, 'new', 7)",
            "CHECK constraint failed: n < 5.",
        ),
        (
            "INSERT INTO t VALUES(9, 'y', 1)",
            "UNIQUE constraint failed: log.a.",
        ),
        (
            "INSERT INTO t VALUES(1, 'z2', 1) ON CONFLICT(id) DO UPDATE SET a = 'z'",
            "UNIQUE constraint failed: t.a.",
        ),
    ] {
        let failure = exec(&mut engine, sql).unwrap_err();
        assert_eq!(failure.message, said, "{sql}");
    }
}

#[test]
fn rows_without_end_are_not_looked_through() {
    let mut engine = engine(
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b CHECK (b < 9)); INSERT INTO t VALUES(1, 1)",
    );
    for (source, part) in [
        ("SELECT i, 1 FROM n", "rowid 1 has a = 1 already"),
        ("SELECT i + 1, i FROM n", "CHECK constraint failed: b < 9."),
    ] {
        let sql = format!(
            "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) {source}"
        );
        refused(exec(&mut engine, &sql), Status::Constraint, part);
    }
}
