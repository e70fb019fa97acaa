//! SQL: run, printed, and its errors shown as the sqlite3 program shows them.

use std::io::{self, Write};

use super::redirect::Outlet;
use super::run::COMMAND;
use super::state::{Plan, State};
use super::{Refusal, Scene, Shell, expert, explain};
use crate::answer::value::Value;
use crate::command::spec::audience::Audience;
use crate::command::spec::command::Registry;
use crate::command::spec::context::Context;
use crate::engine::database::shell::{Counters, Explains, Phase, Sink, Trouble, statements};
use crate::render::mode::Printer;
use crate::text::pad::blanks;

/// Runs the statements of a text one after the other, up to the first that fails.
pub fn group(shell: &mut Shell, sql: &str, scene: &mut Scene<'_>) -> Result<(), Refusal> {
    if let Some(expert) = shell.state.expert.take() {
        return expert::advise(shell, sql, expert, scene);
    }
    let before = scene.context.host.usage();
    let result = statements(sql).into_iter().try_for_each(|statement| {
        // An error is shown in what it stands in, up to the end of the text.
        let rest = &sql[statement.as_ptr().addr() - sql.as_ptr().addr()..];
        run(shell, statement.trim_start(), rest.trim_start(), scene)
    });
    let after = scene.context.host.usage();
    shell.fuel = after.fuel.saturating_sub(before.fuel);
    if let Err(Refusal::Output(_) | Refusal::Quit(_)) = result {
        return result;
    }
    if shell.state.timer {
        let seconds = after.time.saturating_sub(before.time).as_secs_f64();
        let fuel = shell.fuel;
        let mut out = shell.out(scene);
        writeln!(out, "Run Time: real {seconds:.3} fuel {fuel}")?;
    }
    if shell.state.changes && result.is_ok() {
        let (last, all) = shell.database(scene.context)?.change_counts();
        let mut out = shell.out(scene);
        writeln!(out, "changes: {last}   total_changes: {all}")?;
    }
    result
}

/// Runs one statement, which `rest` starts with, and prints its rows.
fn run(shell: &mut Shell, sql: &str, rest: &str, scene: &mut Scene<'_>) -> Result<(), Refusal> {
    if shell.state.plan != Plan::Off
        && !sql
            .get(..7)
            .is_some_and(|s| s.eq_ignore_ascii_case("explain"))
    {
        let triggers = matches!(shell.state.plan, Plan::Trigger | Plan::Full);
        shell.database(scene.context)?.explain_triggers(triggers);
        let told = foretell(shell, "EXPLAIN QUERY PLAN ", sql, scene);
        shell.database(scene.context)?.explain_triggers(false);
        told?;
        if shell.state.plan == Plan::Full {
            foretell(shell, "EXPLAIN ", sql, scene)?;
        }
    }
    let counters = execute(shell, sql, rest, scene)?;
    if shell.state.stats {
        tell(&mut shell.out(scene), counters)?;
    }
    Ok(())
}

/// Shows how a statement would be run. What fails here fails again when it is run.
fn foretell(shell: &mut Shell, how: &str, sql: &str, scene: &mut Scene<'_>) -> Result<(), Refusal> {
    match execute(shell, &format!("{how}{sql}"), "", scene) {
        Err(Refusal::Said(_)) | Ok(_) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

fn execute(
    shell: &mut Shell,
    sql: &str,
    rest: &str,
    scene: &mut Scene<'_>,
) -> Result<Counters, Refusal> {
    let line = shell.line_number();
    let Shell {
        state,
        redirect,
        db,
        ..
    } = shell;
    let database = scene.context.engine.database(db.as_deref())?;
    let before = database.in_transaction();
    let mut print = Print {
        out: Outlet {
            redirect: redirect.as_mut(),
            console: scene.console,
        },
        state,
        kind: Kind::None,
    };
    let result = database.shell(sql, &state.parameters, &mut print);
    let rolled_back = result.is_err() && before && !database.in_transaction();
    print.finish()?;
    let Context {
        registry, audience, ..
    } = &*scene.context;
    result.map_err(
        |trouble| match told(rest, trouble, line, registry, audience) {
            Refusal::Said(message) if rolled_back => {
                Refusal::Said(format!("{message}\nThe open transaction was rolled back."))
            }
            refusal => refusal,
        },
    )
}

/// The error as the sqlite3 program prints it; `line` is where the text starts, for one that is not typed.
fn told(
    sql: &str,
    trouble: Trouble,
    line: Option<u64>,
    registry: &Registry,
    audience: &Audience,
) -> Refusal {
    let place = line.map_or_else(|| ":".to_owned(), |line| format!(" near line {line}:"));
    Refusal::Said(match trouble {
        Trouble::Output(error) => return Refusal::Output(error),
        Trouble::Refused(failure) => {
            format!(
                "Error{place} {}",
                audience.advise(registry, &COMMAND, failure)
            )
        }
        Trouble::Sqlite {
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
            format!(
                "{kind}{place} {message}{code}{}",
                context.unwrap_or_default()
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
fn tell(out: &mut dyn Write, counters: Counters) -> io::Result<()> {
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
struct Print<'a> {
    out: Outlet<'a>,
    state: &'a State,
    kind: Kind,
}

enum Kind {
    None,
    Rows(Printer),
    Code(Vec<Vec<Value>>),
    Plan(Vec<Vec<Value>>),
}

impl Sink for Print<'_> {
    fn columns(&mut self, names: &[String], explains: Explains) -> io::Result<()> {
        self.kind = match explains {
            Explains::Code if self.state.explain => Kind::Code(Vec::new()),
            Explains::Plan if self.state.explain => Kind::Plan(Vec::new()),
            _ => Kind::Rows(Printer::new(&self.state.format, names)),
        };
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> io::Result<bool> {
        match &mut self.kind {
            Kind::None => {}
            Kind::Rows(printer) => printer.row(&mut self.out, values)?,
            Kind::Code(rows) | Kind::Plan(rows) => rows.push(values.to_vec()),
        }
        Ok(self.out.has_room())
    }
}

impl Print<'_> {
    fn finish(mut self) -> io::Result<()> {
        match self.kind {
            Kind::Rows(printer) => printer.finish(&mut self.out),
            Kind::Code(rows) => explain::code(&mut self.out, &rows),
            Kind::Plan(rows) => explain::plan(&mut self.out, &rows),
            Kind::None => Ok(()),
        }
    }
}

/// Runs a statement of our own and gathers its rows, which are few.
pub fn collect(
    shell: &mut Shell,
    sql: &str,
    scene: &mut Scene<'_>,
) -> Result<Vec<Vec<Value>>, Refusal> {
    let line = shell.line_number();
    let database = scene.context.engine.database(shell.db.as_deref())?;
    let mut gathered = Gather(Vec::new());
    match database.shell(sql, &[], &mut gathered) {
        Ok(_) => Ok(gathered.0),
        Err(trouble) => Err(told(
            sql,
            trouble,
            line,
            scene.context.registry,
            &scene.context.audience,
        )),
    }
}

struct Gather(Vec<Vec<Value>>);

impl Sink for Gather {
    fn columns(&mut self, _: &[String], _: Explains) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> io::Result<bool> {
        self.0.push(values.to_vec());
        Ok(true)
    }
}
