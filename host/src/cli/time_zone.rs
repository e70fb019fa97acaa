//! The owner's time zone, which the C library reads from `TZ` or the machine's own setting.

use std::env;
use std::path::Path;

/// Where the C library looks for zones.
const FOLDERS: [&str; 2] = ["/usr/share/zoneinfo", "/etc/zoneinfo"];

/// A warning, if `TZ` names a zone that this machine does not have: the C library takes UTC then, and says nothing.
pub fn warning() -> Option<String> {
    let name = env::var("TZ").ok()?;
    let zone = name.strip_prefix(':').unwrap_or(&name);
    let folder = env::var("TZDIR").ok();
    let mut folders = folder.as_deref().into_iter().chain(FOLDERS);
    // Without a file it can still be a rule, such as EST5EDT or CET-1CEST,M3.5.0,M10.5.0/3, whose
    // offset is written in digits.
    let digits = zone.contains(|c: char| c.is_ascii_digit());
    let rule = digits && (zone.contains(',') || !zone.contains('/'));
    let known = ["", "UTC", "GMT", "Etc/UTC"].contains(&zone)
        || rule
        || folders.any(|folder| Path::new(folder).join(zone).is_file());
    (!known).then(|| {
        format!(
            "warning: TZ is {name:?}, a time zone that this machine does not know, so local time is UTC; install \
             the system's time zones (tzdata), or give the rule itself, such as TZ=JST-9"
        )
    })
}
