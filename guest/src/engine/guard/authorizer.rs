//! The guard that SQLite itself asks: what each action of a statement may do.
//!
//! It judges the engine's own action codes
//! (<https://www.sqlite.org/c3ref/c_alter_table.html>), never the SQL text, and
//! remembers what it refused, so that the refusal names its reason. It is one
//! layer of several; see [`crate::engine::database`].

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};

use super::pragma;
use super::pragma::{PragmaAccess, PragmaRefusal};

/// The action codes of an ATTACH or DETACH whose name is an expression, which rusqlite reports as unknown.
const SQLITE_ATTACH: i32 = 24;
const SQLITE_DETACH: i32 = 25;

/// What the statement at hand may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A client's statement that only reads.
    Read,
    /// A client's statement that may write.
    Write,
    /// The same, as one of several in a transaction of ours.
    Batch,
    /// The same, in a transaction that will be rolled back.
    Try,
    /// A statement of a shell, which may write and control transactions.
    Shell,
    /// A statement of a shell that only reads; it may control transactions.
    ShellRead,
    /// Prepared for inspection, never run: everything but what takes effect at once.
    Explain,
    /// Our own look at the schema: writes may be prepared, as R-Tree does when
    /// it is opened, and `query_only` keeps them from running.
    Inspect,
    /// Our own BEGIN, COMMIT and PRAGMA.
    Trusted,
    /// Nothing at all: for what follows the one statement of a call.
    Nothing,
}

/// Why an action was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It writes; `what` says to what, as a verb phrase.
    Writes,
    /// ATTACH or DETACH.
    Attach,
    /// VACUUM INTO, which reaches SQLite's authorizer as an ATTACH of its own.
    VacuumInto,
    /// BEGIN, COMMIT, ROLLBACK, SAVEPOINT or RELEASE.
    Transaction,
    /// A function that reaches outside of the database.
    Function,
    /// The pages of the file, below all tables.
    Pages,
    /// A pragma.
    Pragma(PragmaRefusal),
    /// An action code that this build does not know.
    Unknown,
    /// Anything after the one statement.
    Nothing,
}

/// What was refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The rule.
    pub rule: Rule,
    /// The mode in which it was refused.
    pub mode: Mode,
    /// What the statement would do, as a verb phrase: `insert into orders`.
    pub what: String,
    /// The table it would write to, if it is one.
    pub table: Option<String>,
}

/// What the statement at hand was seen to do.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The tables of the user's that get rows by the statement itself rather than by a trigger.
    pub inserts: Vec<String>,
    /// The table or view of the user's that the statement itself writes to.
    pub target: Option<String>,
    /// The tables that triggers write to which it sets off.
    pub triggered: BTreeSet<String>,
    /// Whether a trigger or a view has a part in it.
    pub within: bool,
    /// Whether it may set off writes of triggers, or foreign keys that act.
    pub sets_off: bool,
    /// What it does itself or by a foreign key, as verb and table.
    pub writes: Vec<(&'static str, String)>,
    /// CREATE, ALTER, DROP, REINDEX or ANALYZE.
    pub ddl: bool,
    /// The tables that may be written to, by triggers too, the schema table aside.
    pub tables: BTreeSet<String>,
    /// The tables that are dropped.
    pub drops: BTreeSet<String>,
    /// The tables that are altered.
    pub alters: BTreeSet<String>,
    /// The virtual table that is made.
    pub made: Option<String>,
    /// The schema table, by DDL or by hand.
    pub schema: bool,
    /// A pragma without a value, which is all there is to the statement.
    pub bare_pragma: Option<String>,
    /// What it does to a transaction, if that is all it does.
    pub control: Option<TransactionControl>,
}

/// How a statement controls transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionControl {
    /// BEGIN.
    Begin,
    /// COMMIT or END.
    Commit,
    /// ROLLBACK of all of it.
    Rollback,
    /// SAVEPOINT, by its name.
    Save(String),
    /// RELEASE.
    Release(String),
    /// ROLLBACK TO.
    Return(String),
}

impl TransactionControl {
    fn of(action: &AuthAction<'_>) -> Option<Self> {
        use TransactionOperation as O;
        Some(match action {
            AuthAction::Transaction { operation } => match operation {
                O::Begin => Self::Begin,
                O::Rollback => Self::Rollback,
                _ => Self::Commit,
            },
            AuthAction::Savepoint {
                operation,
                savepoint_name,
            } => {
                let name = (*savepoint_name).to_owned();
                match operation {
                    O::Begin => Self::Save(name),
                    O::Rollback => Self::Return(name),
                    _ => Self::Release(name),
                }
            }
            _ => return None,
        })
    }
}

/// The state behind the authorizer of one connection.
#[derive(Debug)]
pub struct Authorizer {
    state: Mutex<AuthorizerState>,
}

#[derive(Debug)]
struct AuthorizerState {
    mode: Mode,
    /// Whether a statement is running, so that what is prepared comes from within SQLite.
    running: bool,
    /// Off in tests of the other layers only.
    enabled: bool,
    seen: Observed,
    denial: Option<Denial>,
    /// Whether the schema is trusted for the statement at hand, in what is harmless.
    lends: bool,
    /// Tables of R-Trees, which prepare their writes whenever they are opened.
    shadows: HashSet<String>,
}

impl Authorizer {
    /// A gate that is shut until a mode is set.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(AuthorizerState {
                mode: Mode::Nothing,
                running: false,
                enabled: true,
                seen: Observed::default(),
                denial: None,
                lends: false,
                shadows: HashSet::new(),
            }),
        })
    }

    /// Puts the gate before everything that `connection` prepares from now on.
    pub fn guard(self: &Arc<Self>, connection: &mut Connection) -> rusqlite::Result<()> {
        let authorizer = Arc::clone(self);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            authorizer.ask(&context)
        }))
    }

    /// Sets what the next statement may do, and forgets the last.
    pub fn enter(&self, mode: Mode) -> Mode {
        let mut state = self.state();
        state.running = false;
        state.seen = Observed::default();
        state.denial = None;
        std::mem::replace(&mut state.mode, mode)
    }

    /// Sets the mode and keeps what was seen: for what follows the one statement.
    pub fn shut(&self) {
        self.state().mode = Mode::Nothing;
    }

    /// Opens the gate again in `mode`, as the statement at hand starts to run.
    pub fn run(&self, mode: Mode) {
        let mut state = self.state();
        state.mode = mode;
        state.running = true;
        state.denial = None;
    }

    /// What the statement was seen to do while it was prepared.
    pub fn seen(&self) -> Observed {
        self.state().seen.clone()
    }

    /// Whether rows that get into `table` are those that the statement itself inserts: into
    /// the table, or into a virtual table that keeps them there.
    pub fn inserts_into(&self, table: &str) -> bool {
        self.state().seen.inserts.iter().any(|target| {
            let rest = table.strip_prefix(target.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    }

    /// Remembers a refusal that a look of our own made it forget.
    pub fn recall(&self, denial: Denial) {
        self.state().denial = Some(denial);
    }

    /// What was refused last.
    pub fn denial(&self) -> Option<Denial> {
        self.state().denial.clone()
    }

    /// The mode in force.
    pub fn mode(&self) -> Mode {
        self.state().mode
    }

    /// Whether views and triggers may use what SQLite lets no schema use that is not trusted: of the
    /// rest, this gate keeps what is known to be left.
    pub fn lend(&self, on: bool) {
        self.state().lends = on;
    }

    /// Lets an R-Tree prepare its writes to this table of its own.
    /// Answers whether that is new.
    pub fn allow_rtree_shadow(&self, table: &str) -> bool {
        self.state().shadows.insert(table.to_ascii_lowercase())
    }

    /// Takes this layer away, to test the others.
    #[cfg(test)]
    pub fn disable(&self) {
        self.state().enabled = false;
    }

    fn ask(&self, context: &AuthContext<'_>) -> Authorization {
        let mut state = self.state();
        if !state.enabled {
            return Authorization::Allow;
        }
        match state.judge(context) {
            Ok(()) => Authorization::Allow,
            Err((rule, what, table)) => {
                let mode = state.mode;
                // The first refusal is the statement's own; what follows is noise.
                state.denial.get_or_insert(Denial {
                    rule,
                    mode,
                    what,
                    table,
                });
                Authorization::Deny
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, AuthorizerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Verdict = Result<(), (Rule, String, Option<String>)>;

impl AuthorizerState {
    fn judge(&mut self, context: &AuthContext<'_>) -> Verdict {
        use AuthAction as A;
        match self.mode {
            Mode::Trusted => return Ok(()),
            Mode::Nothing => return Err((Rule::Nothing, String::new(), None)),
            _ => {}
        }
        self.seen.within |= context.accessor.is_some() && !self.running;
        match context.action {
            A::Read { table_name, .. }
            | A::Insert { table_name }
            | A::Update { table_name, .. }
            | A::Delete { table_name }
            | A::CreateVtable {
                module_name: table_name,
                ..
            } if table_name.eq_ignore_ascii_case("sqlite_dbpage") => {
                Err((Rule::Pages, "use sqlite_dbpage".into(), None))
            }
            A::Read { table_name, .. }
                if self.lends && context.accessor.is_some() && looks_inside(table_name) =>
            {
                Err((
                    Rule::Function,
                    format!("read {table_name} in a view or trigger"),
                    None,
                ))
            }
            A::Function { function_name }
                if self.lends
                    && context.accessor.is_some()
                    && UNTRUSTED.contains(&function_name) =>
            {
                Err((
                    Rule::Function,
                    format!("call {function_name}() in a view or trigger"),
                    None,
                ))
            }
            A::Select | A::Read { .. } | A::Recursive => Ok(()),
            A::Function { function_name } => function(function_name),
            A::Pragma {
                pragma_name,
                pragma_value,
            } => self.pragma(pragma_name, pragma_value),
            A::Transaction { .. } | A::Savepoint { .. } => {
                // VACUUM and FTS3 open transactions of their own while they run.
                if self.running {
                    Ok(())
                } else if matches!(self.mode, Mode::Shell | Mode::ShellRead) {
                    self.seen.control = TransactionControl::of(&context.action);
                    Ok(())
                } else {
                    Err((Rule::Transaction, "control a transaction".into(), None))
                }
            }
            // VACUUM attaches an unnamed temporary database while it runs.
            A::Attach { filename: "" } if self.running && self.writes() => Ok(()),
            A::Attach { filename } if self.running => Err((
                Rule::VacuumInto,
                format!("write a copy to {filename}"),
                None,
            )),
            A::Attach { .. }
            | A::Unknown {
                code: SQLITE_ATTACH,
                ..
            } => Err((Rule::Attach, "attach another database file".into(), None)),
            A::Detach { .. }
            | A::Unknown {
                code: SQLITE_DETACH,
                ..
            } => Err((Rule::Attach, "detach a database".into(), None)),
            A::Insert { table_name } => {
                self.written(context.accessor, "insert", table_name);
                let itself = context.accessor.is_none() && !self.running;
                if itself && !is_schema(table_name) {
                    self.seen.inserts.push(table_name.to_owned());
                }
                self.change("insert into", table_name)
            }
            A::Update { table_name, .. } => {
                self.written(context.accessor, "update", table_name);
                self.change("update", table_name)
            }
            A::Delete { table_name } => {
                self.written(context.accessor, "delete", table_name);
                self.change("delete from", table_name)
            }
            A::Unknown { code, .. } => Err((
                Rule::Unknown,
                format!("do what SQLite calls action {code}"),
                None,
            )),
            action => self.define(&action),
        }
    }

    fn writes(&self) -> bool {
        matches!(
            self.mode,
            Mode::Write | Mode::Batch | Mode::Try | Mode::Shell
        )
    }

    fn change(&mut self, verb: &str, table: &str) -> Verdict {
        if is_schema(table) {
            self.seen.schema = true;
        } else {
            self.seen.tables.insert(table.to_owned());
        }
        match self.mode {
            Mode::Read | Mode::ShellRead if !self.shadows.contains(&table.to_ascii_lowercase()) => {
                let what = if is_schema(table) {
                    "change the schema".to_owned()
                } else {
                    format!("{verb} {table}")
                };
                Err((Rule::Writes, what, Some(table.to_owned())))
            }
            _ => Ok(()),
        }
    }

    /// Notes who writes to a table: the statement, or the trigger that `accessor` names. What a
    /// foreign key does is asked for as if it were the statement's own, after that.
    fn written(&mut self, accessor: Option<&str>, verb: &'static str, table: &str) {
        if self.running || is_schema(table) {
            return;
        }
        let seen = &mut self.seen;
        if accessor.is_some() {
            seen.triggered.insert(table.to_owned());
            seen.sets_off = true;
            return;
        }
        let write = (verb, table.to_owned());
        if seen.writes.contains(&write) {
            // An update is asked for once for each column.
            seen.sets_off |= verb != "update";
            return;
        }
        seen.sets_off |= seen.target.is_some();
        seen.target.get_or_insert_with(|| table.to_owned());
        seen.writes.push(write);
    }

    fn define(&mut self, action: &AuthAction<'_>) -> Verdict {
        use AuthAction as A;
        self.seen.ddl = true;
        match action {
            A::DropTable { table_name } | A::DropVtable { table_name, .. } => {
                self.seen.drops.insert((*table_name).to_owned());
            }
            A::CreateVtable { table_name, .. } => {
                self.seen.made = Some((*table_name).to_owned());
            }
            A::AlterTable { table_name, .. } => {
                self.seen.alters.insert((*table_name).to_owned());
            }
            _ => {}
        }
        match self.mode {
            Mode::Read | Mode::ShellRead | Mode::Inspect => {
                Err((Rule::Writes, definition(action), None))
            }
            _ => Ok(()),
        }
    }

    fn pragma(&mut self, name: &str, value: Option<&str>) -> Verdict {
        let reach = match self.mode {
            Mode::Write | Mode::Shell => PragmaAccess::Write,
            Mode::Batch => PragmaAccess::Transaction,
            // Many pragmas take effect while they are prepared, explained or not.
            _ => PragmaAccess::Read,
        };
        match pragma::judge(name, value, reach) {
            Ok(()) => {
                if value.is_none() && !self.running {
                    self.seen.bare_pragma = Some(name.to_ascii_lowercase());
                }
                Ok(())
            }
            Err(refusal) => {
                let what = match value {
                    None => format!("PRAGMA {name}"),
                    Some(value) => format!("PRAGMA {name} = {value}"),
                };
                Err((Rule::Pragma(refusal), what, None))
            }
        }
    }
}

/// Functions that no schema may use which is not trusted, but for those that are harmless.
const UNTRUSTED: [&str; 8] = [
    "fts5",
    "fts5_get_locale",
    "geopoly_debug",
    "optimize",
    "rtreecheck",
    "rtreedepth",
    "rtreenode",
    "sqlite_log",
];

/// Whether a table shows the engine rather than data.
fn looks_inside(table: &str) -> bool {
    let table = table.to_ascii_lowercase();
    table.starts_with("pragma_")
        || [
            "bytecode",
            "tables_used",
            "sqlite_stmt",
            "dbstat",
            "fts3tokenize",
        ]
        .contains(&table.as_str())
}

/// Functions that reach outside of the database or into the engine. Most are not compiled in; the rule holds all the same.
fn function(name: &str) -> Verdict {
    const OUTSIDE: [&str; 6] = [
        "load_extension",
        "fts3_tokenizer",
        "readfile",
        "writefile",
        "edit",
        "sqlite_log",
    ];
    if OUTSIDE
        .iter()
        .any(|outside| outside.eq_ignore_ascii_case(name))
    {
        Err((Rule::Function, format!("call {name}()"), None))
    } else {
        Ok(())
    }
}

/// Whether this is the schema table, under any of its names.
fn is_schema(table: &str) -> bool {
    [
        "sqlite_master",
        "sqlite_schema",
        "sqlite_temp_master",
        "sqlite_temp_schema",
    ]
    .iter()
    .any(|name| name.eq_ignore_ascii_case(table))
}

/// What a statement of the schema would do, as a verb phrase.
fn definition(action: &AuthAction<'_>) -> String {
    use AuthAction as A;
    match action {
        A::CreateTable { table_name } | A::CreateTempTable { table_name } => {
            format!("create the table {table_name}")
        }
        A::CreateVtable { table_name, .. } => format!("create the virtual table {table_name}"),
        A::CreateIndex { index_name, .. } | A::CreateTempIndex { index_name, .. } => {
            format!("create the index {index_name}")
        }
        A::CreateView { view_name } | A::CreateTempView { view_name } => {
            format!("create the view {view_name}")
        }
        A::CreateTrigger { trigger_name, .. } | A::CreateTempTrigger { trigger_name, .. } => {
            format!("create the trigger {trigger_name}")
        }
        A::DropTable { table_name }
        | A::DropTempTable { table_name }
        | A::DropVtable { table_name, .. } => format!("drop the table {table_name}"),
        A::DropIndex { index_name, .. } | A::DropTempIndex { index_name, .. } => {
            format!("drop the index {index_name}")
        }
        A::DropView { view_name } | A::DropTempView { view_name } => {
            format!("drop the view {view_name}")
        }
        A::DropTrigger { trigger_name, .. } | A::DropTempTrigger { trigger_name, .. } => {
            format!("drop the trigger {trigger_name}")
        }
        A::AlterTable { table_name, .. } => format!("alter the table {table_name}"),
        A::Reindex { index_name } => format!("rebuild the index {index_name}"),
        A::Analyze { table_name } => format!("analyze {table_name}"),
        _ => "change the schema".to_owned(),
    }
}
