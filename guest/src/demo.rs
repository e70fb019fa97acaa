//! The demonstration: a sample shop, and an agent's short conversation with it.
//!
//! The lines are ordinary MCP lines for an ordinary session; whoever plays them
//! (`sqlarium demo`) gets the answers of the real server. [`tell`] makes either
//! side of it readable.

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

/// The revision that the demonstration's client speaks.
const REVISION: &str = "2025-11-25";

/// SQL with more lines than this is shown without its end.
const SQL_LINES: usize = 30;

/// Lists are wrapped at this many characters.
const WIDTH: usize = 76;

/// The owner's notes on the shop.
pub const NOTES: &str = "\
[tables.orders]
note = 'One row for each product that a customer has ordered.'
[tables.orders.columns]
quantity = 'in pieces'
ordered = 'a date, YYYY-MM-DD'
status = 'shipped orders are paid; returned ones do not count as revenue'
[tables.products.columns]
price = 'in cents, tax included'
stock = 'pieces on the shelf'
";

/// The shop's tables.
pub const TABLES: &str = "\
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  city TEXT NOT NULL,
  joined TEXT NOT NULL
);
CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  price INTEGER NOT NULL CHECK (price > 0),
  stock INTEGER NOT NULL CHECK (stock >= 0)
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers(id),
  product_id INTEGER NOT NULL REFERENCES products(id),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  ordered TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'paid', 'shipped', 'returned'))
);
CREATE INDEX orders_by_customer ON orders (customer_id);";

/// The shop's rows.
pub const ROWS: &str = "\
INSERT INTO customers (id, name, city, joined) VALUES
  (1, 'Ada Nowak', 'Łódź', '2025-01-14'),
  (2, 'Björn Lund', 'Malmö', '2025-02-02'),
  (3, 'Chiara Rossi', 'Torino', '2025-02-20'),
  (4, 'Deniz Kaya', 'İzmir', '2025-03-11'),
  (5, 'Emma O''Brien', 'Cork', '2025-04-05'),
  (6, 'Farid Haddad', 'Lyon', '2025-05-23'),
  (7, 'Grete Vogel', 'Graz', '2025-06-30'),
  (8, 'Hana Sato', 'Osaka', '2025-07-08');
INSERT INTO products (id, name, price, stock) VALUES
  (1, 'Desk lamp', 4900, 14),
  (2, 'Bookend, walnut', 2350, 31),
  (3, 'Fountain pen', 7800, 9),
  (4, 'Ink, blue-black', 1250, 60),
  (5, 'Notebook A5', 1490, 120),
  (6, 'Paper knife', 1995, 22),
  (7, 'Wall clock', 6400, 5),
  (8, 'Wax seal kit', 3290, 12),
  (9, 'Blotter', 890, 75),
  (10, 'Globe, 30 cm', 12900, 3);
INSERT INTO orders (id, customer_id, product_id, quantity, ordered, status) VALUES
  (1, 1, 3, 1, '2026-01-09', 'shipped'),
  (2, 1, 4, 2, '2026-01-09', 'shipped'),
  (3, 2, 1, 1, '2026-01-17', 'shipped'),
  (4, 3, 10, 1, '2026-01-22', 'shipped'),
  (5, 4, 5, 6, '2026-01-30', 'shipped'),
  (6, 5, 2, 2, '2026-02-03', 'returned'),
  (7, 6, 7, 1, '2026-02-08', 'shipped'),
  (8, 2, 8, 1, '2026-02-11', 'shipped'),
  (9, 7, 5, 3, '2026-02-19', 'shipped'),
  (10, 8, 3, 2, '2026-02-26', 'shipped'),
  (11, 3, 6, 1, '2026-03-02', 'shipped'),
  (12, 1, 9, 4, '2026-03-07', 'shipped'),
  (13, 4, 1, 2, '2026-03-15', 'returned'),
  (14, 5, 4, 3, '2026-03-18', 'shipped'),
  (15, 6, 5, 10, '2026-03-29', 'shipped'),
  (16, 8, 4, 4, '2026-04-04', 'shipped'),
  (17, 7, 10, 1, '2026-04-12', 'shipped'),
  (18, 2, 2, 2, '2026-04-20', 'shipped'),
  (19, 3, 3, 1, '2026-04-28', 'paid'),
  (20, 4, 9, 5, '2026-05-05', 'paid'),
  (21, 5, 7, 1, '2026-05-09', 'paid'),
  (22, 1, 5, 2, '2026-05-16', 'paid'),
  (23, 8, 6, 2, '2026-05-21', 'open'),
  (24, 6, 8, 2, '2026-05-27', 'open');";

/// A join with an aggregate: what each customer has bought.
pub const REVENUE: &str = "\
SELECT c.name, c.city, count(*) AS orders, sum(o.quantity * p.price) / 100.0 AS spent
FROM orders AS o
JOIN customers AS c ON c.id = o.customer_id
JOIN products AS p ON p.id = o.product_id
WHERE o.status <> 'returned'
GROUP BY c.id
ORDER BY spent DESC
LIMIT 5";

/// A sale: the order and the shelf change together or not at all.
pub const SALE: &str = "\
INSERT INTO orders (customer_id, product_id, quantity, ordered) VALUES (7, 3, 2, '2026-06-01');
UPDATE products SET stock = stock - 2 WHERE id = 3;";

/// What the sale left behind.
pub const AFTER: &str = "\
SELECT p.name, p.stock, (SELECT count(*) FROM orders AS o WHERE o.product_id = p.id) AS orders
FROM products AS p
WHERE p.id = 3";

/// It never ends by itself.
const RUNAWAY: &str = "\
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT count(*) FROM n";

/// One exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// What the agent is up to, in one sentence.
    pub caption: String,
    /// The line to hand to the session, without its newline.
    pub line: String,
}

/// The exchanges, in order.
pub fn scenes() -> Vec<Scene> {
    let mut play = Play::default();
    play.request(
        "A client opens the conversation.",
        "initialize",
        json!({
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": { "name": "demo", "version": env!("CARGO_PKG_VERSION") },
        }),
    );
    play.scene(
        "It is ready; a notification has no answer.",
        &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    );
    play.request("It asks which tools there are.", "tools/list", json!({}));
    play.sql(
        "It makes a sample shop in memory: first the tables ...",
        "batch",
        TABLES,
    );
    play.sql("... then the rows, all of them or none.", "batch", ROWS);
    play.call("What is in there?", "tables", json!({}));
    play.call(
        "What is an order? The owner's notes say what its columns mean.",
        "describe",
        json!({ "table": "orders" }),
    );
    play.sql("Who are the best customers?", "query", REVENUE);
    play.sql(
        "A slip of the pen is answered with what was meant.",
        "query",
        "SELECT * FROM custmers",
    );
    play.sql(
        "A query reads, whatever its text tries.",
        "query",
        "DELETE FROM orders WHERE status = 'returned'",
    );
    play.sql("A sale: two statements, one transaction.", "batch", SALE);
    play.sql(
        "A query that would never end runs into the time budget.",
        "query",
        RUNAWAY,
    );
    play.sql(
        "The next call works, and nothing that was committed is lost.",
        "query",
        AFTER,
    );
    play.scenes
}

/// The scenes so far; a request's id is its place.
#[derive(Default)]
struct Play {
    scenes: Vec<Scene>,
}

impl Play {
    fn scene(&mut self, caption: &str, message: &Value) {
        self.scenes.push(Scene {
            caption: caption.into(),
            line: message.to_string(),
        });
    }

    fn request(&mut self, caption: &str, method: &str, params: Value) {
        let id = self.scenes.len() + 1;
        self.scene(
            caption,
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        );
    }

    fn call(&mut self, caption: &str, command: &str, arguments: Value) {
        let params = json!({ "name": format!("sqlarium_{command}"), "arguments": arguments });
        self.request(caption, "tools/call", params);
    }

    fn sql(&mut self, caption: &str, command: &str, sql: &str) {
        self.call(caption, command, json!({ "sql": sql }));
    }
}

/// A line of the conversation, sent (`->`) or received (`<-`), as a person would
/// read it. A line that is no message of the protocol comes back as it is.
pub fn tell(line: &str) -> String {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return line.to_owned();
    };
    if let Some(method) = message["method"].as_str() {
        sent(method, &message["params"])
    } else if let Some(error) = message.get("error") {
        let text = error["message"].as_str().unwrap_or_default();
        format!("<- error {}\n{}", error["code"], indented(text))
    } else if let Some(result) = message.get("result") {
        received(result)
    } else {
        line.to_owned()
    }
}

fn sent(method: &str, params: &Value) -> String {
    let (head, arguments) = match (method, params["name"].as_str()) {
        ("tools/call", Some(tool)) => (tool, &params["arguments"]),
        ("initialize", _) => {
            return format!(
                "-> initialize, speaking {}",
                plain(&params["protocolVersion"])
            );
        }
        _ => (method, &Value::Null),
    };
    let mut told = format!("-> {head}");
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let value = if name == "sql" {
            shortened(&plain(value))
        } else {
            format!("{name}: {}", plain(value))
        };
        told.push('\n');
        told.push_str(&indented(&value));
    }
    told
}

fn received(result: &Value) -> String {
    if let Some(content) = result["content"].as_array() {
        let texts: Vec<&str> = content
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect();
        let mark = if result["isError"] == true {
            "<- refused"
        } else {
            "<-"
        };
        return format!("{mark}\n{}", indented(&texts.join("\n")));
    }
    if let Some(tools) = result["tools"].as_array() {
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        return format!("<- {} tools\n{}", names.len(), indented(&wrapped(&names)));
    }
    if let Some(server) = result["serverInfo"].as_object() {
        let field = |name| server.get(name).map(plain).unwrap_or_default();
        return format!(
            "<- {} {}, speaking {}",
            field("name"),
            field("version"),
            plain(&result["protocolVersion"])
        );
    }
    format!("<-\n{}", indented(&result.to_string()))
}

/// A string without its quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn indented(text: &str) -> String {
    let lines = text.trim_end().lines();
    lines
        .map(|line| format!("   {line}").trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The first lines, and how many there are more.
fn shortened(sql: &str) -> String {
    let lines: Vec<&str> = sql.lines().collect();
    if lines.len() <= SQL_LINES {
        return sql.to_owned();
    }
    let shown = SQL_LINES / 2;
    format!(
        "{}\n... ({} more lines)",
        lines[..shown].join("\n"),
        lines.len() - shown
    )
}

/// Names with commas, wrapped.
fn wrapped(names: &[&str]) -> String {
    let mut text = String::new();
    let mut column = 0;
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 < names.len() { "," } else { "" };
        if column > 0 && column + 1 + name.len() + comma.len() > WIDTH {
            text.push('\n');
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(name);
        text.push_str(comma);
        column += name.len() + comma.len();
    }
    text
}
