//! Which columns of a table are filled, and from which fields.

use super::columns::{ColumnType, names};
use super::records::Record;
use super::report::Form;
use super::{Header, Job};
use crate::answer::failure::{Failure, Status};
use crate::engine::database::work::Work;
use crate::engine::schema::catalogue::quote;
use crate::engine::schema::columns::{ColumnKind, MOST_COLUMNS, TableColumn, columns};
use crate::text::suggest::{did_you_mean, nearest};

/// What SQLite does with text in a column, <https://www.sqlite.org/datatype3.html#type_affinity>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Affinity {
    /// It stays.
    Text,
    /// It becomes a number if it is one.
    Number,
    /// It becomes a real if it is a number.
    Real,
    /// It stays, next to numbers that stay too.
    None,
}

impl Affinity {
    fn of(column: &TableColumn, strict: bool) -> Self {
        let declared = column.declared.to_ascii_uppercase();
        let has = |part: &&str| declared.contains(part);
        if column.is_text() {
            Self::Text
        } else if has(&"INT") {
            Self::Number
        } else if declared.is_empty() || has(&"BLOB") || strict && declared == "ANY" {
            Self::None
        } else if ["REAL", "FLOA", "DOUB"].iter().any(has) {
            Self::Real
        } else {
            Self::Number
        }
    }

    /// Whether it makes numbers of texts.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::Real)
    }
}

/// A column that is filled.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub name: String,
    /// Its declared type.
    pub declared: String,
    pub affinity: Affinity,
    /// Whether a field that is empty is stored as '', NULL being refused.
    pub fills: bool,
    /// Whether it takes a value of its own where none is given.
    pub has_default: bool,
    /// Whether it is the table's rowid, which has to be an integer.
    pub is_rowid: bool,
    /// The field it is filled from.
    pub from: usize,
}

/// An existing table.
pub(super) struct Target {
    columns: Vec<TableColumn>,
    strict: bool,
}

impl Target {
    /// The table or view of this name, if there is one.
    pub(super) fn find(work: Work<'_>, table: &str) -> Result<Option<Self>, Failure> {
        let connection = work.connection()?;
        let failure = |error| work.failure(&error, "");
        let columns = columns(connection, "main", table).map_err(failure)?;
        let strict = "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND strict \
                      AND name = ?1 COLLATE NOCASE";
        let strict = connection
            .query_row(strict, [table], |row| row.get(0))
            .map_err(failure)?;
        Ok((!columns.is_empty()).then_some(Self { columns, strict }))
    }

    fn column(&self, name: &str) -> Option<usize> {
        let find = |name: &str| {
            let same = |column: &TableColumn| column.name.eq_ignore_ascii_case(name);
            self.columns.iter().position(same)
        };
        find(name).or_else(|| find(name.trim()))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    fn filled(&self, at: usize, from: usize) -> Column {
        let column = &self.columns[at];
        Column {
            name: column.name.clone(),
            declared: column.declared.clone(),
            affinity: Affinity::of(column, self.strict),
            fills: column.not_null && column.is_text(),
            has_default: column.default.is_some(),
            is_rowid: column.key == 1
                && column.declared.eq_ignore_ascii_case("INTEGER")
                && self.columns.iter().all(|column| column.key < 2),
            from,
        }
    }

    /// Where each field goes, by the columns' place in the table. Of fields for all of
    /// them, those of generated columns are left out; of fewer, there are none.
    fn by_place(&self, width: usize) -> Vec<usize> {
        if width == self.columns.len() {
            return (0..width).collect();
        }
        let plain = |at: &usize| self.columns[*at].kind == ColumnKind::Plain;
        (0..self.columns.len()).filter(plain).collect()
    }
}

/// Which columns are filled, and from what.
pub(super) struct Plan {
    pub columns: Vec<Column>,
    /// How many fields a record has at most.
    pub width: usize,
    /// Columns in the file that the table computes.
    pub computed: Vec<String>,
    /// Whether the first record was a header.
    pub headed: bool,
    /// Whether its names have lost spaces around them.
    pub trimmed: bool,
    /// What the fields of a file with one column could be split at.
    pub splits_at: Option<u8>,
    /// Whether the table is to be made.
    pub new: bool,
}

impl Plan {
    /// The statement that makes the table.
    pub(super) fn create(&self, table: &str) -> String {
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| format!("{} {}", quote(&column.name), column.declared))
            .map(|column| column.trim_end().to_owned())
            .collect();
        format!("CREATE TABLE {}({})", quote(table), columns.join(", "))
    }

    /// The statement that adds a row of these columns.
    pub(super) fn insert(&self, table: &str, named: impl Fn(&Column) -> bool) -> String {
        let names: Vec<String> = self
            .columns
            .iter()
            .filter(|column| named(column))
            .map(|column| quote(&column.name))
            .collect();
        if names.is_empty() {
            return format!("INSERT INTO {} DEFAULT VALUES", quote(table));
        }
        let places: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
        format!(
            "INSERT INTO {}({}) VALUES({})",
            quote(table),
            names.join(", "),
            places.join(", ")
        )
    }

    /// A new table with these columns.
    pub(super) fn make<'n>(
        header: impl Iterator<Item = Option<&'n str>>,
        kinds: &[ColumnType],
        headed: bool,
    ) -> Self {
        let columns: Vec<Column> = names(header)
            .into_iter()
            .zip(kinds)
            .enumerate()
            .map(|(from, (name, kind))| Column {
                name,
                declared: kind.declared().to_owned(),
                affinity: match kind {
                    ColumnType::Integer { .. } => Affinity::Number,
                    ColumnType::Real { .. } => Affinity::Real,
                    ColumnType::Mixed => Affinity::None,
                    _ => Affinity::Text,
                },
                fills: false,
                has_default: false,
                is_rowid: false,
                from,
            })
            .collect();
        Self {
            width: columns.len(),
            columns,
            computed: Vec::new(),
            headed,
            trimmed: false,
            splits_at: None,
            new: true,
        }
    }

    fn of(target: &Target, fields: &[usize], headed: bool) -> Self {
        let (mut columns, mut computed) = (Vec::new(), Vec::new());
        for (from, &at) in fields.iter().enumerate() {
            if target.columns[at].kind == ColumnKind::Plain {
                columns.push(target.filled(at, from));
            } else if target.columns[at].kind != ColumnKind::Hidden {
                computed.push(target.columns[at].name.clone());
            }
        }
        Self {
            columns,
            width: fields.len(),
            computed,
            headed,
            trimmed: false,
            splits_at: None,
            new: false,
        }
    }
}

/// Whether spaces stand around it.
pub(super) fn is_padded(text: &str) -> bool {
    text.trim().len() < text.len()
}

impl Job<'_> {
    /// How records of fields go into an existing table. `second` is the record behind the first.
    pub(super) fn fit(
        &self,
        target: &Target,
        first: &Record,
        second: Option<&Record>,
    ) -> Result<Plan, Failure> {
        let given: Vec<&str> = (0..first.len())
            .map(|index| first.field(index).unwrap_or_default())
            .collect();
        if self.header != Header::Data {
            let known = given.iter().any(|name| target.column(name).is_some());
            if known
                || self.header == Header::Names
                || self.looks_like_names(target, &given, second)
            {
                return self.fit_names(target, first.line, &given);
            }
        }
        let plan = Plan::of(target, &target.by_place(given.len()), false);
        Ok(plan)
    }

    /// How fields with names go into it.
    ///
    /// # Errors
    ///
    /// A name that is no column, with the nearest that is, or one that comes twice.
    pub(super) fn fit_names(
        &self,
        target: &Target,
        line: u64,
        given: &[impl AsRef<str>],
    ) -> Result<Plan, Failure> {
        let mut fields = Vec::new();
        for name in given.iter().map(AsRef::as_ref) {
            let Some(at) = target.column(name) else {
                let all: Vec<&str> = target.names().collect();
                let near = did_you_mean(name, target.names());
                let hint = format!(
                    "{}{} has the columns {}. Rename the column in the file or add it to the table \
                     (ALTER TABLE … ADD COLUMN){}.",
                    near.map(|near| format!("{near} ")).unwrap_or_default(),
                    self.table,
                    all.join(", "),
                    if self.is_json() {
                        ""
                    } else {
                        "; if the line is data, use no_header"
                    }
                );
                let what = format!("{} has no column {name:?}", self.table);
                return Err(self.malformed(line, &what).hint(hint));
            };
            if fields.contains(&at) {
                let name = &target.columns[at].name;
                return Err(self.malformed(line, &format!("the column {name} is named twice")));
            }
            fields.push(at);
        }
        let mut plan = Plan::of(target, &fields, !self.is_json());
        plan.trimmed = plan.headed && given.iter().any(|name| is_padded(name.as_ref()));
        if plan.columns.is_empty() {
            return Err(Failure::new(
                Status::Syntax,
                format!("No column of {} is filled by {}.", self.table, self.shown()),
            ));
        }
        Ok(plan)
    }

    /// Whether a record is a header, though it shares no name with the table: all of its fields are
    /// nearly columns, or one is a text where the next record has the number that the column wants.
    fn looks_like_names(&self, target: &Target, given: &[&str], second: Option<&Record>) -> bool {
        let near = |name: &&str| {
            ColumnType::of(name) == ColumnType::Text && nearest(name, target.names()).is_some()
        };
        if !given.is_empty() && given.iter().all(near) {
            return true;
        }
        let Some(second) = second else { return false };
        let fields = target.by_place(given.len());
        given
            .iter()
            .zip(fields)
            .enumerate()
            .any(|(index, (name, at))| {
                Affinity::of(&target.columns[at], target.strict).is_number()
                    && Form::of(name) == Form::NoNumber
                    && !name.is_empty()
                    && second
                        .field(index)
                        .is_some_and(|value| Form::of(value) != Form::NoNumber)
            })
    }

    /// Refuses what is wider than a table.
    pub(super) fn check_width(&self, line: u64, width: usize) -> Result<(), Failure> {
        if width > MOST_COLUMNS {
            let what =
                format!("{width} fields, but a table can have at most {MOST_COLUMNS} columns");
            return Err(self.malformed(line, &what));
        }
        Ok(())
    }
}
