//! The modes that print a row as soon as it is there.

use std::borrow::Cow;
use std::io::{self, Write};

use super::quoted::{self, escaped, literal, plain};
use super::{Format, Mode, lines};
use crate::answer::value::Value;
use crate::text::keyword::identifier;
use crate::text::pad::blanks;

/// Prints rows one by one.
#[derive(Debug)]
pub(super) struct Stream {
    format: Format,
    columns: Vec<String>,
    /// What every row of `insert` starts with.
    prefix: String,
    begun: bool,
    /// A number, as text.
    number: Vec<u8>,
}

impl Stream {
    /// A printer for one of the modes that are not aligned.
    pub(super) fn new(format: &Format, columns: &[String]) -> Self {
        let mut prefix = String::new();
        if format.mode == Mode::Insert {
            prefix = format!("INSERT INTO {}", identifier(&format.table));
            if format.headers {
                let names: Vec<String> = columns.iter().map(|name| identifier(name)).collect();
                prefix.push_str(&format!("({})", names.join(",")));
            }
            prefix.push_str(" VALUES(");
        }
        Self {
            format: format.clone(),
            columns: columns.to_vec(),
            prefix,
            begun: false,
            number: Vec::new(),
        }
    }

    /// Prints a row, and the header before the first.
    pub(super) fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        let first = !std::mem::replace(&mut self.begun, true);
        match self.format.mode {
            Mode::Insert => {
                out.write_all(self.prefix.as_bytes())?;
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.write_all(b",")?;
                    }
                    literal(out, value, self.format.escape)?;
                }
                out.write_all(b");\n")
            }
            Mode::Json => {
                out.write_all(if first { b"[{" } else { b",\n{" })?;
                for (index, (name, value)) in self.columns.iter().zip(values).enumerate() {
                    if index > 0 {
                        out.write_all(b",")?;
                    }
                    quoted::json(out, name.as_bytes())?;
                    out.write_all(b":")?;
                    json(out, value)?;
                }
                out.write_all(b"}")
            }
            Mode::Line => self.lines(out, values, first),
            Mode::Html => {
                if first && self.format.headers {
                    self.html(out, "TH", &self.names())?;
                }
                self.html(out, "TD", values)
            }
            _ => {
                if first && self.format.headers {
                    self.separated(out, &self.names())?;
                }
                self.separated(out, values)
            }
        }
    }

    /// Closes what the first row opened.
    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        if self.format.mode == Mode::Json && self.begun {
            out.write_all(b"]\n")?;
        }
        Ok(())
    }

    /// The names of the columns, as a row.
    fn names(&self) -> Vec<Value> {
        self.columns.iter().cloned().map(Value::Text).collect()
    }

    fn html(&self, out: &mut dyn Write, element: &str, values: &[Value]) -> io::Result<()> {
        out.write_all(b"<TR>")?;
        for value in values {
            write!(out, "\n<{element}>")?;
            match value {
                Value::Null => out.write_all(b"null")?,
                value => quoted::html(out, &escaped(&self.plain(value), self.format.escape))?,
            }
        }
        out.write_all(b"\n</TR>\n")
    }

    /// A line for each value, behind its name; further lines of a value are indented as far.
    fn lines(&self, out: &mut dyn Write, values: &[Value], first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b"\n")?;
        }
        let escape = self.format.escape;
        let name = |name: &String| lines::shown(&escaped(name.as_bytes(), escape));
        let names: Vec<(Vec<u8>, usize)> = self.columns.iter().map(name).collect();
        let widest = names.iter().map(|(_, width)| *width).max().unwrap_or(0);
        let separator = &self.format.column_separator;
        for ((name, width), value) in names.iter().zip(values) {
            write!(out, "{}", blanks(widest - width))?;
            out.write_all(name)?;
            out.write_all(separator.as_bytes())?;
            let text = self.plain(value);
            let text = escaped(&text, escape);
            let text = text.strip_suffix(b"\n").unwrap_or(&text);
            for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
                if index > 0 {
                    write!(out, "\n{}", blanks(widest + separator.chars().count()))?;
                }
                out.write_all(line)?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn separated(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        let separator = self.format.column_separator.as_bytes();
        let escape = self.format.escape;
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                out.write_all(separator)?;
            }
            match (self.format.mode, value) {
                (_, Value::Null) => out.write_all(self.format.nullvalue.as_bytes())?,
                (Mode::Quote, value) => literal(out, value, escape)?,
                (_, Value::Integer(_) | Value::Real(_)) => {
                    self.number.clear();
                    quoted::put_number(&mut self.number, value);
                    out.write_all(&self.number)?;
                }
                (Mode::Tcl, Value::Blob(bytes)) => quoted::tcl_bytes(out, bytes)?,
                (Mode::Tcl, value) => quoted::tcl(out, &plain(value))?,
                (Mode::Csv, value) => quoted::csv(out, &plain(value), separator, escape)?,
                (_, value) => out.write_all(&escaped(&plain(value), escape))?,
            }
        }
        out.write_all(self.format.row_separator.as_bytes())
    }

    /// The bytes that a value shows.
    fn plain<'a>(&'a self, value: &'a Value) -> Cow<'a, [u8]> {
        match value {
            Value::Null => self.format.nullvalue.as_bytes().into(),
            value => plain(value),
        }
    }
}

fn json(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    match value {
        Value::Null => out.write_all(b"null"),
        Value::Integer(number) => write!(out, "{number}"),
        Value::Real(number) => write!(out, "{}", quoted::readable(*number)),
        Value::Blob(bytes) => quoted::json_bytes(out, bytes),
        value => quoted::json(out, &plain(value)),
    }
}
