//! SQLite's session extension (<https://www.sqlite.org/sessionintro.html>): what rows a connection
//! changes, and taking that back.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use rusqlite::{Connection, ffi};

/// Records every row of `main` that its connection changes, by whatever statement or trigger.
#[derive(Debug)]
pub(crate) struct Recorder<'c> {
    session: *mut ffi::sqlite3_session,
    /// Tables that are passed over; SQLite holds its address.
    #[expect(clippy::box_collection, reason = "it must stay where it is")]
    except: Box<BTreeSet<String>>,
    connection: PhantomData<&'c Connection>,
}

/// What became of rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Rows that were not there before.
    pub inserted: u64,
    /// Rows that hold other values.
    pub updated: u64,
    /// Rows that are gone.
    pub deleted: u64,
}

impl Counts {
    /// Adds what became of other rows.
    pub(crate) fn add(&mut self, other: Self) {
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

/// Changed rows, as they were and as they are.
#[derive(Debug)]
pub(crate) struct Changeset {
    bytes: Bytes,
}

/// Where the bytes of a changeset are: large ones are not copied from SQLite's memory to ours.
#[derive(Debug)]
enum Bytes {
    Ours(Vec<u8>),
    Theirs { start: *mut c_void, length: usize },
}

impl Drop for Bytes {
    fn drop(&mut self) {
        if let Self::Theirs { start, .. } = self {
            // SAFETY: SQLite allocated it and left it to us; nothing points there any more.
            #[expect(unsafe_code, reason = "SQLite's C interface")]
            unsafe {
                ffi::sqlite3_free(*start);
            }
        }
    }
}

/// Why a changeset was not reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The table of the first row in the way; none for a reference between tables.
    pub table: Option<String>,
    /// What is in the way.
    pub kind: ConflictKind,
}

/// What is in the way of taking a change back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictKind {
    /// A row holds other values by now.
    Changed,
    /// A row is no longer there.
    Gone,
    /// A row is there again.
    Back,
    /// A constraint of the schema would be violated.
    Constraint,
    /// A foreign key would be violated.
    Reference,
}

impl<'c> Recorder<'c> {
    /// Starts to record, all tables but `except` and their parts.
    ///
    /// # Errors
    ///
    /// SQLite's, if memory is used up.
    pub(crate) fn start(
        connection: &'c Connection,
        except: &BTreeSet<String>,
    ) -> rusqlite::Result<Self> {
        let mut session = ptr::null_mut();
        // SAFETY: the connection is open for as long as the recorder lives, by the lifetime;
        // the name is a C string; `session` takes the pointer.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        let created = unsafe {
            ffi::sqlite3session_create(connection.handle(), c"main".as_ptr(), &raw mut session)
        };
        check(created)?;
        let recorder = Self {
            session,
            except: Box::new(except.clone()),
            connection: PhantomData,
        };
        let mut on: c_int = 1;
        // SAFETY: the session was created above; the option takes an int in and out; a null
        // table means every table.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        unsafe {
            // Tables without a primary key are recorded by their rowid.
            check(ffi::sqlite3session_object_config(
                session,
                ffi::SQLITE_SESSION_OBJCONFIG_ROWID,
                (&raw mut on).cast(),
            ))?;
            check(ffi::sqlite3session_attach(session, ptr::null()))?;
        }
        if !recorder.except.is_empty() {
            let except: *const BTreeSet<String> = &raw const *recorder.except;
            // SAFETY: the box is neither changed nor moved from until `drop` has deleted the session.
            #[expect(unsafe_code, reason = "SQLite's C interface")]
            unsafe {
                ffi::sqlite3session_table_filter(session, Some(wanted), except.cast_mut().cast());
            }
        }
        Ok(recorder)
    }

    /// What was changed so far, first against last: a row that was changed and changed back is not in it.
    ///
    /// # Errors
    ///
    /// SQLite's: `SQLITE_NOMEM` if there was too much to record.
    pub(crate) fn changes(&self) -> rusqlite::Result<Changeset> {
        let (mut length, mut bytes): (c_int, *mut c_void) = (0, ptr::null_mut());
        // SAFETY: the session lives; both are taken by pointer.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        let rc =
            unsafe { ffi::sqlite3session_changeset(self.session, &raw mut length, &raw mut bytes) };
        let bytes = if bytes.is_null() {
            Bytes::Ours(Vec::new())
        } else {
            Bytes::Theirs {
                start: bytes,
                length: usize::try_from(length).unwrap_or_default(),
            }
        };
        check(rc)?;
        Ok(Changeset { bytes })
    }
}

impl Drop for Recorder<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created by `start`, is deleted here alone, and its connection is still open.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        unsafe {
            ffi::sqlite3session_delete(self.session);
        }
    }
}

impl From<Vec<u8>> for Changeset {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Bytes::Ours(bytes),
        }
    }
}

impl Changeset {
    /// Its bytes, in SQLite's own form.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Ours(bytes) => bytes,
            Bytes::Theirs { start, length } => {
                // SAFETY: SQLite allocated and filled so many bytes there, which are freed with `self`.
                #[expect(unsafe_code, reason = "SQLite's C interface")]
                unsafe {
                    std::slice::from_raw_parts(start.cast::<u8>(), *length)
                }
            }
        }
    }

    /// Whether nothing was changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    /// How many rows of each table were changed.
    ///
    /// # Errors
    ///
    /// SQLite's, if the bytes are damaged.
    pub(crate) fn counts(&self) -> rusqlite::Result<BTreeMap<String, Counts>> {
        let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
        let mut iterator = ptr::null_mut();
        let length = length(self.bytes())?;
        // SAFETY: the bytes outlive the iterator, which is finalised below and only reads them.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        check(unsafe {
            ffi::sqlite3changeset_start(
                &raw mut iterator,
                length,
                self.bytes().as_ptr().cast_mut().cast(),
            )
        })?;
        loop {
            // SAFETY: the iterator was started and not finalised.
            #[expect(unsafe_code, reason = "SQLite's C interface")]
            if unsafe { ffi::sqlite3changeset_next(iterator) } != ffi::SQLITE_ROW {
                break;
            }
            if let Some((table, operation)) = change(iterator) {
                let counts = counts.entry(table).or_default();
                match operation {
                    ffi::SQLITE_INSERT => counts.inserted += 1,
                    ffi::SQLITE_DELETE => counts.deleted += 1,
                    _ => counts.updated += 1,
                }
            }
        }
        // SAFETY: as above; it is not used afterwards. An error on the way is reported here.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        check(unsafe { ffi::sqlite3changeset_finalize(iterator) })?;
        Ok(counts)
    }

    /// Takes the changes back, all of them or none; what is in the way is the answer.
    ///
    /// No action of a foreign key is taken: what such an action did is recorded like the rest. The
    /// caller sees that no trigger fires, for the same reason.
    ///
    /// # Errors
    ///
    /// SQLite's, if it is not about conflicts.
    pub(crate) fn revert(&self, connection: &Connection) -> rusqlite::Result<Result<(), Conflict>> {
        self.apply(
            connection,
            ffi::SQLITE_CHANGESETAPPLY_INVERT | ffi::SQLITE_CHANGESETAPPLY_FKNOACTION,
        )
    }

    /// Makes the changes once more, all of them or none.
    ///
    /// # Errors
    ///
    /// As for [`Changeset::revert`].
    pub(crate) fn make(&self, connection: &Connection) -> rusqlite::Result<Result<(), Conflict>> {
        self.apply(connection, ffi::SQLITE_CHANGESETAPPLY_FKNOACTION)
    }

    fn apply(
        &self,
        connection: &Connection,
        flags: c_int,
    ) -> rusqlite::Result<Result<(), Conflict>> {
        let mut conflict: Option<Conflict> = None;
        let length = length(self.bytes())?;
        // SAFETY: the connection is open; the bytes and `conflict` outlive the call, which only
        // reads the bytes and hands `conflict` to `on_conflict` alone.
        #[expect(unsafe_code, reason = "SQLite's C interface")]
        let rc = unsafe {
            ffi::sqlite3changeset_apply_v2(
                connection.handle(),
                length,
                self.bytes().as_ptr().cast_mut().cast(),
                None,
                Some(on_conflict),
                (&raw mut conflict).cast(),
                ptr::null_mut(),
                ptr::null_mut(),
                flags,
            )
        };
        match conflict {
            Some(conflict) => Ok(Err(conflict)),
            None => check(rc).map(Ok),
        }
    }
}

/// Whether a table is recorded, given the names of those that are not.
extern "C" fn wanted(except: *mut c_void, table: *const c_char) -> c_int {
    // SAFETY: `start` passes its own set, which outlives the session; SQLite passes a C string.
    #[expect(unsafe_code, reason = "SQLite's C interface")]
    let (except, table) = unsafe { (&*except.cast::<BTreeSet<String>>(), CStr::from_ptr(table)) };
    let table = table.to_string_lossy();
    let left_out = except.iter().any(|name| {
        table
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
            && matches!(table.as_bytes().get(name.len()), None | Some(b'_'))
    });
    (!left_out).into()
}

/// Remembers the first conflict and gives up.
extern "C" fn on_conflict(
    context: *mut c_void,
    kind: c_int,
    iterator: *mut ffi::sqlite3_changeset_iter,
) -> c_int {
    // SAFETY: `apply` passes its own `Option<Conflict>`, which lives until SQLite returns.
    #[expect(unsafe_code, reason = "SQLite's C interface")]
    let conflict = unsafe { &mut *context.cast::<Option<Conflict>>() };
    let kind = match kind {
        ffi::SQLITE_CHANGESET_DATA => ConflictKind::Changed,
        ffi::SQLITE_CHANGESET_NOTFOUND => ConflictKind::Gone,
        ffi::SQLITE_CHANGESET_CONFLICT => ConflictKind::Back,
        ffi::SQLITE_CHANGESET_FOREIGN_KEY => ConflictKind::Reference,
        _ => ConflictKind::Constraint,
    };
    let table = match kind {
        // There is no change at hand then.
        ConflictKind::Reference => None,
        _ => change(iterator).map(|(table, _)| table),
    };
    conflict.get_or_insert(Conflict { table, kind });
    ffi::SQLITE_CHANGESET_ABORT
}

/// The table and the operation of the change at hand.
fn change(iterator: *mut ffi::sqlite3_changeset_iter) -> Option<(String, c_int)> {
    let mut table: *const c_char = ptr::null();
    let (mut columns, mut operation, mut indirect) = (0, 0, 0);
    // SAFETY: both callers stand on a change; the name lives until the iterator moves on.
    #[expect(unsafe_code, reason = "SQLite's C interface")]
    unsafe {
        let rc = ffi::sqlite3changeset_op(
            iterator,
            &raw mut table,
            &raw mut columns,
            &raw mut operation,
            &raw mut indirect,
        );
        (rc == ffi::SQLITE_OK && !table.is_null()).then(|| {
            let table = CStr::from_ptr(table).to_string_lossy().into_owned();
            (table, operation)
        })
    }
}

fn length(bytes: &[u8]) -> rusqlite::Result<c_int> {
    c_int::try_from(bytes.len()).map_err(|_| failed(ffi::SQLITE_TOOBIG))
}

fn check(code: c_int) -> rusqlite::Result<()> {
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(failed(code))
    }
}

fn failed(code: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}
