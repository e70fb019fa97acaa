//! Records of CSV (RFC 4180), TSV and the separated text of ASCII, as a stream.
//!
//! The crates that read CSV, `csv` and `csv-core` among them, do not tell an empty field from one that
//! is `""`, which are NULL and the empty string here; so this is our own.

use std::io::BufRead;

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Between two fields.
    pub separator: u8,
    /// Behind a record: a line feed, which a carriage return may stand before; a carriage return,
    /// for which a line feed may stand; or a byte of its own.
    pub end: u8,
    /// Whether a field may stand in double quotes.
    pub quotes: bool,
}

impl Dialect {
    /// Whether this byte stands behind a record.
    fn ends(self, byte: u8) -> bool {
        byte == self.end || byte == b'\n' && self.end == b'\r'
    }

    /// The dialect of this name: `csv`, `tsv` or `ascii`.
    pub(super) fn named(name: &str) -> Self {
        let (separator, end, quotes) = match name {
            "tsv" => (b'\t', b'\n', true),
            "ascii" => (0x1f, 0x1e, false),
            _ => (b',', b'\n', true),
        };
        Self {
            separator,
            end,
            quotes,
        }
    }
}

/// One record. Its memory is used again for the next.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// What is being read of it.
    pub(super) bytes: Vec<u8>,
    /// The same, when all of it is there.
    text: String,
    pub(super) fields: Vec<Field>,
    /// The line on which it starts, from 1; for a dialect without lines, its number.
    pub line: u64,
    /// What messages call it by: its line, but for an object its number.
    pub number: u64,
}

/// A field, and where its text stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// There is none.
    Absent,
    Null,
    Text,
    Integer(i64),
    Real(f64),
}

/// What a field holds, with its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'r> {
    /// Nothing: there is none, or it is empty and not in quotes.
    Null,
    Text(&'r str),
    Integer(i64),
    Real(f64),
}

impl Record {
    /// How many fields it has.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether it is an empty line.
    pub(super) fn is_blank(&self) -> bool {
        matches!(
            self.fields.as_slice(),
            [Field {
                kind: Kind::Null,
                ..
            }]
        )
    }

    /// A field.
    pub(super) fn cell(&self, index: usize) -> Cell<'_> {
        let Some(field) = self.fields.get(index) else {
            return Cell::Null;
        };
        match field.kind {
            Kind::Absent | Kind::Null => Cell::Null,
            Kind::Integer(number) => Cell::Integer(number),
            Kind::Real(number) => Cell::Real(number),
            Kind::Text => {
                let text = self.text.get(field.start..field.end);
                text.map_or(Cell::Null, Cell::Text)
            }
        }
    }

    /// Whether it has this field, if only as NULL.
    pub(super) fn has(&self, index: usize) -> bool {
        let field = self.fields.get(index);
        field.is_some_and(|field| field.kind != Kind::Absent)
    }

    /// A number as it was written.
    pub(super) fn written(&self, index: usize) -> &str {
        let field = self.fields.get(index);
        field
            .and_then(|field| self.text.get(field.start..field.end))
            .unwrap_or_default()
    }

    /// The text of a field that is one.
    pub(super) fn field(&self, index: usize) -> Option<&str> {
        match self.cell(index) {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn clear(&mut self) {
        // The memory of one is that of the other.
        self.bytes = std::mem::take(&mut self.text).into_bytes();
        self.bytes.clear();
        self.fields.clear();
    }

    /// All of it is there.
    ///
    /// # Errors
    ///
    /// The first field that is not UTF-8.
    pub(super) fn end(&mut self) -> Result<(), usize> {
        let is_bad = |field: &Field| str::from_utf8(&self.bytes[field.start..field.end]).is_err();
        // Two halves of a character in two fields are none.
        let whole = str::from_utf8(&self.bytes).is_ok_and(|text| {
            self.fields
                .iter()
                .all(|field| text.is_char_boundary(field.end))
        });
        if !whole && let Some(bad) = self.fields.iter().position(is_bad) {
            return Err(bad);
        }
        self.text = String::from_utf8(std::mem::take(&mut self.bytes)).unwrap_or_default();
        Ok(())
    }

    fn end_field(&mut self, quoted: bool) {
        let start = self.last_end();
        let end = self.bytes.len();
        let kind = if start == end && !quoted {
            Kind::Null
        } else {
            Kind::Text
        };
        self.fields.push(Field { start, end, kind });
    }

    fn last_end(&self) -> usize {
        self.fields.last().map_or(0, |field| field.end)
    }
}

/// What is wrong with a file.
#[derive(Debug)]
pub(super) enum Problem {
    /// It could not be read.
    Read(std::io::Error),
    /// A sentence, and the line.
    Malformed {
        /// The line, or the number of the record.
        line: u64,
        /// What is wrong, as the end of a sentence.
        what: String,
    },
}

/// Where in a record a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote inside quotes: the end of the field, or half of a doubled one.
    Quote,
    /// Behind a carriage return that follows a closed quote.
    Return,
}

/// The records of a file.
#[derive(Debug)]
pub(super) struct Records<R> {
    input: R,
    dialect: Dialect,
    /// The bytes that one record may have.
    most: usize,
    line: u64,
}

impl<R: BufRead> Records<R> {
    /// The records of `input`, none longer than `most` bytes.
    pub(super) fn new(input: R, dialect: Dialect, most: usize) -> Self {
        Self {
            input,
            dialect,
            most,
            line: 1,
        }
    }

    /// Reads the next record; false at the end.
    ///
    /// # Errors
    ///
    /// What cannot be read, or is no record.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, Problem> {
        record.clear();
        record.line = self.line;
        record.number = self.line;
        let line_end = if self.dialect.end == b'\r' {
            b'\r'
        } else {
            b'\n'
        };
        let mut at = At::FieldStart;
        let mut first = true;
        loop {
            let buffer = self.input.fill_buf().map_err(Problem::Read)?;
            if buffer.is_empty() {
                if first {
                    return Ok(false);
                }
                match at {
                    At::Quoted => return Err(self.unclosed(record)),
                    At::Quote | At::Return => record.end_field(true),
                    At::FieldStart | At::Plain => {
                        self.chop(record, at);
                        record.end_field(false);
                    }
                }
                return self.done(record);
            }
            first = false;
            let mut used = 0;
            let mut ended = false;
            while used < buffer.len() {
                let byte = buffer[used];
                match at {
                    At::FieldStart if byte == b'"' && self.dialect.quotes => {
                        at = At::Quoted;
                        used += 1;
                    }
                    At::FieldStart | At::Plain => {
                        let rest = &buffer[used..];
                        let length = rest
                            .iter()
                            .position(|&b| b == self.dialect.separator || self.dialect.ends(b))
                            .unwrap_or(rest.len());
                        record.bytes.extend_from_slice(&rest[..length]);
                        used += length;
                        if length > 0 {
                            at = At::Plain;
                        }
                        let Some(&stop) = rest.get(length) else {
                            break;
                        };
                        used += 1;
                        if stop != self.dialect.separator {
                            ended = true;
                            break;
                        }
                        record.end_field(false);
                        at = At::FieldStart;
                    }
                    At::Quoted => {
                        let rest = &buffer[used..];
                        let length = rest
                            .iter()
                            .position(|&b| b == b'"' || b == line_end)
                            .unwrap_or(rest.len());
                        let end = rest.get(length).copied();
                        let taken = length + usize::from(end == Some(line_end));
                        record.bytes.extend_from_slice(&rest[..taken]);
                        used += length + usize::from(end.is_some());
                        match end {
                            Some(b'"') => at = At::Quote,
                            Some(_) => self.line += 1,
                            None => {}
                        }
                    }
                    At::Quote if byte == b'"' => {
                        record.bytes.push(b'"');
                        at = At::Quoted;
                        used += 1;
                    }
                    At::Quote if byte == self.dialect.separator => {
                        record.end_field(true);
                        at = At::FieldStart;
                        used += 1;
                    }
                    At::Quote | At::Return if self.dialect.ends(byte) => {
                        used += 1;
                        ended = true;
                        break;
                    }
                    At::Quote if byte == b'\r' => {
                        at = At::Return;
                        used += 1;
                    }
                    At::Quote | At::Return => {
                        return Err(Problem::Malformed {
                            line: self.line,
                            what: "a field continues after its closing quote; inside a quoted \
                                   field, write each quote twice"
                                .into(),
                        });
                    }
                }
                if record.bytes.len() > self.most {
                    break;
                }
            }
            self.input.consume(used);
            if record.bytes.len() > self.most {
                return Err(self.too_long(record, at));
            }
            if ended {
                self.line += 1;
                match at {
                    At::Quote | At::Return => record.end_field(true),
                    _ => {
                        self.chop(record, at);
                        record.end_field(false);
                    }
                }
                return self.done(record);
            }
        }
    }

    /// Takes the carriage return off a line's last field.
    fn chop(&self, record: &mut Record, at: At) {
        let start = record.last_end();
        if at == At::Plain
            && self.dialect.end == b'\n'
            && record.bytes.len() > start
            && record.bytes.last() == Some(&b'\r')
        {
            record.bytes.pop();
        }
    }

    fn done(&self, record: &mut Record) -> Result<bool, Problem> {
        match record.end() {
            Ok(()) => Ok(true),
            Err(index) => Err(Problem::Malformed {
                line: record.line,
                what: format!(
                    "field {} is not UTF-8; convert the file to UTF-8, with iconv for example",
                    index + 1
                ),
            }),
        }
    }

    fn unclosed(&self, record: &Record) -> Problem {
        Problem::Malformed {
            line: record.line,
            what: "a quote is opened in this record but never closed".into(),
        }
    }

    fn too_long(&self, record: &Record, at: At) -> Problem {
        let quote = if at == At::Quoted {
            "; is a closing quote missing?"
        } else {
            ""
        };
        Problem::Malformed {
            line: record.line,
            what: format!("the record is longer than {} bytes{quote}", self.most),
        }
    }
}
