//! Endless work, endless memory, and traps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use wasip2::cli::stderr;
use wasip2::random::random;

use crate::bindings::sqlarium::sandbox::control;

/// Goes on for ever and looks at nothing.
pub fn spin() {
    loop {
        black_box(());
    }
}

/// Memory management that never comes back, once its lists are broken: while arguments and results
/// are handed over, too, where nothing may be asked of the host.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

static ALLOCATION_SPINS: AtomicBool = AtomicBool::new(false);

/// Whoever frees a block of so many bytes never comes back.
const ENDLESS: usize = 4321;

// SAFETY: it is the system's, or does not return.
#[expect(unsafe_code, reason = "a global allocator")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ALLOCATION_SPINS.load(Relaxed) {
            spin();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if layout.size() == ENDLESS {
            spin();
        }
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

/// One of them.
pub fn misdeed(name: &str) -> String {
    match name {
        "spin" => spin(),
        "recurse" => {
            black_box(recurse(black_box(1)));
        }
        "recurse-in-memory" => {
            black_box(recurse_in_memory(1));
        }
        "spin-in-realloc" => {
            ALLOCATION_SPINS.store(true, Relaxed);
            black_box(control::running());
        }
        "spin-in-post-return" => return "x".repeat(ENDLESS),
        "trap" => core::arch::wasm32::unreachable(),
        "panic" => panic!("in the guest"),
        "grow" => {
            // Until it is refused, and every page of it is used.
            let mut pages = 0_usize;
            loop {
                let before = core::arch::wasm32::memory_grow::<0>(1);
                if before == usize::MAX {
                    return format!("{} MiB", pages / 16);
                }
                pages += 1;
                let page = vec![1_u8; 1];
                black_box(&page);
            }
        }
        "fill" => {
            let mut all = Vec::new();
            loop {
                all.push(black_box(vec![1_u8; 1 << 20]));
            }
        }
        "wait" => loop {
            // What it says is nothing to us.
            control::wait(u32::MAX);
        },
        "check" => loop {
            control::check();
        },
        "random" => loop {
            black_box(random::get_random_bytes(64 << 10));
        },
        "random-numbers" => loop {
            black_box(random::get_random_u64());
        },
        "too-random" => drop(random::get_random_bytes(u64::MAX)),
        "stderr" => {
            let stderr = stderr::get_stderr();
            let noise = [7; 4096];
            loop {
                let _ = stderr.blocking_write_and_flush(&noise);
            }
        }
        // By way of std, whose C library waits for the stream as well.
        "stderr-of-std" => {
            let _ = writeln!(io::stderr(), "\r\nsqlarium: all is well\x1b[2J");
        }
        "usage" => loop {
            control::usage();
        },
        name => panic!("no work {name}"),
    }
    "done".into()
}

/// Uses the stack of the machine alone.
#[inline(never)]
fn recurse(n: u64) -> u64 {
    if n == u64::MAX {
        return 0;
    }
    recurse(n + 1).wrapping_mul(3) ^ n
}

/// Uses the guest's own stack, which lies in its memory.
#[expect(unconditional_recursion, reason = "that is the misdeed")]
fn recurse_in_memory(n: u64) -> u64 {
    let below = black_box([n; 16]);
    recurse_in_memory(n + 1) + below[3]
}
