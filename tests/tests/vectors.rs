//! Vectors: the functions and tables of sqlite-vec in the sandbox, under attack too, and `vector-search`.

use rusqlite::Connection;
use serde_json::json;
use sqlarium_tests::{Folder, Server, load_sqlite_vec};

#[test]
fn vec0_tables_and_functions_work_by_sql() {
    let mut server = Server::ready([""; 0]);
    server.batch(
        "CREATE VIRTUAL TABLE v USING vec0(e float[3]); \
         INSERT INTO v(rowid, e) VALUES(1, '[1, 0, 0]'), (2, '[0, 1, 0]'), (3, '[0, 0, 1]'); DELETE FROM v WHERE rowid = 3",
    );
    let rows = server
        .rows("SELECT rowid FROM v WHERE e MATCH '[0.1, 0.9, 0]' AND k = 2 ORDER BY distance");
    assert_eq!(rows, json!([[2], [1]]));
    assert_eq!(
        server.rows("SELECT vec_length('[1, 2, 3]'), vec_to_json(vec_add('[1]', '[2]'))"),
        json!([[3, "[3.000000]"]])
    );
    let answer = server.call(
        "vector-search",
        json!({ "table": "v", "column": "e", "vector": [0, 1, 0], "k": 1, "output": "json" }),
    );
    assert_eq!(answer.object["rows"], json!([[2, 0.0]]));
}

/// What is meant to break the library. Most of it is refused; none of it may end the session.
const HOSTILE: &[&str] = &[
    "SELECT vec_f32(zeroblob(0))",
    "SELECT vec_f32(x'010203')",
    "SELECT vec_f32('[' || replace(hex(zeroblob(200000)), '00', '1,') || '1]') IS NULL",
    "SELECT vec_f32('[1,')",
    "SELECT vec_f32('[1e999999, nan, inf]')",
    "SELECT vec_f32(replace(hex(zeroblob(50000)), '00', '['))",
    "SELECT vec_f32('[' || char(0) || ']')",
    "SELECT vec_int8(zeroblob(40000000)) IS NULL",
    "SELECT vec_distance_l2(vec_int8(x'01'), vec_f32('[1]'))",
    "SELECT vec_distance_cosine(zeroblob(4), x'0000c07f')",
    "SELECT vec_distance_hamming(vec_bit(zeroblob(1000000)), vec_bit(zeroblob(1000000)))",
    "SELECT vec_distance_hamming(vec_bit(x'ff'), vec_bit(x'ffff'))",
    "SELECT vec_slice('[1,2,3]', -1, 2)",
    "SELECT vec_slice('[1,2,3]', 0, 9223372036854775807)",
    "SELECT vec_slice(vec_bit(x'ffff'), 1, 7)",
    "SELECT vec_quantize_binary('[1,2,3]')",
    "SELECT vec_quantize_int8('[1e38,-1e38]', 'unit')",
    "SELECT vec_quantize_int8('[1]', 'other')",
    "SELECT vec_normalize('[0,0]')",
    "SELECT vec_add(zeroblob(16000000), zeroblob(16000000)) IS NULL",
    "SELECT count(*) FROM vec_each(zeroblob(4000))",
    "SELECT count(*) FROM vec_each('[]')",
    "SELECT vec_to_json(zeroblob(4000000)) IS NULL",
    "CREATE VIRTUAL TABLE h USING vec0(e float[999999999999])",
    "CREATE VIRTUAL TABLE h USING vec0(e float[0])",
    "CREATE VIRTUAL TABLE h USING vec0(e float[-1])",
    "CREATE VIRTUAL TABLE h USING vec0()",
    "CREATE VIRTUAL TABLE h USING vec0(e float[8192], chunk_size=4096)",
    "INSERT INTO h(rowid, e) VALUES(1, zeroblob(32768))",
    "INSERT INTO h(rowid, e) VALUES(2, zeroblob(4))",
    "INSERT INTO h(rowid, e) VALUES(9223372036854775807, zeroblob(32768))",
    "SELECT count(*) FROM h WHERE e MATCH zeroblob(32768) AND k = 4096",
    "SELECT count(*) FROM h WHERE e MATCH zeroblob(32768) AND k = 99999999999",
    "SELECT count(*) FROM h WHERE e MATCH zeroblob(3) AND k = -1",
    "SELECT count(*) FROM h WHERE e MATCH NULL AND k = 1",
    "UPDATE h SET e = '[1]'",
    "UPDATE h SET rowid = 5",
    "CREATE VIRTUAL TABLE p USING vec0(u integer partition key, e float[2], +note text, m text)",
    "INSERT INTO p(u, e, note, m) VALUES(NULL, '[1,2]', zeroblob(9), hex(zeroblob(100000)))",
    "SELECT count(*) FROM p WHERE e MATCH '[1,2]' AND k = 3 AND u = 1 AND m > 'x'",
    "DELETE FROM p",
    "DELETE FROM h_chunks",
    "UPDATE h_vector_chunks00 SET vectors = x'00'",
    "DROP TABLE h_rowids",
    "DROP TABLE h",
];

#[test]
fn hostile_vectors_end_no_session() {
    let folder = Folder::new();
    let path = folder.database("v.db", "CREATE TABLE t(a)");
    let mut server = Server::ready([path.to_str().expect("a path"), "--timeout", "20s"]);
    for sql in HOSTILE {
        server.call("exec", json!({ "sql": sql }));
        server.assert_well();
    }
    drop(server);
    let connection = Connection::open(&path).expect("the database");
    load_sqlite_vec(&connection);
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("a check");
    assert_eq!(check, "ok");
}

#[test]
fn a_damaged_vec0_table_ends_no_session() {
    let folder = Folder::new();
    for damage in [
        "UPDATE v_vector_chunks00 SET vectors = zeroblob(3)",
        "UPDATE v_chunks SET validity = x'ff', rowids = x'00'",
        "UPDATE v_chunks SET size = 2147483647",
        "UPDATE v_rowids SET chunk_offset = 99999999, chunk_id = -5",
        "UPDATE v_rowids SET chunk_offset = -1",
        "DELETE FROM v_chunks",
        "DELETE FROM v_info",
    ] {
        let path = folder.path("damaged.db");
        let _ = std::fs::remove_file(&path);
        let connection = Connection::open(&path).expect("a database");
        load_sqlite_vec(&connection);
        connection
            .execute_batch("CREATE VIRTUAL TABLE v USING vec0(e float[3]); INSERT INTO v(rowid, e) VALUES(1, '[1,2,3]'), (2, '[3,2,1]')")
            .expect("a table");
        connection.execute_batch(damage).expect(damage);
        connection.close().expect("closed");
        let mut server = Server::ready([path.to_str().expect("a path"), "--timeout", "20s"]);
        for sql in [
            "SELECT * FROM v",
            "SELECT rowid FROM v WHERE e MATCH '[1,2,3]' AND k = 5",
            "SELECT * FROM v WHERE rowid = 1",
            "DELETE FROM v WHERE rowid = 1",
            "INSERT INTO v(rowid, e) VALUES(3, '[0,0,1]')",
            "UPDATE v SET e = '[1,1,1]'",
            "DROP TABLE v",
        ] {
            server.call("exec", json!({ "sql": sql }));
            server.assert_well();
        }
    }
}
