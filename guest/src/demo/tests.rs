//! The shop is a shop, and the play is one.

use rusqlite::Connection;

use super::*;

fn shop() -> Connection {
    let shop = Connection::open_in_memory().expect("a database in memory");
    shop.execute_batch("PRAGMA foreign_keys = ON")
        .expect("foreign keys");
    shop.execute_batch(TABLES).expect("the tables");
    shop.execute_batch(ROWS).expect("the rows");
    shop
}

fn number(shop: &Connection, sql: &str) -> i64 {
    shop.query_row(sql, [], |row| row.get(0)).expect(sql)
}

fn messages() -> Vec<Value> {
    scenes()
        .iter()
        .map(|scene| serde_json::from_str(&scene.line).expect("JSON"))
        .collect()
}

#[test]
fn every_line_is_one_valid_json_rpc_message() {
    for (scene, message) in scenes().iter().zip(messages()) {
        assert!(!scene.line.contains('\n'), "{}", scene.line);
        assert!(scene.caption.ends_with(['.', '?']), "{}", scene.caption);
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(message["method"].is_string(), "{message}");
        let params = message.get("params");
        assert!(params.is_none_or(Value::is_object), "{message}");
    }
}

#[test]
fn every_request_has_an_id_of_its_own() {
    let ids: Vec<u64> = messages()
        .iter()
        .filter_map(|message| message["id"].as_u64())
        .collect();
    let mut unique = ids.clone();
    unique.dedup();
    assert_eq!(ids, unique);
    assert_eq!(ids.len(), scenes().len() - 1, "all but the notification");
}

#[test]
fn every_call_is_of_a_command_with_its_argument() {
    for message in messages()
        .iter()
        .filter(|message| message["method"] == "tools/call")
    {
        let name = message["params"]["name"].as_str().expect("a name");
        let arguments = message["params"]["arguments"]
            .as_object()
            .expect("arguments");
        let wanted: &[&str] = match name {
            "sqlarium_query" | "sqlarium_batch" => &["sql"],
            "sqlarium_describe" => &["table"],
            "sqlarium_tables" => &[],
            other => panic!("{other} is none of the demonstration's commands"),
        };
        assert_eq!(arguments.keys().collect::<Vec<_>>(), wanted, "{message}");
    }
}

#[test]
fn the_shop_holds_together() {
    let shop = shop();
    assert_eq!(number(&shop, "SELECT count(*) FROM customers"), 8);
    assert_eq!(number(&shop, "SELECT count(*) FROM products"), 10);
    assert_eq!(number(&shop, "SELECT count(*) FROM orders"), 24);
    assert_eq!(
        number(&shop, "SELECT count(*) FROM pragma_foreign_key_check"),
        0
    );
    // Everybody has ordered something, after joining, and all but nothing was left unsold.
    let idle = "SELECT count(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)";
    assert_eq!(number(&shop, idle), 0);
    let unsold = "SELECT count(*) FROM products WHERE id NOT IN (SELECT product_id FROM orders)";
    assert_eq!(number(&shop, unsold), 0);
    let early = "SELECT count(*) FROM orders JOIN customers AS c ON c.id = customer_id WHERE ordered < joined";
    assert_eq!(number(&shop, early), 0);
    let dates = "SELECT (SELECT count(*) FROM orders WHERE date(ordered) IS NOT ordered)
        + (SELECT count(*) FROM customers WHERE date(joined) IS NOT joined)";
    assert_eq!(number(&shop, dates), 0);
}

#[test]
fn the_notes_are_on_columns_that_are_there() {
    let notes = crate::settings::notes::Notes::read(NOTES).expect("notes");
    let astray = crate::command::schema::annotate::astray(&shop(), &notes).expect("the schema");
    assert_eq!(astray, Vec::<String>::new());
}

#[test]
fn the_best_customers_add_up() {
    let shop = shop();
    let mut best = shop.prepare(REVENUE).expect("the query");
    let best: Vec<(String, String, i64, f64)> = best
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .and_then(Iterator::collect)
        .expect("rows");
    assert_eq!(best.len(), 5);
    // Checked by hand: a clock, ten notebooks, two seal kits; two pens, four inks, two knives.
    assert_eq!(best[0], ("Farid Haddad".into(), "Lyon".into(), 3, 278.8));
    assert_eq!(best[1], ("Hana Sato".into(), "Osaka".into(), 3, 245.9));
    let everyone = REVENUE.replace("LIMIT 5", "");
    let total = number(
        &shop,
        &format!("SELECT CAST(round(sum(spent) * 100) AS INTEGER) FROM ({everyone})"),
    );
    let sold = "SELECT sum(quantity * price) FROM orders JOIN products AS p ON p.id = product_id
        WHERE status <> 'returned'";
    assert_eq!(total, number(&shop, sold));
}

#[test]
fn the_sale_moves_order_and_shelf_together() {
    let shop = shop();
    let before = number(&shop, "SELECT stock FROM products WHERE id = 3");
    shop.execute_batch(SALE).expect("the sale");
    let after: (String, i64, i64) = shop
        .query_row(AFTER, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .expect("a row");
    assert_eq!(after, ("Fountain pen".into(), before - 2, 4));
}

#[test]
fn a_sent_call_is_told_as_its_tool_and_its_sql() {
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sqlarium_query","arguments":{"sql":"SELECT 1\nFROM t","limit":3}}}"#;
    assert_eq!(
        tell(line),
        "-> sqlarium_query\n   SELECT 1\n   FROM t\n   limit: 3"
    );
}

#[test]
fn long_sql_is_told_by_its_beginning() {
    let told = tell(&scenes()[4].line);
    assert!(
        told.starts_with("-> sqlarium_batch\n   INSERT INTO customers"),
        "{told}"
    );
    let hidden = ROWS.lines().count() - SQL_LINES / 2;
    assert!(
        told.ends_with(&format!("\n   ... ({hidden} more lines)")),
        "{told}"
    );
    let tables = tell(&scenes()[3].line);
    assert!(
        tables.contains("price INTEGER NOT NULL") && tables.ends_with("(customer_id);"),
        "{tables}"
    );
}

#[test]
fn an_answer_is_told_as_its_text_indented_and_a_refusal_is_marked() {
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\n\nb\n"}]}}"#;
    assert_eq!(tell(answer), "<-\n   a\n\n   b");
    let refusal = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"No."}],"isError":true}}"#;
    assert_eq!(tell(refusal), "<- refused\n   No.");
    let error =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: x"}}"#;
    assert_eq!(tell(error), "<- error -32601\n   Method not found: x");
}

#[test]
fn the_handshake_and_the_tools_are_told_briefly() {
    let hello = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sqlarium","version":"0.1.0"},"instructions":"Long."}}"#;
    assert_eq!(tell(hello), "<- sqlarium 0.1.0, speaking 2025-11-25");
    assert_eq!(
        tell(&scenes()[0].line),
        "-> initialize, speaking 2025-11-25"
    );
    let names: Vec<String> = (0..20).map(|n| format!("sqlarium_command_{n}")).collect();
    let tools: Vec<Value> = names
        .iter()
        .map(|name| json!({ "name": name, "description": "Long." }))
        .collect();
    let told =
        tell(&json!({ "jsonrpc": "2.0", "id": 2, "result": { "tools": tools } }).to_string());
    assert!(
        told.starts_with("<- 20 tools\n   sqlarium_command_0, sqlarium_command_1,"),
        "{told}"
    );
    assert!(told.lines().all(|line| line.len() <= WIDTH + 3), "{told}");
    assert!(
        names.iter().all(|name| told.contains(name.as_str())),
        "{told}"
    );
}

#[test]
fn what_is_no_message_is_told_as_it_stands() {
    assert_eq!(tell("nonsense"), "nonsense");
    assert_eq!(tell("[]"), "[]");
    assert!(tell(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).contains("{}"));
}
