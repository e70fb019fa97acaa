//! Functions of C's library that SQLite spends its time in, a word at a time: wasi-libc's go byte by byte,
//! and each turn of a loop is counted.
//!
//! In WebAssembly they take the place of the library's, since the linker sees them first. Those that
//! look for an end read the words that hold the text, by their alignment: no byte beyond the page of
//! memory that the end is in.

#![expect(unsafe_code, reason = "they stand in for C's own")]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

/// The bytes of a word.
const WORD: usize = size_of::<u64>();

/// A word of one byte, repeated.
const fn repeat(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; WORD])
}

/// Marks bytes that are zero by their highest bit, and perhaps others, but none before the first of them.
const fn zeros(word: u64) -> u64 {
    let word = u64::from_le(word);
    word.wrapping_sub(repeat(0x01)) & !word & repeat(0x80)
}

/// Where the first byte lies that is marked.
const fn first(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

/// How far from `text` the first byte is that is marked, if it is less than `length` bytes. `marks` gets
/// words, and what sets each byte of a word that is not part of the text.
///
/// # Safety
///
/// Up to there the text can be read.
#[inline(always)]
unsafe fn find(text: *const u8, length: usize, marks: impl Fn(u64, u64) -> u64) -> Option<usize> {
    let before = text.addr() % WORD;
    let mut at = text.wrapping_sub(before).cast::<u64>();
    let mut outside = !(u64::MAX << (before * 8)).to_le();
    // From `text` to the word; wraps for the first one.
    let mut distance = 0_usize.wrapping_sub(before);
    loop {
        // SAFETY: the word holds a byte of the text, and so lies in the same page of memory.
        let marked = marks(unsafe { at.read() }, outside);
        if marked != 0 {
            let found = distance.wrapping_add(first(marked));
            return (found < length).then_some(found);
        }
        distance = distance.wrapping_add(WORD);
        if distance >= length {
            return None;
        }
        at = at.wrapping_add(1);
        outside = 0;
    }
}

/// Which of two words comes first, as bytes in memory.
fn order(left: u64, right: u64) -> c_int {
    u64::from_be(left).cmp(&u64::from_be(right)) as c_int
}

/// # Safety
///
/// As in C: `length` bytes of both can be read.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
unsafe extern "C" fn memcmp(left: *const c_void, right: *const c_void, length: usize) -> c_int {
    let (left, right) = (left.cast::<u8>(), right.cast::<u8>());
    // SAFETY: everything that is read lies before `length`.
    unsafe {
        let byte = |from: *const u8, at: usize| *from.add(at);
        let half = |from: *const u8, at| u64::from(from.add(at).cast::<u32>().read_unaligned());
        let word = |from: *const u8, at| from.add(at).cast::<u64>().read_unaligned();
        match length {
            0 => 0,
            // The first, the middle and the last, which may be the same.
            1..4 => {
                let bytes = |from| [0, length / 2, length - 1].map(|at| byte(from, at));
                bytes(left).cmp(&bytes(right)) as c_int
            }
            // The first and the last half of a word, which may overlap.
            4..8 => {
                let (a, b) = (half(left, 0), half(right, 0));
                if a != b {
                    return order(a, b);
                }
                order(half(left, length - 4), half(right, length - 4))
            }
            _ => {
                let last = length - WORD;
                let mut at = 0;
                while at < last {
                    let (a, b) = (word(left, at), word(right, at));
                    if a != b {
                        return order(a, b);
                    }
                    at += WORD;
                }
                order(word(left, last), word(right, last))
            }
        }
    }
}

/// # Safety
///
/// As in C: `length` bytes can be read, or as many as there are up to the first `byte`.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
unsafe extern "C" fn memchr(text: *const c_void, byte: c_int, length: usize) -> *mut c_void {
    // C takes an int, and means the byte.
    let pattern = repeat(byte as u8);
    if length == 0 {
        return null_mut();
    }
    // SAFETY: by the caller.
    let found = unsafe {
        find(text.cast(), length, |word, outside| {
            zeros((word ^ pattern) | outside)
        })
    };
    found.map_or(null_mut(), |at| text.wrapping_byte_add(at).cast_mut())
}

/// # Safety
///
/// As in C: a NUL ends the text.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    // SAFETY: by the caller.
    unsafe {
        find(text.cast(), usize::MAX, |word, outside| {
            zeros(word | outside)
        })
    }
    .unwrap_or(usize::MAX)
}

/// # Safety
///
/// As in C: a NUL ends both.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
unsafe extern "C" fn strcspn(text: *const c_char, reject: *const c_char) -> usize {
    let (text, reject) = (text.cast::<u8>(), reject.cast::<u8>());
    // SAFETY: nothing behind the NUL of `reject` is read, and by the caller.
    unsafe {
        let one = *reject;
        let two = if one == 0 { 0 } else { *reject.add(1) };
        if two == 0 || *reject.add(2) == 0 {
            let (one, two) = (repeat(one), repeat(two));
            let marks = |word, outside| {
                zeros(word | outside)
                    | zeros((word ^ one) | outside)
                    | zeros((word ^ two) | outside)
            };
            return find(text, usize::MAX, marks).unwrap_or(usize::MAX);
        }
        let mut set = [false; 256];
        set[0] = true;
        let mut at = reject;
        while *at != 0 {
            set[usize::from(*at)] = true;
            at = at.add(1);
        }
        let mut length = 0;
        while !set[usize::from(*text.add(length))] {
            length += 1;
        }
        length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of a few letters and of bytes with the highest bit, each within a longer one, at every place of a word.
    fn texts() -> impl Iterator<Item = (Vec<u64>, usize, usize)> {
        let mut state = 7_u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        (0..20_000).map(move |_| {
            let letters = [0x00, 0x01, 0x7f, 0x80, 0xff, b'a', b'b', b'%'];
            let words = (0..8)
                .map(|_| u64::from_le_bytes(std::array::from_fn(|_| letters[random(8) as usize])));
            let words = words.collect();
            (words, random(16) as usize, random(40) as usize)
        })
    }

    fn bytes(words: &[u64]) -> &[u8] {
        // SAFETY: any bytes are bytes.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
    }

    #[test]
    fn bytes_compare_as_in_c() {
        let mut before = vec![0; 8];
        for (words, at, length) in texts() {
            let (left, right) = (&bytes(&words)[at..], &bytes(&before)[at / 2..]);
            for (left, right) in [(left, right), (left, left), (&left[length / 2..], left)] {
                let length = length.min(left.len());
                // SAFETY: both are as long.
                let found = unsafe { memcmp(left.as_ptr().cast(), right.as_ptr().cast(), length) };
                assert_eq!(
                    found.signum(),
                    left[..length].cmp(&right[..length]) as c_int,
                    "{left:?} {right:?} {length}"
                );
            }
            before = words;
        }
    }

    #[test]
    fn bytes_are_found_as_in_c() {
        for (words, at, length) in texts() {
            let text = &bytes(&words)[at..];
            for byte in [0x00, 0x01, 0x80, b'a', b'x'] {
                // SAFETY: the text is longer; a byte may be any int.
                let found =
                    unsafe { memchr(text.as_ptr().cast(), c_int::from(byte) - 256, length) };
                let expected = text[..length].iter().position(|&there| there == byte);
                let distance = (!found.is_null()).then(|| found.addr() - text.as_ptr().addr());
                assert_eq!(distance, expected, "{text:?} {byte} {length}");
            }
        }
    }

    #[test]
    fn ends_are_found_as_in_c() {
        for (mut words, at, _) in texts() {
            words.push(0);
            let text = &bytes(&words)[at..];
            // SAFETY: a NUL ends it.
            let length = unsafe { strlen(text.as_ptr().cast()) };
            assert_eq!(Some(length), text.iter().position(|&byte| byte == 0));
            for reject in [
                c"",
                c"a",
                c"%",
                c"ab",
                c"aA",
                c"\x80\xff",
                c"ab%",
                c"ax%\x7f",
            ] {
                // SAFETY: a NUL ends both.
                let found = unsafe { strcspn(text.as_ptr().cast(), reject.as_ptr()) };
                let set = reject.to_bytes_with_nul();
                assert_eq!(
                    Some(found),
                    text.iter().position(|byte| set.contains(byte)),
                    "{text:?} {reject:?}"
                );
            }
        }
    }
}
