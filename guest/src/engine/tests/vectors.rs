//! What vec0 refuses is told as what it is, with limits that are true.

use super::*;

#[test]
fn vec0_refuses_values_as_a_constraint_and_names_its_limits() {
    let mut engine = engine(
        "CREATE VIRTUAL TABLE v USING vec0(e float[2], kind TEXT); \
         INSERT INTO v(rowid, e, kind) VALUES(1, '[1, 0]', 'a')",
    );
    let knn = "SELECT rowid FROM v WHERE e MATCH '[1, 0]' AND";
    for (sql, part) in [
        (
            &*format!("{knn} k = 4097"),
            "k is 4097, but a vec0 table answers with 4096 rows at most. Ask for k = 4096 or less.",
        ),
        (&format!("{knn} k = 9000000000"), "k is 9000000000, but"),
        (&format!("{knn} k = -1"), "greater than or equal to 0"),
        (
            "SELECT rowid FROM v WHERE e MATCH '[1, 0, 0]' AND k = 1",
            "Expected 2 dimensions but received 3",
        ),
        (
            "SELECT rowid FROM v WHERE e MATCH 'x' AND k = 1",
            "\"e\" column is invalid",
        ),
        (
            "INSERT INTO v(rowid, e, kind) VALUES(2, '[1]', 'a')",
            "Expected 2 dimensions but received 1",
        ),
        (
            "INSERT INTO v(rowid, e, kind) VALUES(1, '[1, 0]', 'a')",
            "UNIQUE constraint failed on v primary key",
        ),
        (
            "INSERT INTO v(rowid, e, kind) VALUES(2, '[1, 0]', 5)",
            "TEXT metadata column kind, received INTEGER",
        ),
        (
            "INSERT INTO v(rowid, e, kind) VALUES('x', '[1, 0]', 'a')",
            "Only integers are allowed",
        ),
        (
            "UPDATE v SET e = '[1]'",
            "Expected 2 dimensions but received 1",
        ),
        (
            "SELECT rowid FROM v WHERE e MATCH '[1, 0]'",
            "constraint is required on vec0 knn queries",
        ),
        (
            "SELECT vec_slice('[1, 2]', -1, 1)",
            "index must be a positive number",
        ),
        (
            "SELECT vec_distance_l2('[1, 2]', '[1]')",
            "Vector dimension mismatch",
        ),
        (
            "CREATE VIRTUAL TABLE w USING vec0(e float[8193])",
            "8193 dimensions, but a column of vec0 has 8192 at most",
        ),
    ] {
        let failure = refused(exec(&mut engine, sql), Status::Constraint, part);
        assert!(!failure.message.contains(".."), "{failure}");
    }
    let most = format!("{knn} k = 4096");
    assert_eq!(table(query(&mut engine, &most).unwrap()).rows.len(), 1);
}
