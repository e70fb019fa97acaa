//! The modes that print a row as soon as it is there.

use std::borrow::Cow;
use std::io::{self, Write};

use super::quoted::{self, Breaks, identifier, literal};
use super::{Format, Mode, cells, number};
use crate::answer::value::Value;
use crate::text::pad::blanks;

/// Prints rows one by one.
#[derive(Debug)]
pub struct Stream {
    format: Format,
    columns: Vec<String>,
    /// What is shown of a value that is no NULL.
    text: fn(&Value) -> Option<Cow<'_, [u8]>>,
    /// What every row of `insert` starts with, or how wide the names of `line` are.
    prefix: String,
    width: usize,
    begun: bool,
}

impl Stream {
    /// A printer for one of the modes that are not aligned.
    pub fn new(format: &Format, columns: &[String]) -> Self {
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
            text: if format.whole {
                cells::whole
            } else {
                cells::plain
            },
            prefix,
            width: columns.iter().map(String::len).max().unwrap_or(0).max(5),
            begun: false,
        }
    }

    /// Prints a row, and the header before the first.
    pub fn row(&mut self, out: &mut dyn Write, values: &[Value]) -> io::Result<()> {
        let first = !std::mem::replace(&mut self.begun, true);
        if first && self.format.headers {
            self.header(out)?;
        }
        let null = self.format.nullvalue.as_bytes();
        match self.format.mode {
            Mode::List | Mode::Ascii => self.separated(out, values, |out, value| {
                out.write_all((self.text)(value).as_deref().unwrap_or(null))
            }),
            Mode::Csv => {
                let separator = self.format.column_separator.as_bytes();
                self.separated(out, values, |out, value| match (self.text)(value) {
                    Some(text) => quoted::csv(out, &text, separator),
                    None => out.write_all(null),
                })
            }
            Mode::Tcl => self.separated(out, values, |out, value| {
                quoted::tcl(out, (self.text)(value).as_deref().unwrap_or(null))
            }),
            Mode::Quote => self.separated(out, values, |out, value| {
                out.write_all(&literal(value, Breaks::Kept))
            }),
            Mode::Insert => {
                out.write_all(self.prefix.as_bytes())?;
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.write_all(b",")?;
                    }
                    out.write_all(&literal(value, Breaks::Replaced))?;
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
                    json(out, value, self.text)?;
                }
                out.write_all(b"}")
            }
            Mode::Line => {
                let end = self.format.row_separator.as_bytes();
                if !first {
                    out.write_all(end)?;
                }
                for (name, value) in self.columns.iter().zip(values) {
                    let padding = self.width - name.len();
                    write!(out, "{}{name} = ", blanks(padding))?;
                    out.write_all((self.text)(value).as_deref().unwrap_or(null))?;
                    out.write_all(end)?;
                }
                Ok(())
            }
            Mode::Html => {
                out.write_all(b"<TR>")?;
                for value in values {
                    out.write_all(b"<TD>")?;
                    quoted::html(out, (self.text)(value).as_deref().unwrap_or(null))?;
                    out.write_all(b"</TD>\n")?;
                }
                out.write_all(b"</TR>\n")
            }
            // Printed by `Grid`.
            Mode::Box | Mode::Table | Mode::Markdown | Mode::Column => Ok(()),
        }
    }

    /// Closes what the first row opened.
    pub fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        if self.format.mode == Mode::Json && self.begun {
            out.write_all(b"]\n")?;
        }
        Ok(())
    }

    fn header(&self, out: &mut dyn Write) -> io::Result<()> {
        let separator = self.format.column_separator.as_bytes();
        match self.format.mode {
            Mode::List | Mode::Ascii => self.separated(out, &self.columns, |out, name| {
                out.write_all(name.as_bytes())
            }),
            Mode::Csv => self.separated(out, &self.columns, |out, name| {
                quoted::csv(out, name.as_bytes(), separator)
            }),
            Mode::Tcl => self.separated(out, &self.columns, |out, name| {
                quoted::tcl(out, name.as_bytes())
            }),
            Mode::Quote => self.separated(out, &self.columns, |out, name| {
                out.write_all(&literal(&Value::Text(name.clone()), Breaks::Kept))
            }),
            Mode::Html => {
                out.write_all(b"<TR>")?;
                for name in &self.columns {
                    out.write_all(b"<TH>")?;
                    quoted::html(out, name.as_bytes())?;
                    out.write_all(b"</TH>\n")?;
                }
                out.write_all(b"</TR>\n")
            }
            _ => Ok(()),
        }
    }

    fn separated<T>(
        &self,
        out: &mut dyn Write,
        parts: &[T],
        print: impl Fn(&mut dyn Write, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                out.write_all(self.format.column_separator.as_bytes())?;
            }
            print(out, part)?;
        }
        out.write_all(self.format.row_separator.as_bytes())
    }
}

fn json(
    out: &mut dyn Write,
    value: &Value,
    text: fn(&Value) -> Option<Cow<'_, [u8]>>,
) -> io::Result<()> {
    match value {
        Value::Integer(number) => write!(out, "{number}"),
        Value::Real(number) => out.write_all(number::readable(*number).as_bytes()),
        Value::Blob(bytes) => quoted::json(out, bytes),
        value => match text(value) {
            Some(text) => quoted::json(out, &text),
            None => out.write_all(b"null"),
        },
    }
}
