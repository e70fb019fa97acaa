//! SQL: run, printed, and its errors shown as the sqlite3 program shows them.

use std::io::{self, Write};

use super::redirect::RedirectedOutput;
use super::run::COMMAND;
use super::state::{Plan, ShellState};
use super::{LineError, Shell, ShellContext, expert, explain};
use crate::answer::failure::{Failure, Status};
use crate::answer::value::Value;
use crate::command::interface::audience::Audience;
use crate::command::interface::command::Registry;
use crate::command::interface::context::Context;
use crate::engine::database::shell::{
    Counters, ExplainKind, Phase, RowSink, ShellError, statements,
};
use crate::engine::statement::dialect;
use crate::render::mode::{Format, Mode, Printer};
use crate::text::pad::blanks;

/// Runs the statements of a text one after the other, up to the first that fails.
pub(super) fn group(
    shell: &mut Shell,
    sql: &str,
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    if let Some(expert) = shell.state.expert.take() {
        return expert::advise(shell, sql, expert, cx);
    }
    let before = cx.context.host.usage();
    let result = statements(sql).into_iter().try_for_each(|statement| {
        // An error is shown in what it stands in, up to the end of the text.
        let rest = &sql[statement.as_ptr().addr() - sql.as_ptr().addr()..];
        run(shell, statement.trim_start(), rest.trim_start(), cx)
    });
    let after = cx.context.host.usage();
    shell.fuel = after.fuel.saturating_sub(before.fuel);
    if let Err(LineError::Output(_) | LineError::Quit(_)) = result {
        return result;
    }
    if shell.state.timer {
        let seconds = after.time.saturating_sub(before.time).as_secs_f64();
        let fuel = shell.fuel;
        let mut out = shell.out(cx);
        writeln!(out, "Run Time: real {seconds:.3} fuel {fuel}")?;
    }
    if shell.state.changes && result.is_ok() {
        let (last, all) = shell.database(cx.context)?.change_counts();
        let mut out = shell.out(cx);
        writeln!(out, "changes: {last}   total_changes: {all}")?;
    }
    result
}

/// Runs one statement, which `rest` starts with, and prints its rows.
fn run(
    shell: &mut Shell,
    sql: &str,
    rest: &str,
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    if shell.state.plan != Plan::Off
        && !sql
            .get(..7)
            .is_some_and(|s| s.eq_ignore_ascii_case("explain"))
    {
        let triggers = matches!(shell.state.plan, Plan::Trigger | Plan::Full);
        shell.database(cx.context)?.explain_triggers(triggers);
        let describe_error = print_plan(shell, "EXPLAIN QUERY PLAN ", sql, cx);
        shell.database(cx.context)?.explain_triggers(false);
        describe_error?;
        if shell.state.plan == Plan::Full {
            print_plan(shell, "EXPLAIN ", sql, cx)?;
        }
    }
    let counters = execute(shell, sql, rest, cx)?;
    if shell.state.stats {
        print_counters(&mut shell.out(cx), counters)?;
    }
    Ok(())
}

/// Shows how a statement would be run. What fails here fails again when it is run.
fn print_plan(
    shell: &mut Shell,
    how: &str,
    sql: &str,
    cx: &mut ShellContext<'_>,
) -> Result<(), LineError> {
    match execute(shell, &format!("{how}{sql}"), "", cx) {
        Err(LineError::Said(_)) | Ok(_) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

fn execute(
    shell: &mut Shell,
    sql: &str,
    rest: &str,
    cx: &mut ShellContext<'_>,
) -> Result<Counters, LineError> {
    let line = shell.line_number();
    let computed = computed(shell, cx);
    let Shell {
        state,
        redirect,
        db,
        ..
    } = shell;
    let database = cx.context.engine.database(db.as_deref())?;
    let before = database.in_transaction();
    let mut print = RowPrinter {
        out: RedirectedOutput {
            redirect: redirect.as_mut(),
            console: cx.console,
        },
        state,
        kind: OutputKind::None,
        computed,
        kept: None,
    };
    let result = database.shell(sql, &state.parameters, &mut print);
    let rolled_back = result.is_err() && before && !database.in_transaction();
    print.finish()?;
    for news in cx.context.engine.news() {
        cx.console.complain(&news)?;
    }
    let Context {
        registry, audience, ..
    } = &*cx.context;
    result.map_err(|shell_error| {
        match describe_error(rest, shell_error, line, registry, audience) {
            LineError::Said(message) if rolled_back => {
                LineError::Said(format!("{message}\nThe open transaction was rolled back."))
            }
            refusal => refusal,
        }
    })
}

/// The error as the sqlite3 program prints it; `line` is where the text starts, for one that is not typed.
fn describe_error(
    sql: &str,
    shell_error: ShellError,
    line: Option<u64>,
    registry: &Registry,
    audience: &Audience,
) -> LineError {
    let place = line.map_or_else(|| ":".to_owned(), |line| format!(" near line {line}:"));
    LineError::Said(match shell_error {
        ShellError::Output(error) => return LineError::Output(error),
        ShellError::Refused(failure) => {
            format!(
                "Error{place} {}",
                audience.advise(registry, &COMMAND, failure)
            )
        }
        ShellError::Sqlite {
            phase,
            message,
            code,
            offset,
        } => {
            let kind = match phase {
                Phase::Prepare => "Parse error",
                Phase::Step => "Runtime error",
            };
            let code = if code > 1 {
                format!(" ({code})")
            } else {
                String::new()
            };
            let context = offset.map(|offset| pointed(sql, offset));
            // A person gets what the sqlite3 program says and no more.
            let elsewhere = (!audience.is_person() && kind == "Parse error")
                .then(|| dialect::hint(sql, &message, offset))
                .flatten()
                .map(|hint| Failure::new(Status::Syntax, String::new()).hint(hint))
                .and_then(|failure| audience.advise(registry, &COMMAND, failure).hint)
                .map(|hint| format!("\n  {hint}"));
            format!(
                "{kind}{place} {message}{code}{}{}",
                context.unwrap_or_default(),
                elsewhere.unwrap_or_default()
            )
        }
    })
}

/// The part of the statement around `offset`, and an arrow below it.
fn pointed(sql: &str, offset: usize) -> String {
    /// How far from the start the place may be, and how much is shown, in bytes.
    const BEFORE: usize = 50;
    const SHOWN: usize = 78;
    let mut start = offset.min(sql.len()).saturating_sub(BEFORE);
    while !sql.is_char_boundary(start) {
        start += 1;
    }
    let shown = &sql[start..sql.floor_char_boundary(start + SHOWN)];
    let shown: String = shown
        .chars()
        .map(|c| if c.is_ascii_whitespace() { ' ' } else { c })
        .collect();
    let place = offset.saturating_sub(start);
    if place < 25 {
        format!("\n  {shown}\n  {}^--- error here", blanks(place))
    } else {
        format!("\n  {shown}\n  {}error here ---^", blanks(place - 14))
    }
}

/// SQLite's counters, under the names that the sqlite3 program has for them.
fn print_counters(out: &mut dyn Write, counters: Counters) -> io::Result<()> {
    for (name, value) in [
        ("Fullscan Steps:", counters.fullscan_steps),
        ("Sort Operations:", counters.sorts),
        ("Autoindex Inserts:", counters.autoindex),
        ("Virtual Machine Steps:", counters.vm_steps),
        ("Reprepare operations:", counters.reprepares),
        ("Number of times run:", counters.runs),
        ("Memory used by prepared stmt:", counters.memory),
    ] {
        writeln!(out, "{name:<36} {value}")?;
    }
    Ok(())
}

/// Prints rows as they come.
struct RowPrinter<'a> {
    out: RedirectedOutput<'a>,
    state: &'a ShellState,
    kind: OutputKind,
    /// Columns that no INSERT may give a value.
    computed: Vec<String>,
    /// Which columns are printed, if not all.
    kept: Option<Vec<usize>>,
}

/// The columns that the table of `.mode insert` computes by itself, if it is one of this database.
fn computed(shell: &mut Shell, cx: &mut ShellContext<'_>) -> Vec<String> {
    let format = &shell.state.format;
    if format.mode != Mode::Insert {
        return Vec::new();
    }
    let sql = format!(
        "SELECT name FROM pragma_table_xinfo('{}') WHERE hidden IN (2, 3)",
        format.table.replace('\'', "''")
    );
    // What fails here fails again, with what to say of it, when the statement runs.
    let rows = collect(shell, &sql, cx).unwrap_or_default();
    let names = rows.into_iter().flatten().map(|value| match value {
        Value::Text(name) => name,
        _ => String::new(),
    });
    names.collect()
}

enum OutputKind {
    None,
    Rows(Printer),
    Code(Vec<Vec<Value>>),
    Plan(Vec<Vec<Value>>),
}

impl RowSink for RowPrinter<'_> {
    fn columns(&mut self, names: &[String], explains: ExplainKind) -> io::Result<()> {
        self.kind = match explains {
            ExplainKind::Code if self.state.explain => OutputKind::Code(Vec::new()),
            ExplainKind::Plan if self.state.explain => OutputKind::Plan(Vec::new()),
            _ => {
                let computed = |name: &String| {
                    let mut computed = self.computed.iter();
                    computed.any(|other| other.eq_ignore_ascii_case(name))
                };
                if !names.iter().any(computed) {
                    OutputKind::Rows(Printer::new(&self.state.format, names))
                } else {
                    let kept: Vec<usize> = (0..names.len())
                        .filter(|index| !computed(&names[*index]))
                        .collect();
                    let names: Vec<String> =
                        kept.iter().map(|index| names[*index].clone()).collect();
                    self.kept = Some(kept);
                    // Without their names they would be too few.
                    let format = Format {
                        headers: true,
                        ..self.state.format.clone()
                    };
                    OutputKind::Rows(Printer::new(&format, &names))
                }
            }
        };
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> io::Result<bool> {
        match &mut self.kind {
            OutputKind::None => {}
            OutputKind::Rows(printer) => match &self.kept {
                None => printer.row(&mut self.out, values)?,
                Some(kept) => {
                    let values: Vec<Value> =
                        kept.iter().map(|index| values[*index].clone()).collect();
                    printer.row(&mut self.out, &values)?;
                }
            },
            OutputKind::Code(rows) | OutputKind::Plan(rows) => rows.push(values.to_vec()),
        }
        Ok(self.out.has_room())
    }
}

impl RowPrinter<'_> {
    fn finish(mut self) -> io::Result<()> {
        match self.kind {
            OutputKind::Rows(printer) => printer.finish(&mut self.out),
            OutputKind::Code(rows) => explain::code(&mut self.out, &rows),
            OutputKind::Plan(rows) => explain::plan(&mut self.out, &rows),
            OutputKind::None => Ok(()),
        }
    }
}

/// Runs a statement of our own and gathers its rows, which are few.
pub(super) fn collect(
    shell: &mut Shell,
    sql: &str,
    cx: &mut ShellContext<'_>,
) -> Result<Vec<Vec<Value>>, LineError> {
    let line = shell.line_number();
    let database = cx.context.engine.database(shell.db.as_deref())?;
    let mut gathered = Gather(Vec::new());
    match database.shell(sql, &[], &mut gathered) {
        Ok(_) => Ok(gathered.0),
        Err(shell_error) => Err(describe_error(
            sql,
            shell_error,
            line,
            cx.context.registry,
            &cx.context.audience,
        )),
    }
}

struct Gather(Vec<Vec<Value>>);

impl RowSink for Gather {
    fn columns(&mut self, _: &[String], _: ExplainKind) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> io::Result<bool> {
        self.0.push(values.to_vec());
        Ok(true)
    }
}
