//! The file of an import, which is read twice: first to see how it is written and what it holds.

use std::io::{BufRead, Read as _, Write as _};

use super::columns::{ColumnType, Split, looks_like_data};
use super::input::{self, Coding};
use super::json::{Keys, Objects};
use super::plan::{Plan, Target, is_padded};
use super::records::{Problem, Record, Records};
use super::sniff::{Layout, SAMPLE, Said};
use super::{Header, Job};
use crate::answer::failure::Failure;
use crate::storage::streams::{Files, Reader, STREAM, Spool};

/// A file that can be read again.
pub(super) enum Source {
    /// It can be opened again.
    File,
    /// Standard input, copied into a temporary file.
    Stream(Box<Spool>),
}

/// The records of a file.
pub(super) enum Rows<'r> {
    Fields(Records<Box<dyn BufRead + 'r>>),
    Objects(Box<Objects<Box<dyn BufRead + 'r>>>),
}

impl Rows<'_> {
    /// Reads the next record; false at the end.
    ///
    /// # Errors
    ///
    /// What cannot be read, or is no record.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool, Problem> {
        match self {
            Self::Fields(records) => records.next(record),
            Self::Objects(objects) => objects.next(record),
        }
    }
}

impl Source {
    /// The file of this name; standard input is read to its end.
    pub(super) fn new(file: &str, files: &Files) -> Result<Self, Failure> {
        if file != STREAM {
            return Ok(Self::File);
        }
        let mut spool = Box::new(files.spool()?);
        copy(files, &mut files.read(file)?, &mut spool)?;
        Ok(Self::Stream(spool))
    }

    fn text<'s>(&'s mut self, job: &Job<'_>) -> Result<(Box<dyn BufRead + 's>, Coding), Failure> {
        let opened = match self {
            Self::File => input::open(job.files.read(job.file)?),
            Self::Stream(spool) => spool.read().and_then(input::open),
        };
        opened.map_err(|error| job.problem(Problem::Read(error)))
    }

    /// How it is written.
    pub(super) fn layout(&mut self, job: &Job<'_>, said: Said<'_>) -> Result<Layout, Failure> {
        let (text, coding) = self.text(job)?;
        let mut sample = Vec::new();
        text.take(SAMPLE as u64)
            .read_to_end(&mut sample)
            .map_err(|error| job.problem(Problem::Read(error)))?;
        Ok(Layout::of(&sample, sample.len() < SAMPLE, coding, said))
    }

    /// The records from the start, behind those to skip.
    pub(super) fn rows<'s>(&'s mut self, job: &Job<'_>) -> Result<Rows<'s>, Failure> {
        self.rows_with(job, Keys::default())
    }

    fn rows_with<'s>(&'s mut self, job: &Job<'_>, keys: Keys) -> Result<Rows<'s>, Failure> {
        let (text, _) = self.text(job)?;
        let mut rows = match job.layout.dialect {
            Some(dialect) => Rows::Fields(Records::new(text, dialect, job.most)),
            None => Rows::Objects(Box::new(Objects::new(text, job.most, keys))),
        };
        let mut record = Record::default();
        for _ in 0..job
            .skip
            .saturating_add(u64::from(job.layout.names_separator))
        {
            if !job.read(&mut rows, &mut record)? {
                break;
            }
        }
        Ok(rows)
    }

    /// What goes where. For a new table, and for objects, all of it is read for this.
    pub(super) fn plan(&mut self, job: &Job<'_>, target: Option<&Target>) -> Result<Plan, Failure> {
        let mut rows = self.rows(job)?;
        let mut record = Record::default();
        if !job.read_first(&mut rows, &mut record)? {
            return Err(job.nothing());
        }
        let line = record.line;
        if let (Some(target), false) = (target, job.is_json()) {
            let mut second = Record::default();
            let any = job.header == Header::Unsaid && job.read(&mut rows, &mut second)?;
            return job.fit(target, &record, any.then_some(&second));
        }
        let width = record.len();
        job.check_width(line, width)?;
        let headed = match job.header {
            _ if job.is_json() => false,
            Header::Names => true,
            Header::Data => false,
            Header::Unsaid => !looks_like_data(&record),
        };
        let header: Vec<Option<String>> = (0..width)
            .map(|index| record.field(index).filter(|_| headed).map(str::to_owned))
            .collect();
        let mut kinds = vec![ColumnType::Nothing; width];
        let mut data = !headed;
        let mut split = (width == 1 && job.layout.dialect.is_some()).then(|| Split::of(&record));
        loop {
            if data {
                if record.len() > kinds.len() && !job.is_json() {
                    return Err(job.too_many(&record, width));
                }
                kinds.resize(kinds.len().max(record.len()), ColumnType::Nothing);
                for (index, kind) in kinds.iter_mut().enumerate() {
                    if job.is_json() {
                        *kind = kind.with(record.cell(index));
                    } else if *kind != ColumnType::Text
                        && let Some(field) = record.field(index)
                    {
                        *kind = kind.join(ColumnType::of(field));
                    }
                }
            }
            data = true;
            if !job.read(&mut rows, &mut record)? {
                break;
            }
            if let Some(split) = &mut split {
                split.compare(&record);
            }
        }
        let Rows::Objects(objects) = rows else {
            let names = || header.iter().map(Option::as_deref);
            return Ok(Plan {
                trimmed: names().flatten().any(is_padded),
                splits_at: split.and_then(|split| split.found()),
                ..Plan::make(names(), &kinds, headed)
            });
        };
        let keys = objects.keys.names();
        if keys.is_empty() {
            return Err(job.nothing());
        }
        match target {
            Some(target) => job.fit_names(target, line, keys),
            None => Ok(Plan::make(
                keys.iter().map(|key| Some(key.as_str())),
                &kinds,
                false,
            )),
        }
    }
}

fn copy(files: &Files, from: &mut Reader, to: &mut Spool) -> Result<(), Failure> {
    loop {
        let piece = from.fill_buf().map_err(|error| files.failure(&error))?;
        if piece.is_empty() {
            return to.flush().map_err(|error| files.failure(&error));
        }
        let length = piece.len();
        to.write_all(piece).map_err(|error| files.failure(&error))?;
        from.consume(length);
    }
}
