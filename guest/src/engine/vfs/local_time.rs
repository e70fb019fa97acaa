//! The owner's local time, for the modifiers `localtime` and `utc` of SQLite's date functions. The sandbox
//! has no time zones of its own, so that its C library would answer UTC.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use rusqlite::ffi;

/// The offset of local time from UTC at a time since 1970, both in seconds.
pub(crate) type OffsetAt = fn(i64) -> i32;

static OFFSET_AT: OnceLock<OffsetAt> = OnceLock::new();

unsafe extern "C" {
    fn gmtime_r(time: *const i64, parts: *mut c_void) -> *mut c_void;
}

/// Lets SQLite take local time from `offset_at`: for good, and for the whole process.
pub(crate) fn set(offset_at: OffsetAt) {
    OFFSET_AT.get_or_init(|| offset_at);
    let local_time: unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int = local_time;
    // SAFETY: 2 asks SQLite to call the function that follows instead of `localtime_r`; it lives for good.
    unsafe {
        ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_LOCALTIME_FAULT, 2 as c_int, local_time);
    }
}

/// As `localtime_r`; 0 is success.
unsafe extern "C" fn local_time(time: *const c_void, parts: *mut c_void) -> c_int {
    let Some(offset_at) = OFFSET_AT.get() else {
        return 1;
    };
    // SAFETY: SQLite passes a `time_t`, of 64 bits on every platform that this is built for, and a `struct tm`.
    unsafe {
        let time = time.cast::<i64>().read();
        let local = time.saturating_add(offset_at(time).into());
        c_int::from(gmtime_r(&raw const local, parts).is_null())
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// A zone with summer time from April to September of each year, as SQLite sees them.
    fn summer(seconds: i64) -> i32 {
        let day = seconds.rem_euclid(365 * 86_400) / 86_400;
        if (90..270).contains(&day) {
            7_200
        } else {
            3_600
        }
    }

    #[test]
    fn local_time_is_what_the_host_says_and_utc_takes_it_back() {
        set(summer);
        let connection = Connection::open_in_memory().unwrap();
        let answer = |sql: &str| {
            connection
                .query_row(&format!("SELECT {sql}"), [], |row| row.get::<_, String>(0))
                .unwrap()
        };
        for (sql, right) in [
            (
                "datetime(0, 'unixepoch', 'localtime')",
                "1970-01-01 01:00:00",
            ),
            ("datetime('1970-07-01', 'localtime')", "1970-07-01 02:00:00"),
            ("datetime('1970-07-01', 'utc')", "1970-06-30 22:00:00"),
            (
                "datetime('1970-07-01', 'localtime', 'utc')",
                "1970-07-01 00:00:00",
            ),
            (
                "strftime('%H:%M:%f', '1970-01-01 10:20:30.456', 'localtime')",
                "11:20:30.456",
            ),
            ("datetime('0000-01-01', 'localtime')", "0000-01-01 01:00:00"),
            ("datetime('9999-12-31', 'utc')", "9999-12-30 23:00:00"),
        ] {
            assert_eq!(answer(sql), right, "{sql}");
        }
    }
}
