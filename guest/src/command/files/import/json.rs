//! Objects of JSON, in an array or one after the other, as a stream: each is parsed when it is whole, and
//! only one is held.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::records::{Field, Kind, Problem, Record};
use crate::engine::schema::columns::MOST_COLUMNS;

/// The names that objects have for their values, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Keys {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Keys {
    /// The names.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    fn place(&mut self, name: String) -> usize {
        match self.places.get(&name) {
            Some(&place) => place,
            None => {
                self.places.insert(name.clone(), self.names.len());
                self.names.push(name);
                self.names.len() - 1
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    /// Behind the bracket that opens the array.
    First,
    /// Behind an object of the array.
    Array,
    /// Between objects that no array holds.
    Lines,
    /// Behind the array.
    End,
}

/// The objects of a file.
#[derive(Debug)]
pub(super) struct Objects<R> {
    input: R,
    most: usize,
    line: u64,
    /// How many objects there were so far.
    number: u64,
    at: At,
    text: Vec<u8>,
    /// Those of all objects so far.
    pub keys: Keys,
}

impl<R: BufRead> Objects<R> {
    /// The objects of `input`, none longer than `most` bytes, whose names stand where `keys` has them.
    pub(super) fn new(input: R, most: usize, keys: Keys) -> Self {
        Self {
            input,
            most,
            line: 1,
            number: 0,
            at: At::Start,
            text: Vec::new(),
            keys,
        }
    }

    /// Reads the next object into a field for each name; false at the end.
    ///
    /// # Errors
    ///
    /// What cannot be read, or is no object.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, Problem> {
        if self.at == At::Start {
            self.at = match self.peek()? {
                Some(b'[') => {
                    self.input.consume(1);
                    At::First
                }
                _ => At::Lines,
            };
        }
        let mut next = self.peek()?;
        match (self.at, next) {
            (At::End | At::Lines, None) => return Ok(false),
            (At::End, Some(_)) => return Err(self.malformed("more follows the end of the array")),
            (At::First | At::Array, Some(b']')) => {
                self.input.consume(1);
                self.at = At::End;
                return self.next(record);
            }
            (At::Array, Some(b',')) => {
                self.input.consume(1);
                next = self.peek()?;
            }
            (At::Array, Some(_)) => {
                return Err(self.malformed("a comma is missing between two objects"));
            }
            _ => {}
        }
        match next {
            Some(b'{') => {}
            Some(_) => {
                return Err(
                    self.malformed("an object ({\"name\": value, …}) was expected for each row")
                );
            }
            None => return Err(self.malformed("the array is never closed")),
        }
        if self.at == At::First {
            self.at = At::Array;
        }
        record.clear();
        record.line = self.line;
        self.number += 1;
        record.number = self.number;
        self.gather()?;
        self.parse(record)?;
        self.line += self.text.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(true)
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Result<Option<u8>, Problem> {
        loop {
            let buffer = self.input.fill_buf().map_err(Problem::Read)?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
            let blanks = buffer.iter().take_while(|byte| blank(byte)).count();
            let found = buffer.get(blanks).copied();
            let lines = buffer[..blanks].iter().filter(|&&byte| byte == b'\n');
            self.line += lines.count() as u64;
            self.input.consume(blanks);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Gathers the bytes of one object.
    fn gather(&mut self) -> Result<(), Problem> {
        self.text.clear();
        let (mut depth, mut quoted, mut escaped) = (0_u64, false, false);
        loop {
            let buffer = self.input.fill_buf().map_err(Problem::Read)?;
            if buffer.is_empty() {
                return Err(self.malformed("the object that starts here is never closed"));
            }
            let mut end = None;
            for (at, byte) in buffer.iter().enumerate() {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if quoted => escaped = true,
                    b'"' => quoted = !quoted,
                    b'{' | b'[' if !quoted => depth += 1,
                    b'}' | b']' if !quoted => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            end = Some(at + 1);
                            break;
                        }
                    }
                    _ => {}
                }
            }
            let used = end.unwrap_or(buffer.len());
            self.text.extend_from_slice(&buffer[..used]);
            self.input.consume(used);
            if self.text.len() > self.most {
                let what = format!("the object is longer than {} bytes", self.most);
                return Err(self.malformed(&what));
            }
            if end.is_some() {
                return Ok(());
            }
        }
    }

    fn parse(&mut self, record: &mut Record) -> Result<(), Problem> {
        let Ok(text) = std::str::from_utf8(&self.text) else {
            return Err(self.malformed("the object is not UTF-8"));
        };
        let nothing = Field {
            start: 0,
            end: 0,
            kind: Kind::Absent,
        };
        record.fields.resize(self.keys.names.len(), nothing);
        let object: Object<'_> = serde_json::from_str(text).map_err(|error| {
            let what = error.to_string();
            let what = what.split(" at line").next().unwrap_or_default();
            Problem::Malformed {
                line: self.line + (error.line() as u64).saturating_sub(1),
                what: format!("this is not JSON: {what}"),
            }
        })?;
        let mut seen = vec![false; record.fields.len()];
        for (name, value) in object.0 {
            let place = self.keys.place(name);
            if place == record.fields.len() {
                record.fields.push(nothing);
                seen.push(false);
            }
            if std::mem::replace(&mut seen[place], true) {
                let what = format!("the object has the name {} twice", self.keys.names[place]);
                return Err(Problem::Malformed {
                    line: record.line,
                    what,
                });
            }
            record.fields[place] =
                field(value.get(), &mut record.bytes).map_err(|error| Problem::Malformed {
                    line: record.line,
                    what: format!("this is not JSON: {error}"),
                })?;
        }
        if self.keys.names.len() > MOST_COLUMNS {
            let what = format!(
                "the objects have more names than the {MOST_COLUMNS} columns that a table can have"
            );
            return Err(self.malformed(&what));
        }
        // JSON is UTF-8, and so is what it says.
        let _ = record.end();
        Ok(())
    }

    fn malformed(&self, what: &str) -> Problem {
        Problem::Malformed {
            line: self.line,
            what: what.into(),
        }
    }
}

/// A value as a field. What is nested is text; so is a whole number that 64 bits do not hold.
fn field(value: &str, bytes: &mut Vec<u8>) -> serde_json::Result<Field> {
    let start = bytes.len();
    let kind = match value.as_bytes().first() {
        Some(b'n') => Kind::Null,
        Some(b't') => Kind::Integer(1),
        Some(b'f') => Kind::Integer(0),
        Some(b'"') => {
            bytes.extend_from_slice(serde_json::from_str::<String>(value)?.as_bytes());
            Kind::Text
        }
        Some(b'-' | b'0'..=b'9') => match (value.parse(), value.parse()) {
            (Ok(number), _) => Kind::Integer(number),
            (_, Ok(number)) if value.contains(['.', 'e', 'E']) => {
                bytes.extend_from_slice(value.as_bytes());
                Kind::Real(number)
            }
            _ => {
                bytes.extend_from_slice(value.as_bytes());
                Kind::Text
            }
        },
        _ => {
            bytes.extend_from_slice(value.as_bytes());
            Kind::Text
        }
    };
    Ok(Field {
        start,
        end: bytes.len(),
        kind,
    })
}

/// An object with its names in order and its values as they are written.
struct Object<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Object<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'t> Visitor<'t> for Names {
            type Value = Object<'t>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: MapAccess<'t>>(self, mut map: M) -> Result<Object<'t>, M::Error> {
                let mut object = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    object.push(entry);
                }
                Ok(Object(object))
            }
        }
        deserializer.deserialize_map(Names)
    }
}

/// Whether a text starts as JSON does that is rows.
pub(super) fn begins(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let behind = |open: &[u8]| text.strip_prefix(open).map(<[u8]>::trim_ascii_start);
    behind(b"{").is_some_and(|rest| rest.starts_with(b"\"") || rest.starts_with(b"}"))
        || behind(b"[").is_some_and(|rest| rest.starts_with(b"{") || rest.starts_with(b"]"))
}

#[cfg(test)]
mod tests {
    use super::super::records::Cell;
    use super::*;

    fn read(text: &str) -> Result<(Vec<String>, Vec<String>), (u64, String)> {
        let mut objects = Objects::new(
            std::io::BufReader::with_capacity(3, text.as_bytes()),
            200,
            Keys::default(),
        );
        let mut record = Record::default();
        let mut rows = Vec::new();
        loop {
            match objects.next(&mut record) {
                Ok(true) => {
                    let cells: Vec<Cell<'_>> =
                        (0..record.len()).map(|index| record.cell(index)).collect();
                    rows.push(format!("{} {cells:?}", record.line));
                }
                Ok(false) => return Ok((objects.keys.names().to_vec(), rows)),
                Err(Problem::Malformed { line, what }) => return Err((line, what)),
                Err(Problem::Read(error)) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn objects_are_read_from_an_array_and_from_lines() {
        let (names, rows) = read(
            "[{\"a\": 1, \"b\": \"x\\u0000}\\\"\"},\n {\"c\": [1, {\"d\": 2}], \"a\": -0.0}, {}\n]\n",
        )
        .unwrap();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(
            rows,
            [
                "1 [Integer(1), Text(\"x\\0}\\\"\")]",
                "2 [Real(-0.0), Null, Text(\"[1, {\\\"d\\\": 2}]\")]",
                "2 [Null, Null, Null]"
            ]
        );
        let (names, rows) =
            read("\n{\"a\":true}\r\n\n{\"a\":null,\n\"b\":1e999}{\"b\":9223372036854775808}")
                .unwrap();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            rows,
            [
                "2 [Integer(1)]",
                "4 [Null, Real(inf)]",
                "5 [Null, Text(\"9223372036854775808\")]"
            ]
        );
        assert_eq!(read("[]").unwrap().1.len(), 0);
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_line() {
        for (text, line, says) in [
            ("[1]", 1, "object"),
            ("{\"a\":1}\n[2]", 2, "object"),
            ("[{\"a\":1}\n{\"a\":2}]", 2, "comma"),
            ("[{\"a\":1},\n]", 2, "object"),
            ("[{\"a\":1}] x", 1, "more follows"),
            ("[{\"a\":1}", 1, "never closed"),
            ("{\"a\":1", 1, "never closed"),
            ("{\"a\":1}\n{\"a\":01}", 2, "not JSON"),
            ("{\"a\":1,\"a\":2}", 1, "twice"),
            ("{\"a\":\"\\ud800\"}", 1, "not JSON"),
        ] {
            let (at, what) = read(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(what.contains(says), "{text}: {what}");
        }
        assert!(
            read(&format!("{{\"a\":\"{}\"}}", "x".repeat(300)))
                .unwrap_err()
                .1
                .contains("longer")
        );
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(90), "]".repeat(90));
        assert!(read(&deep).is_ok());
    }

    #[test]
    fn json_is_told_by_how_it_starts() {
        for text in ["{\"a\":1}", " [ {", "[]", "{}", "\n{ \"a\""] {
            assert!(begins(text.as_bytes()), "{text}");
        }
        for text in ["a,b", "[1,2]", "{a},b", "", "[a],b"] {
            assert!(!begins(text.as_bytes()), "{text}");
        }
    }
}
