//! Times and sizes, as a person writes them.

use std::time::Duration;

/// The least memory, in bytes, in which everyday calls are answered.
const LEAST_MEMORY: u64 = 8 << 20;

/// `60s`, `1m 30s`, `500ms`; a bare number is seconds.
pub fn time_or_none(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    // Far enough, and safe to add to any clock.
    Ok(parsed?.min(Duration::from_secs(365 * 24 * 3600)))
}

/// A time that is not zero.
pub fn time(text: &str) -> Result<Duration, String> {
    match time_or_none(text)? {
        Duration::ZERO => Err("a time budget of zero would stop every call".into()),
        time => Ok(time),
    }
}

/// `256M`, `1GiB`, `65536`, in bytes; K, M and G are powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let size = parse_size::Config::new()
        .with_binary()
        .parse_size(text)
        .map_err(|error| format!("{error}; write it like 65536, 256M or 1G"))?;
    if size == 0 {
        Err("a budget of zero would stop every call".into())
    } else {
        Ok(size)
    }
}

/// A size in which SQLite and the rest of the component fit.
pub fn memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        size if size < LEAST_MEMORY => Err(format!(
            "the sandbox itself needs memory; give {}M or more",
            LEAST_MEMORY >> 20
        )),
        size => Ok(size),
    }
}

/// `60 s`, `1.5 s`, `200 ms`.
pub fn show_time(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{} s", time.as_secs_f64())
    }
}

/// `256 MiB`, `1 GiB`, `1000 bytes`.
pub fn show_size(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift && bytes.trailing_zeros() >= shift {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} bytes")
}
