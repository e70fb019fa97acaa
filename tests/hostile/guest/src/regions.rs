//! Regions of shared memory, put where they must not be and taken away at the wrong time.

use std::alloc::{Layout, alloc_zeroed};

use crate::Dice;
use crate::bindings::sqlarium::sandbox::direct_io;
use crate::bindings::sqlarium::sandbox::shared_memory::{
    LockAction, barrier, lock, map_region, unmap,
};
use crate::bindings::sqlarium::sandbox::storage::{File, LockLevel, exists};
use crate::files::{Tally, served};

const REGION: usize = 32768;

/// Regions of a large buffer.
const PLACES: usize = 24;

/// A buffer whose every page can be part of a region. Never given back, since the host may
/// still have a region there.
fn buffer() -> &'static [u8] {
    let layout = Layout::from_size_align(PLACES * REGION, 65536).expect("a layout");
    // SAFETY: the layout is not empty, and the memory stays for good.
    #[expect(unsafe_code, reason = "aligned memory")]
    unsafe {
        std::slice::from_raw_parts(alloc_zeroed(layout), layout.size())
    }
}

/// Buffers of every wrong shape, and regions of every wrong number.
pub fn bad(database: &str) -> String {
    let file = served(database);
    let buffer = buffer();
    let mut tally = Tally::default();
    let good = &buffer[..REGION];
    tally.count("unlocked", map_region(&file, 0, good, true));
    file.lock(LockLevel::Shared).expect("a lock");
    for (what, place) in [
        ("odd", &buffer[1..=REGION]),
        ("eight", &buffer[8..REGION + 8]),
        ("short", &buffer[..REGION - 1]),
        ("long", &buffer[..REGION + 1]),
        ("double", &buffer[..2 * REGION]),
        ("empty", &buffer[..0]),
        ("all", buffer),
    ] {
        tally.count(what, map_region(&file, 0, place, true));
    }
    for region in [8192, 1 << 20, 1 << 31, u32::MAX] {
        tally.count("far", map_region(&file, region, good, true));
        tally.count("far", map_region(&file, region, good, false));
    }
    tally.report()
}

/// Maps, unmaps, grows, stores, locks and closes in any order, with regions that overlap.
pub fn storm(database: &str, seed: u64, count: u64) -> String {
    let mut dice = Dice(seed);
    let mut tally = Tally::default();
    let buffer = buffer();
    let mut files: Vec<File> = (0..3).map(|_| served(database)).collect();
    for _ in 0..count {
        let at = dice.below(3) as usize;
        let file = &files[at];
        match dice.below(12) {
            0..=3 => {
                let _ = file.lock(LockLevel::Shared);
                let page = dice.below(((PLACES - 1) * REGION / 4096) as u64) as usize * 4096;
                let region = dice.below(6) as u32;
                let place = &buffer[page..page + REGION];
                tally.count("map", map_region(file, region, place, dice.below(2) == 0));
            }
            4 => _ = tally.count("unmap", unmap(file, dice.below(2) == 0)),
            5 => files[at] = served(database),
            6 => {
                let slot = dice.below(8) as u32;
                let action = match dice.below(4) {
                    0 => LockAction::LockShared,
                    1 => LockAction::LockExclusive,
                    2 => LockAction::UnlockShared,
                    _ => LockAction::UnlockExclusive,
                };
                tally.count("slot", lock(file, slot, 1, action));
            }
            7 => {
                core::arch::wasm32::memory_grow::<0>(1);
            }
            8 => {
                // Files and regions at once: what is written comes from shared memory.
                let from = dice.below((PLACES - 1) as u64) as usize * REGION;
                drop(file.read(0, 4096));
                let _ = exists(&String::from_utf8_lossy(&buffer[from..from + 100]), false);
                let _ = file.write(1 << 40, &buffer[from..from + REGION]);
                let _ = direct_io::read(file, 0, &buffer[from..from + 4096]);
            }
            9 => _ = tally.count("unlock", file.unlock(LockLevel::None)),
            10 => barrier(file),
            _ => {
                let place = dice.below((PLACES * REGION) as u64) as usize;
                // SAFETY: inside the buffer, which belongs to no one else in here.
                #[expect(unsafe_code, reason = "the buffer is shared with other processes")]
                unsafe {
                    let at = buffer.as_ptr().add(place).cast_mut();
                    at.write_volatile(at.read_volatile().wrapping_add(1));
                }
            }
        }
    }
    tally.report()
}
