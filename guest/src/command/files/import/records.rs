//! Records of CSV (RFC 4180), TSV and the separated text of ASCII, as a stream.

use std::io::{BufRead, Chain, Cursor, Read};

/// How records are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Between two fields.
    pub separator: u8,
    /// Behind a record; a line break may be CRLF.
    pub end: u8,
    /// Whether a field may stand in double quotes.
    pub quotes: bool,
}

impl Dialect {
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
    bytes: Vec<u8>,
    fields: Vec<Field>,
    /// The line on which it starts, from 1; for a dialect without lines, its number.
    pub line: u64,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    end: usize,
    quoted: bool,
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
                end: 0,
                quoted: false
            }]
        )
    }

    /// A field; nothing where it is empty and not in quotes. Checked to be UTF-8 by [`Records::next`].
    pub(super) fn field(&self, index: usize) -> Option<&str> {
        let field = self.fields.get(index)?;
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.fields[before].end);
        if start == field.end && !field.quoted {
            return None;
        }
        std::str::from_utf8(&self.bytes[start..field.end]).ok()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    fn end_field(&mut self, quoted: bool) {
        self.fields.push(Field {
            end: self.bytes.len(),
            quoted,
        });
    }

    /// The first field that is not UTF-8.
    fn bad_field(&self) -> Option<usize> {
        let mut start = 0;
        self.fields.iter().position(|field| {
            let bytes = &self.bytes[start..field.end];
            start = field.end;
            std::str::from_utf8(bytes).is_err()
        })
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
    /// What was read in search of a byte order mark, and the rest.
    input: Chain<Cursor<Vec<u8>>, R>,
    dialect: Dialect,
    /// The bytes that one record may have.
    most: usize,
    line: u64,
}

impl<R: BufRead> Records<R> {
    /// The records of `input`, none longer than `most` bytes. A byte order mark is passed over.
    ///
    /// # Errors
    ///
    /// What cannot be read, or is UTF-16.
    pub(super) fn new(mut input: R, dialect: Dialect, most: usize) -> Result<Self, Problem> {
        let mut start = Vec::with_capacity(3);
        let head = input.by_ref().take(3).read_to_end(&mut start);
        head.map_err(Problem::Read)?;
        if start == b"\xef\xbb\xbf" {
            start.clear();
        } else if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
            return Err(Problem::Malformed {
                line: 1,
                what: "the file is UTF-16; convert it to UTF-8".into(),
            });
        }
        Ok(Self {
            input: Cursor::new(start).chain(input),
            dialect,
            most,
            line: 1,
        })
    }

    /// Reads the next record; false at the end.
    ///
    /// # Errors
    ///
    /// What cannot be read, or is no record.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, Problem> {
        record.clear();
        record.line = self.line;
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
                            .position(|&b| b == self.dialect.separator || b == self.dialect.end)
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
                        if stop == self.dialect.end {
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
                            .position(|&b| b == b'"' || b == b'\n')
                            .unwrap_or(rest.len());
                        let end = rest.get(length).copied();
                        let taken = length + usize::from(end == Some(b'\n'));
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
                    At::Quote | At::Return if byte == self.dialect.end => {
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
        let start = record.fields.last().map_or(0, |field| field.end);
        if at == At::Plain
            && self.dialect.end == b'\n'
            && record.bytes.len() > start
            && record.bytes.last() == Some(&b'\r')
        {
            record.bytes.pop();
        }
    }

    fn done(&self, record: &Record) -> Result<bool, Problem> {
        match record.bad_field() {
            None => Ok(true),
            Some(index) => Err(Problem::Malformed {
                line: record.line,
                what: format!("field {} is not UTF-8", index + 1),
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
