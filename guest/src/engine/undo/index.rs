//! The index of a write-ahead log (<https://www.sqlite.org/walformat.html#the_wal_index_file_format>):
//! the state of the database, and where the log has its pages.

use super::tap::{OpenFile, REGION};

/// Length of the part of the header that tells one state of the database from all others, in bytes:
/// the number of its pages, and the checksum over all frames of the log. It stays when the log is
/// begun anew (`WalIndexHdr`, `walRestartHdr` in SQLite's `wal.c`).
pub(super) const STATE: usize = 12;
/// Where the header has the number of frames, and that state behind it.
const FRAMES_AT: usize = 16;
/// What comes before the first region's frames, in bytes.
const HEADER: usize = 136;
/// How many frames a region has, and how many slots the hash table behind them.
const FRAMES: usize = 4096;
const SLOTS: usize = 8192;

/// A log as it is at the begin of a write, which no one else changes until its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    database: OpenFile,
    /// Frames of the log that count.
    frames: u32,
    /// The state of the database.
    pub(super) state: [u8; STATE],
}

/// The state of a database with a write-ahead log, which every commit changes and no checkpoint.
/// None where the index is not shared.
pub(super) fn state(database: OpenFile) -> Option<[u8; STATE]> {
    Index::look(database).map(|index| index.state)
}

impl Index {
    pub(super) fn look(database: OpenFile) -> Option<Self> {
        let mut header = [0; 4 + STATE];
        let found = database.read_index(FRAMES_AT, &mut header);
        found.then(|| {
            let (frames, state) = header.split_at(4);
            Self {
                database,
                frames: number(frames),
                state: state.try_into().unwrap_or_default(),
            }
        })
    }

    /// How many pages the database has; 0 if the log does not tell.
    pub(super) fn pages(&self) -> u32 {
        number(&self.state[..4])
    }

    /// The last frame that holds a page, from 1; none if it is in the database's file. Fails where
    /// the index is damaged.
    pub(super) fn frame(&self, page: u32) -> Result<Option<u32>, Damaged> {
        if self.frames == 0 {
            return Ok(None);
        }
        // The first region has fewer, since the header is in their place.
        let first = FRAMES - HEADER / 4;
        let last = (self.frames as usize + FRAMES - first - 1) / FRAMES;
        for region in (0..=last).rev() {
            let (begin, skipped) = match region {
                0 => (HEADER, 0),
                _ => (0, first + (region - 1) * FRAMES),
            };
            let mut found = None;
            let mut slot = page as usize * 383 % SLOTS;
            for _ in 0..=SLOTS {
                let mut place = [0; 2];
                self.read(region * REGION + FRAMES * 4 + slot * 2, &mut place)?;
                let place = usize::from(u16::from_ne_bytes(place));
                if place == 0 {
                    break;
                }
                if skipped + place <= self.frames as usize {
                    let mut holds = [0; 4];
                    self.read(region * REGION + begin + (place - 1) * 4, &mut holds)?;
                    if number(&holds) == page {
                        found = Some((skipped + place) as u32);
                    }
                }
                slot = (slot + 1) % SLOTS;
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn read(&self, offset: usize, buffer: &mut [u8]) -> Result<(), Damaged> {
        self.database
            .read_index(offset, buffer)
            .then_some(())
            .ok_or(Damaged)
    }
}

/// An index that is not as SQLite makes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damaged;

fn number(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_ne_bytes)
}
