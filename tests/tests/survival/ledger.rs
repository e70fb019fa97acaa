//! A bank whose every transfer is written down by the one who made it, so that a lost, a
//! doubled or a half-made one shows.

use std::path::Path;

use sqlarium_tests::Folder;

/// Four accounts, and a log.
pub const BANK: &str = "
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
    INSERT INTO accounts VALUES (1, 1000), (2, 1000), (3, 1000), (4, 1000);
    CREATE TABLE log (who TEXT NOT NULL, n INTEGER NOT NULL, filler TEXT, PRIMARY KEY (who, n));
    CREATE INDEX by_filler ON log (filler);";

/// The statements of the transfer `n` of `who`; it takes a transaction to make them one.
pub fn transfer(who: &str, n: u64) -> String {
    let (from, to) = (n % 4 + 1, (n + 1) % 4 + 1);
    format!(
        "UPDATE accounts SET balance = balance - 1 WHERE id = {from};
         UPDATE accounts SET balance = balance + 1 WHERE id = {to};
         INSERT INTO log VALUES ('{who}', {n}, hex(randomblob(300)));"
    )
}

/// How many transfers everyone is seen to have made, and the sum of all accounts.
pub const STANDING: &str = "SELECT (SELECT sum(balance) FROM accounts), who, count(*), max(n)
    FROM (SELECT '' AS who, -1 AS n UNION ALL SELECT who, n FROM log) GROUP BY who";

/// How many transfers the log holds of `who`: of a log without gaps, the next number.
pub fn logged(path: &Path, who: &str) -> u64 {
    let sql = format!("SELECT count(*) || ' ' || ifnull(max(n), -1) FROM log WHERE who = '{who}'");
    let counted = Folder::native(path, &sql).remove(0);
    let (count, last) = counted.split_once(' ').expect("two numbers");
    let (count, last): (i64, i64) = (count.parse().expect("one"), last.parse().expect("one"));
    assert_eq!(count, last + 1, "the log of {who} has gaps");
    u64::try_from(count).expect("a count")
}

/// Asserts that the file is whole and no money was made or lost.
pub fn assert_balanced(path: &Path) {
    Folder::assert_whole(path);
    let sum = Folder::native(path, "SELECT sum(balance) FROM accounts");
    assert_eq!(sum, ["4000"]);
}
