//! What a statement changed besides the rows that it names, and whether it named any: told in the
//! same words of a run and of a dry run.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::Database;
use super::report::in_words;
use crate::answer::failure::Failure;
use crate::answer::output::Output;
use crate::engine::guard::authorizer::{Mode, Observed};
use crate::engine::schema::catalogue::quote;
use crate::engine::schema::fts::plain;
use crate::engine::undo::tally::{Counts, Nested};
use crate::text::count::grouped;
use crate::text::lexer::{Token, tokens};
use crate::text::scan;

/// Rows by table.
type Rows = BTreeMap<String, Counts>;

/// What was changed by what the statements of a call set off.
#[derive(Debug, Default)]
pub(super) struct Effects {
    by_trigger: Rows,
    cascaded: Rows,
    instead_of: Rows,
    /// Rows that gave way to others.
    replaced: Rows,
    /// Tables of which every row was changed without a condition, and how many these were.
    whole: Vec<(Whole, u64)>,
}

impl Effects {
    /// Adds what one statement set off. `view` is whether it was given to a view.
    fn add(&mut self, nested: Vec<Nested>, seen: &Observed, view: bool) {
        for Nested { table, top, counts } in nested {
            let kind = if !seen.triggered.contains(&table) {
                // Foreign keys have triggers of their own, which have no name.
                &mut self.cascaded
            } else if view && top {
                &mut self.instead_of
            } else {
                &mut self.by_trigger
            };
            kind.entry(table).or_default().add(counts);
        }
    }

    /// Adds all of it to the answer.
    pub(super) fn tell(self, output: &mut Output) {
        for (
            Whole {
                table, conditional, ..
            },
            rows,
        ) in &self.whole
        {
            let rows = match rows {
                1 => "the only row".to_owned(),
                rows => format!("all {} rows", grouped(*rows)),
            };
            let why = if *conditional {
                "its WHERE holds for every row"
            } else {
                "no WHERE"
            };
            output
                .effects
                .push(format!("Changed: {rows} of {table} ({why})."));
        }
        if !self.whole.is_empty() {
            let tables = self.whole.iter().map(|(whole, _)| whole.table.as_str());
            output.extra.insert("all_rows_of".into(), tables.collect());
        }
        for (name, by, rows) in [
            ("by_replace", "By REPLACE", self.replaced),
            ("by_instead_of", "By INSTEAD OF triggers", self.instead_of),
            ("by_trigger", "By triggers", self.by_trigger),
            ("by_foreign_key", "By foreign keys", self.cascaded),
        ] {
            if rows.is_empty() {
                continue;
            }
            let told: Vec<String> = rows
                .iter()
                .map(|(table, counts)| format!("{table}: {}", in_words(*counts)))
                .collect();
            output.effects.push(format!("{by}: {}.", told.join("; ")));
            let sum: u64 = rows.values().map(|counts| counts.sum()).sum();
            output.extra.insert(name.into(), sum.into());
        }
    }
}

impl Database {
    /// Before a statement runs that was `seen` while it was prepared: what it sets off is counted.
    pub(super) fn set_off(&self, seen: &Observed, sql: &str) -> Result<(), Failure> {
        if (seen.sets_off || replaces(sql)) && !self.is_following() {
            self.follow(None)?;
        }
        if let Some(followed) = &mut *self.link()?.followed.borrow_mut() {
            followed.tally.nested();
            followed.tally.deleted();
        }
        Ok(())
    }

    /// After it has run, and changed so many rows itself. It is done, so that what cannot be found out
    /// is not told.
    pub(super) fn add_effects(
        &self,
        effects: &mut Effects,
        sql: &str,
        seen: &Observed,
        changed: u64,
    ) {
        let Ok(link) = self.link() else { return };
        let followed = &mut *link.followed.borrow_mut();
        let nested = followed.as_mut().map(|followed| followed.tally.nested());
        let deleted = followed
            .as_mut()
            .map_or(0, |followed| followed.tally.deleted());
        // An UPDATE may delete by itself, where a table has no rowid.
        if deleted > 0
            && replaces(sql)
            && let Some(target) = &seen.target
        {
            effects.replaced.entry(target.clone()).or_default().deleted += deleted;
        }
        let mode = self.authorizer.enter(Mode::Trusted);
        if let Some(nested) = nested.filter(|nested| !nested.is_empty()) {
            let target = seen.target.as_deref().filter(|_| changed == 0);
            let view = target.is_some_and(|target| is_view(&link.connection, target));
            effects.add(nested, seen, view);
        }
        if changed > 0
            && let Some(whole) = Whole::of(sql)
            && (whole.for_sure && !seen.within || whole.is_so(&link.connection, changed))
        {
            effects.whole.push((whole, changed));
        }
        self.authorizer.enter(mode);
    }
}

/// Whether a statement may delete rows of its table to put others in their place.
fn replaces(sql: &str) -> bool {
    !scan::first_word(sql).eq_ignore_ascii_case("DELETE")
        && scan::words(sql).any(|word| word == "replace")
}

fn is_view(connection: &Connection, name: &str) -> bool {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = ?1 COLLATE NOCASE";
    let found = connection
        .prepare(sql)
        .and_then(|mut found| found.exists([name]));
    found.unwrap_or(false)
}

/// An UPDATE or DELETE without a condition that could fail.
#[derive(Debug)]
struct Whole {
    table: String,
    deletes: bool,
    /// Whether it has a condition, such as `WHERE 1`.
    conditional: bool,
    /// Whether nothing but a trigger can keep a row as it is.
    for_sure: bool,
}

impl Whole {
    fn of(sql: &str) -> Option<Self> {
        let word = scan::first_word(sql);
        let deletes = word.eq_ignore_ascii_case("DELETE");
        if !deletes && !word.eq_ignore_ascii_case("UPDATE") {
            return None;
        }
        let all = tokens(sql);
        let mut code = all
            .iter()
            .filter(|token| token.is_code() && token.text != "\u{feff}")
            .skip_while(|token| token.text == ";")
            .skip(1)
            .peekable();
        let mut for_sure = true;
        if deletes {
            code.next_if(|token| token.is("FROM"))?;
        } else if code.next_if(|token| token.is("OR")).is_some() {
            code.next();
            for_sure = false;
        }
        let mut table = code.next()?;
        if code.next_if(|token| token.text == ".").is_some() {
            table = code.next()?;
            // Another table of this name may be in front of it.
            for_sure = false;
        }
        let whole = Self {
            table: plain(table.text),
            deletes,
            conditional: false,
            for_sure,
        };
        let mut depth = 0;
        while let Some(token) = code.next() {
            match token.text {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ if depth > 0 => {}
                _ if token.is("FROM") || token.is("LIMIT") => return None,
                _ if token.is("WHERE") => {
                    let ends = |token: &&Token<'_>| {
                        token.text != ";" && !token.is("RETURNING") && !token.is("ORDER")
                    };
                    let constant = code.take_while(ends).all(|token| is_constant(token));
                    return constant.then_some(Self {
                        conditional: true,
                        for_sure: false,
                        ..whole
                    });
                }
                _ => {}
            }
        }
        Some(whole)
    }

    /// Whether no row of the table is as it was, after so many were changed; looks at no more rows
    /// than these.
    fn is_so(&self, connection: &Connection, changed: u64) -> bool {
        let (most, left) = if self.deletes {
            (1, 0)
        } else {
            (changed.saturating_add(1), changed)
        };
        let table = quote(&self.table);
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {most})");
        let found = connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
        found.is_ok_and(|found| found.unsigned_abs() == left)
    }
}

/// Whether a part of a condition names no column.
fn is_constant(token: &Token<'_>) -> bool {
    token.is("TRUE")
        || token.text.starts_with(|c: char| c.is_ascii_digit())
        || matches!(token.text, "=" | "(" | ")" | "<" | ">")
}
