//! Rows in the output modes of the sqlite3 program, as a stream.
//!
//! What that program prints, <https://www.sqlite.org/cli.html>, held to recorded output. On purpose otherwise:
//!
//! - Text continues after a NUL, where the program stops.
//! - Zero keeps its sign, and an infinity is `1e999` in `json`, `insert` and `quote`, so that each is
//!   read back as what it was.
//! - `json` writes a byte that is not UTF-8 as the character of its number, so that it stays JSON.
//! - How wide a character is, Unicode's tables say; the program's know fewer wide ones.
//! - `line` breaks no line that is long, and a name stays on its line.
//! - `box`, `table`, `markdown` and `column` hold rows back to know how wide the columns are, but
//!   never more than [`HELD`] bytes of them. From there on rows are printed as they come, and a cell
//!   that is wider than its column is printed whole and pushes the rest of its line to the right.

mod grid;
mod lines;
mod quoted;
mod stream;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::answer::value::Value;
pub(crate) use crate::text::keyword::identifier;
use grid::Grid;
pub(crate) use quoted::{as_literal, literal_text, tcl as c_string};
use stream::Stream;

/// The bytes of rows that a mode with columns holds back at most.
pub(crate) const HELD: usize = 8 << 20;

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mode {
    /// Values between separators.
    List,
    /// RFC 4180; with other separators for `tabs`.
    Csv,
    /// Values between the unit and record separators of ASCII.
    Ascii,
    /// An array of objects.
    Json,
    /// A table of Markdown.
    Markdown,
    /// INSERT statements.
    Insert,
    /// SQL literals.
    Quote,
    /// One value on a line, with its name.
    Line,
    /// Rows of an HTML table.
    Html,
    /// A table drawn with box characters.
    Box,
    /// A table drawn with ASCII.
    Table,
    /// Aligned columns.
    Column,
    /// Strings of Tcl.
    Tcl,
}

/// The names that select a mode, in the order in which they are listed.
pub(crate) const NAMES: [&str; 15] = [
    "ascii", "box", "column", "csv", "html", "insert", "json", "line", "list", "markdown", "qbox",
    "quote", "table", "tabs", "tcl",
];

impl Mode {
    /// The name under which the program shows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Csv => "csv",
            Self::Ascii => "ascii",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Insert => "insert",
            Self::Quote => "quote",
            Self::Line => "line",
            Self::Html => "html",
            Self::Box => "box",
            Self::Table => "table",
            Self::Column => "column",
            Self::Tcl => "tcl",
        }
    }

    /// Whether its rows are held back to measure columns.
    pub(crate) fn aligned(self) -> bool {
        matches!(
            self,
            Self::Box | Self::Table | Self::Markdown | Self::Column
        )
    }
}

/// What stands for control characters, but tabs and line breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Escape {
    /// They are left, so that what is written is read back as it was; an aligned mode shows symbols.
    Off,
    /// A caret and a letter; in SQL, `unistr()`.
    Ascii,
    /// A symbol of Unicode's; in SQL, `unistr()`.
    Symbol,
    /// In SQL `unistr()`, for whatever an answer does not show as it is; elsewhere they are left.
    Unseen,
}

/// A mode and everything that can be set about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Format {
    /// How rows are printed.
    pub mode: Mode,
    /// Whether the names of the columns are printed.
    pub headers: bool,
    /// What stands for NULL where it is not written as a literal.
    pub nullvalue: String,
    /// Between the values of a row.
    pub column_separator: String,
    /// Behind a row.
    pub row_separator: String,
    /// The table of `insert`, unquoted.
    pub table: String,
    /// The width of each column of an aligned mode, in characters; 0 or none: as wide as its
    /// widest cell. Negative: aligned to the right.
    pub widths: Vec<i32>,
    /// Where an aligned mode breaks the lines of a cell that has no width; 0: nowhere.
    pub wrap: u32,
    /// Whether lines are broken between words.
    pub word_wrap: bool,
    /// Whether an aligned mode shows SQL literals.
    pub quote: bool,
    /// What stands for control characters.
    pub escape: Escape,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            mode: Mode::List,
            headers: false,
            nullvalue: String::new(),
            column_separator: "|".into(),
            row_separator: "\n".into(),
            table: "tab".into(),
            widths: Vec::new(),
            wrap: 0,
            word_wrap: true,
            quote: false,
            escape: Escape::Ascii,
        }
    }
}

impl Format {
    /// The format of one of [`NAMES`].
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut format = Self::default();
        format.select(name).then_some(format)
    }

    /// Changes to the mode of this name, and to the headers, separators and NULL that go with it, as
    /// `.mode` does; answers whether there is such a mode.
    pub(crate) fn select(&mut self, name: &str) -> bool {
        let (mode, column, row) = match name {
            "ascii" => (Mode::Ascii, Some("\u{1f}"), Some("\u{1e}")),
            "box" | "qbox" => (Mode::Box, None, None),
            "column" => (Mode::Column, None, None),
            "csv" => (Mode::Csv, Some(","), Some("\r\n")),
            "html" => (Mode::Html, None, None),
            "insert" => (Mode::Insert, None, None),
            "json" => (Mode::Json, None, None),
            "line" => (Mode::Line, Some(": "), Some("\n")),
            "list" => (Mode::List, Some("|"), Some("\n")),
            "markdown" => (Mode::Markdown, None, None),
            "quote" => (Mode::Quote, Some(","), Some("\n")),
            "table" => (Mode::Table, None, None),
            "tabs" => (Mode::Csv, Some("\t"), Some("\n")),
            "tcl" => (Mode::Tcl, Some(" "), Some("\n")),
            _ => return false,
        };
        self.mode = mode;
        self.headers = mode.aligned() || mode == Mode::Html;
        if let Some(separator) = column {
            self.column_separator = separator.into();
        }
        if let Some(separator) = row {
            self.row_separator = separator.into();
        }
        self.quote = name == "qbox";
        self.nullvalue = match name {
            "quote" | "qbox" => "NULL",
            "tcl" => "\"\"",
            _ => "",
        }
        .into();
        true
    }
}

/// Prints the rows of one result.
#[derive(Debug)]
pub(crate) struct Printer(PrinterKind);

#[derive(Debug)]
enum PrinterKind {
    Stream(Stream),
    Grid(Grid),
}

impl Printer {
    /// A printer for rows with these columns. It prints nothing before the first row.
    pub(crate) fn new(format: &Format, columns: &[String]) -> Self {
        Self(if format.mode.aligned() {
            PrinterKind::Grid(Grid::new(format, columns))
        } else {
            PrinterKind::Stream(Stream::new(format, columns))
        })
    }

    /// Prints a row, or keeps it until it is known how wide the columns are.
    ///
    /// # Errors
    /// What `out` says.
    pub(crate) fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        match &mut self.0 {
            PrinterKind::Stream(stream) => stream.row(out, values),
            PrinterKind::Grid(grid) => grid.row(out, values),
        }
    }

    /// Prints what comes behind the last row. A result without rows prints nothing at all.
    ///
    /// # Errors
    /// What `out` says.
    pub(crate) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        match self.0 {
            PrinterKind::Stream(stream) => stream.finish(out),
            PrinterKind::Grid(grid) => grid.finish(out),
        }
    }
}
