//! Bytes as text: unpacked, and as UTF-8 without a byte order mark.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

use crate::answer::failure::{Failure, Status};

/// How many of the first bytes tell what a file is.
const HEAD: usize = 16;

/// Files that hold no rows as text, by their first bytes; what they are, and what to do.
const FOREIGN: [(&[u8], &str, &str); 16] = [
    (b"SQLite format 3\0", "a SQLite database", DATABASE),
    (
        b"PK\x03\x04",
        "an archive, as the workbooks of spreadsheets are",
        SHEET,
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "a document or workbook of an older Office",
        SHEET,
    ),
    (b"%PDF-", "a PDF", ROWS),
    (b"{\\rtf", "formatted text", ROWS),
    (b"PAR1\x15", "a Parquet file", ROWS),
    (b"ARROW1\0", "an Arrow file", ROWS),
    (b"\x89PNG", "an image", ROWS),
    (b"\xff\xd8\xff", "an image", ROWS),
    (b"<?xml", "XML", ROWS),
    (b"<!DOCTYPE", "HTML", ROWS),
    (b"<html", "HTML", ROWS),
    (b"CREATE TABLE ", "SQL", SQL),
    (b"INSERT INTO ", "SQL", SQL),
    (b"BEGIN TRANSACTIO", "SQL", SQL),
    (b"PRAGMA foreign_k", "SQL", SQL),
];
const DATABASE: &str = "Open it as the database instead; migrate copies one.";
const SHEET: &str = "Save the sheet as CSV.";
const ROWS: &str = "Save its rows as CSV or JSON.";
const SQL: &str = "Run it instead: give its statements to batch, or the file to the shell.";

/// How the text of a file was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Coding {
    /// Whether it was packed by gzip.
    pub gzip: bool,
    /// The form of UTF-16, if it was one.
    pub wide: Option<&'static str>,
}

/// The text behind `raw`, whatever pieces that comes in.
///
/// # Errors
///
/// What cannot be read.
pub(super) fn open<'r>(raw: impl BufRead + 'r) -> io::Result<(Box<dyn BufRead + 'r>, Coding)> {
    let (head, raw) = peek(raw)?;
    if !head.starts_with(b"\x1f\x8b") {
        refuse_foreign(&head)?;
        let (text, wide) = decoded(head, raw)?;
        return Ok((text, Coding { gzip: false, wide }));
    }
    let (head, unpacked) = peek(BufReader::new(MultiGzDecoder::new(raw)))?;
    refuse_foreign(&head)?;
    let (text, wide) = decoded(head, unpacked)?;
    Ok((text, Coding { gzip: true, wide }))
}

fn refuse_foreign(head: &[u8]) -> io::Result<()> {
    match FOREIGN.iter().find(|(magic, ..)| head.starts_with(magic)) {
        None => Ok(()),
        Some((_, what, hint)) => {
            let sentence =
                format!("The file is {what}, and import reads CSV and JSON. Nothing was imported.");
            Err(io::Error::other(
                Failure::new(Status::Unsupported, sentence).hint(*hint),
            ))
        }
    }
}

/// The first bytes, and all of them.
fn peek<'r>(mut raw: impl BufRead + 'r) -> io::Result<(Vec<u8>, Box<dyn BufRead + 'r>)> {
    let mut head = Vec::with_capacity(HEAD);
    raw.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(raw))))
}

type Text<'r> = (Box<dyn BufRead + 'r>, Option<&'static str>);

fn decoded<'r>(head: Vec<u8>, mut raw: Box<dyn BufRead + 'r>) -> io::Result<Text<'r>> {
    let mut pass_over = |count| raw.by_ref().take(count).read_to_end(&mut Vec::new());
    let big = match head.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => {
            pass_over(3)?;
            return Ok((raw, None));
        }
        [0xff, 0xfe, ..] => {
            pass_over(2)?;
            false
        }
        [0xfe, 0xff, ..] => {
            pass_over(2)?;
            true
        }
        // Without a mark: no text that is read here starts so.
        [a, 0, b, 0, ..] if *a != 0 && *b != 0 => false,
        [0, a, 0, b, ..] if *a != 0 && *b != 0 => true,
        _ => return Ok((raw, None)),
    };
    let text = Utf16 {
        raw,
        big,
        left: Vec::new(),
        text: Cursor::default(),
    };
    let name = if big { "UTF-16BE" } else { "UTF-16LE" };
    Ok((Box::new(text), Some(name)))
}

/// UTF-16 as UTF-8.
struct Utf16<R> {
    raw: R,
    big: bool,
    /// What is not a whole character yet.
    left: Vec<u8>,
    text: Cursor<Vec<u8>>,
}

impl<R: BufRead> BufRead for Utf16<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.text.fill_buf()?.is_empty() {
            let piece = self.raw.fill_buf()?;
            let length = piece.len();
            if length == 0 {
                if !self.left.is_empty() {
                    return Err(not_utf_16());
                }
                break;
            }
            self.left.extend_from_slice(piece);
            self.raw.consume(length);
            let unit = |pair: &[u8; 2]| {
                if self.big {
                    u16::from_be_bytes(*pair)
                } else {
                    u16::from_le_bytes(*pair)
                }
            };
            let (pairs, _) = self.left.as_chunks::<2>();
            let half = |pair: &&[u8; 2]| (0xd800..0xdc00).contains(&unit(pair));
            let whole = pairs.len() - usize::from(pairs.last().as_ref().is_some_and(half));
            let text: Result<String, _> =
                char::decode_utf16(pairs[..whole].iter().map(unit)).collect();
            self.text = Cursor::new(text.map_err(|_| not_utf_16())?.into_bytes());
            self.left.drain(..2 * whole);
        }
        self.text.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.text.consume(length);
    }
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.fill_buf()?;
        self.text.read(out)
    }
}

fn not_utf_16() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not whole UTF-16")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// What is read, in pieces of every size, which all have to agree.
    fn read(bytes: &[u8]) -> Result<(String, Coding), String> {
        let in_pieces = |piece: usize| {
            let (mut text, coding) = open(BufReader::with_capacity(piece, bytes))?;
            let mut all = String::new();
            text.read_to_string(&mut all)?;
            Ok((all, coding))
        };
        let whole = in_pieces(1 << 16).map_err(|error: io::Error| error.to_string());
        for piece in [1, 2, 3, 7] {
            let pieces = in_pieces(piece).map_err(|error| error.to_string());
            assert_eq!(pieces, whole, "in pieces of {piece}");
        }
        whole
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    fn wide(text: &str, big: bool) -> Vec<u8> {
        let bytes = |unit: u16| {
            if big {
                unit.to_be_bytes()
            } else {
                unit.to_le_bytes()
            }
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_and_utf_16_is_read() {
        let plain = |text: &str| Ok((text.to_owned(), Coding::default()));
        assert_eq!(read(b"\xef\xbb\xbfa,b"), plain("a,b"));
        for text in ["", "a", "é", "a,b\n"] {
            assert_eq!(read(text.as_bytes()), plain(text));
        }
        for (big, name) in [(false, "UTF-16LE"), (true, "UTF-16BE")] {
            for text in ["\u{feff}id,🦀\r\né", "id,🦀\r\né", "\u{feff}"] {
                let (read, coding) = read(&wide(text, big)).unwrap();
                assert_eq!(read, text.trim_start_matches('\u{feff}'));
                assert_eq!(coding.wide, Some(name));
            }
        }
        assert!(read(b"\xff\xfea\0b").unwrap_err().contains("UTF-16"));
        assert!(
            read(b"\xff\xfea\0\x00\xd8b\0")
                .unwrap_err()
                .contains("UTF-16")
        );
    }

    #[test]
    fn what_holds_no_rows_as_text_is_named_and_refused() {
        for (magic, what, _) in FOREIGN {
            let refused = read(&[magic, b"\0 and more"].concat()).unwrap_err();
            assert!(refused.contains(what), "{refused}");
            assert!(read(&packed(&[magic, b"\0 and more"].concat())).is_err());
        }
        for text in ["PAR1,PAR2\n", "insert,into\n", "<a>,b\n", "{\"a\":1}"] {
            assert_eq!(read(text.as_bytes()).unwrap().0, text);
        }
    }

    #[test]
    fn what_gzip_packed_is_unpacked_and_what_is_damaged_is_refused() {
        let (text, coding) = read(&packed(&wide("\u{feff}a,b\n", false))).unwrap();
        assert_eq!(
            (text.as_str(), coding.gzip, coding.wide),
            ("a,b\n", true, Some("UTF-16LE"))
        );
        // Two files one after the other are both.
        let two = [packed(b"a\n"), packed(b"b\n")].concat();
        assert_eq!(read(&two).unwrap().0, "a\nb\n");
        let whole = packed(b"a,b\n1,2\n");
        assert!(read(&whole[..whole.len() - 5]).is_err());
        let mut wrong = whole.clone();
        wrong[12] ^= 0x55;
        assert!(read(&wrong).is_err());
    }
}
