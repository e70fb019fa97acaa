//! Vectors: how they are stored, and how far apart they are.
//!
//! A vector is a blob of little-endian 32-bit floats, the layout of sqlite-vec, or a JSON array.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ffi::{c_char, c_int};
use std::ptr;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ffi};
// Brings the library's C code.
use sqlite_vec as _;

/// The most numbers that a vector may have.
pub(crate) const MOST: usize = 1 << 16;

/// What is meant by near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// One minus the cosine of the angle between both.
    Cosine,
    /// The Euclidean distance.
    L2,
    /// The dot product, negative, so that less is nearer as with the others.
    Dot,
}

/// A number as it is stored: a little-endian 32-bit float.
pub(crate) type Float = [u8; 4];

/// What a value of a column is, seen as a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored<'a> {
    /// Its numbers.
    Vector(&'a [Float]),
    /// NULL.
    Nothing,
    /// A blob of so many bytes, which are no whole number of floats.
    Odd(usize),
    /// Text that is no JSON array of numbers.
    NoArray,
    /// A number.
    Number,
}

/// Reads a value; what is not stored as floats becomes such in `buffer`.
pub(crate) fn read<'a>(value: ValueRef<'a>, buffer: &'a mut Vec<Float>) -> Stored<'a> {
    match value {
        ValueRef::Null => Stored::Nothing,
        ValueRef::Integer(_) | ValueRef::Real(_) => Stored::Number,
        ValueRef::Blob(bytes) => match bytes.as_chunks() {
            (floats, []) if !floats.is_empty() => Stored::Vector(floats),
            _ => Stored::Odd(bytes.len()),
        },
        ValueRef::Text(text) => match serde_json::from_slice::<Vec<f32>>(text) {
            Ok(numbers) if !numbers.is_empty() => {
                buffer.clear();
                buffer.extend(numbers.into_iter().map(f32::to_le_bytes));
                Stored::Vector(buffer)
            }
            _ => Stored::NoArray,
        },
    }
}

/// Sums are kept apart in lanes, so that a processor need not wait for each addition.
const LANES: usize = 4;

/// Adds up two terms of each pair of numbers.
#[inline(always)]
fn sums(a: &[f32], b: &[Float], terms: impl Fn(f32, f32) -> (f32, f32)) -> (f32, f32) {
    let (mut first, mut second) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let (chunks_a, rest_a) = a.as_chunks::<LANES>();
    let (chunks_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in chunks_a.iter().zip(chunks_b) {
        for lane in 0..LANES {
            let (one, two) = terms(a[lane], f32::from_le_bytes(b[lane]));
            first[lane] += one;
            second[lane] += two;
        }
    }
    for (a, b) in rest_a.iter().zip(rest_b) {
        let (one, two) = terms(*a, f32::from_le_bytes(*b));
        first[0] += one;
        second[0] += two;
    }
    (first.iter().sum(), second.iter().sum())
}

/// A vector to compare others with.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    numbers: Vec<f32>,
    measure: Measure,
    length: f32,
}

impl Probe {
    /// `None` if it has no direction, and the measure needs one.
    pub(crate) fn new(numbers: Vec<f32>, measure: Measure) -> Option<Self> {
        let length = numbers
            .iter()
            .map(|number| number * number)
            .sum::<f32>()
            .sqrt();
        (measure != Measure::Cosine || length > 0.0).then_some(Self {
            numbers,
            measure,
            length,
        })
    }

    /// How many numbers it has.
    pub(crate) fn dimensions(&self) -> usize {
        self.numbers.len()
    }

    /// The distance of a vector of as many numbers; `None` if it has none.
    ///
    /// Not by sqlite-vec's functions: there is none for the dot product, and in the sandbox that for the
    /// cosine takes 1.7 times as long.
    pub(crate) fn distance(&self, other: &[Float]) -> Option<f64> {
        let numbers = self.numbers.as_slice();
        let distance = match self.measure {
            Measure::Dot => -sums(numbers, other, |a, b| (a * b, 0.0)).0,
            Measure::L2 => sums(numbers, other, |a, b| ((a - b) * (a - b), 0.0))
                .0
                .sqrt(),
            Measure::Cosine => {
                let (dot, square) = sums(numbers, other, |a, b| (a * b, b * b));
                1.0 - dot / (self.length * square.sqrt())
            }
        };
        (!distance.is_nan()).then_some(f64::from(distance))
    }
}

/// One of the nearest, ordered by its distance.
#[derive(Debug)]
struct Near<T>(f64, T);

impl<T> Ord for Near<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl<T> PartialOrd for Near<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Near<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Near<T> {}

/// The nearest so far, no more than were asked for.
#[derive(Debug)]
pub(crate) struct Nearest<T> {
    most: usize,
    heap: BinaryHeap<Near<T>>,
}

impl<T> Nearest<T> {
    /// The `most` nearest.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            heap: BinaryHeap::new(),
        }
    }

    /// Offers one; what it is, is asked only if it is kept.
    pub(crate) fn offer<E>(
        &mut self,
        distance: f64,
        what: impl FnOnce() -> Result<T, E>,
    ) -> Result<(), E> {
        if self.heap.len() < self.most {
            self.heap.push(Near(distance, what()?));
        } else if let Some(mut farthest) = self.heap.peek_mut()
            && distance < farthest.0
        {
            *farthest = Near(distance, what()?);
        }
        Ok(())
    }

    /// Those that were kept with their distances, the nearest first.
    pub(crate) fn finish(self) -> impl Iterator<Item = (f64, T)> {
        let sorted = self.heap.into_sorted_vec().into_iter();
        sorted.map(|Near(distance, what)| (distance, what))
    }
}

// The crate declares it without its arguments, which WebAssembly does not let pass.
#[expect(unsafe_code, reason = "a C library")]
unsafe extern "C" {
    fn sqlite3_vec_init(
        db: *mut ffi::sqlite3,
        message: *mut *mut c_char,
        routines: *const ffi::sqlite3_api_routines,
    ) -> c_int;
}

/// Gives a connection the functions and tables of sqlite-vec.
///
/// # Errors
///
/// SQLite's, if memory is used up.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let mut message = ptr::null_mut();
    // SAFETY: the connection is open; the library is linked in, so it needs no routines; a message
    // is allocated by SQLite and is ours to free.
    #[expect(unsafe_code, reason = "a C library")]
    let code = unsafe {
        let code = sqlite3_vec_init(connection.handle(), &raw mut message, ptr::null());
        ffi::sqlite3_free(message.cast());
        code
    };
    if code == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(numbers: &[f32]) -> Vec<Float> {
        numbers.iter().map(|number| number.to_le_bytes()).collect()
    }

    fn distance(measure: Measure, a: &[f32], b: &[f32]) -> f64 {
        Probe::new(a.to_vec(), measure)
            .unwrap()
            .distance(&floats(b))
            .unwrap()
    }

    #[test]
    fn distances_are_those_of_sqlite_vec() {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        for dimensions in [1, 7, 8, 9, 384] {
            let vector = |seed: usize| -> Vec<f32> {
                (0..dimensions)
                    .map(|at| ((at * 37 + seed * 11) % 101) as f32 / 50.0 - 0.9)
                    .collect()
            };
            let (a, b) = (vector(1), vector(5));
            let blob = |v: &[f32]| -> Vec<u8> { v.iter().flat_map(|f| f.to_le_bytes()).collect() };
            for (measure, function) in [
                (Measure::Cosine, "vec_distance_cosine"),
                (Measure::L2, "vec_distance_l2"),
            ] {
                let theirs: f64 = connection
                    .query_row(
                        &format!("SELECT {function}(?1, ?2)"),
                        [blob(&a), blob(&b)],
                        |row| row.get(0),
                    )
                    .unwrap();
                let ours = distance(measure, &a, &b);
                assert!(
                    (ours - theirs).abs() < 1e-4,
                    "{measure:?} of {dimensions}: {ours} {theirs}"
                );
            }
        }
        assert_eq!(
            distance(Measure::Dot, &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]),
            -32.0
        );
    }

    #[test]
    fn the_nearest_are_kept_in_order_whatever_order_they_come_in() {
        let mut nearest = Nearest::new(5);
        for n in 0..1_000_u32 {
            let distance = f64::from(n * 7_919 % 1_000) - 2.0;
            nearest.offer(distance, || Ok::<_, ()>(n)).unwrap();
        }
        let kept: Vec<f64> = nearest.finish().map(|(distance, _)| distance).collect();
        assert_eq!(kept, [-2.0, -1.0, 0.0, 1.0, 2.0]);
    }

    #[test]
    fn a_vector_is_a_blob_of_floats_or_a_json_array() {
        let mut buffer = Vec::new();
        let blob = ValueRef::Blob(&[0, 0, 128, 63, 0, 0, 0, 64]);
        assert_eq!(
            read(blob, &mut buffer),
            Stored::Vector(&floats(&[1.0, 2.0]))
        );
        let text = ValueRef::Text(b" [1, -2.5e0]");
        assert_eq!(
            read(text, &mut buffer),
            Stored::Vector(&floats(&[1.0, -2.5]))
        );
        for (value, stored) in [
            (ValueRef::Null, Stored::Nothing),
            (ValueRef::Integer(1), Stored::Number),
            (ValueRef::Blob(&[1, 2, 3]), Stored::Odd(3)),
            (ValueRef::Blob(&[]), Stored::Odd(0)),
            (ValueRef::Text(b"[]"), Stored::NoArray),
            (ValueRef::Text(b"[1, \"x\"]"), Stored::NoArray),
            (ValueRef::Text(b"\xff"), Stored::NoArray),
        ] {
            assert_eq!(read(value, &mut buffer), stored);
        }
    }

    #[test]
    fn a_vector_without_direction_has_no_cosine() {
        assert!(Probe::new(vec![0.0, 0.0], Measure::Cosine).is_none());
        let probe = Probe::new(vec![1.0, 0.0], Measure::Cosine).unwrap();
        assert_eq!(probe.distance(&floats(&[0.0, 0.0])), None);
        assert_eq!(probe.distance(&floats(&[0.0, 2.0])), Some(1.0));
        assert_eq!(probe.dimensions(), 2);
    }
}
