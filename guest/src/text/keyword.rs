//! SQLite's own list of keywords.

use std::ffi::c_int;

use rusqlite::ffi;

/// Whether a name is a keyword, so that it has to be quoted to be a name.
pub(crate) fn is(name: &str) -> bool {
    let Ok(length) = c_int::try_from(name.len()) else {
        return false;
    };
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: the pointer and the length are those of one string; nothing is kept of it.
    unsafe {
        ffi::sqlite3_keyword_check(name.as_ptr().cast(), length) != 0
    }
}

/// A name as it can stand in SQL: as it is, or in double quotes if it has to.
pub(crate) fn identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !is(name);
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Every keyword, in upper case.
pub(crate) fn all() -> Vec<String> {
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: it takes nothing and reads a constant.
    let count = unsafe { ffi::sqlite3_keyword_count() };
    (0..count).filter_map(at).collect()
}

fn at(index: c_int) -> Option<String> {
    let mut start = std::ptr::null();
    let mut length = 0;
    #[expect(unsafe_code, reason = "rusqlite does not wrap it")]
    // SAFETY: on success `start` points to `length` bytes of a constant of SQLite's,
    // which are copied at once.
    let bytes = unsafe {
        if ffi::sqlite3_keyword_name(index, &raw mut start, &raw mut length) != ffi::SQLITE_OK {
            return None;
        }
        std::slice::from_raw_parts(start.cast::<u8>(), usize::try_from(length).ok()?)
    };
    String::from_utf8(bytes.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_holds_what_the_check_knows() {
        let words = all();
        assert!(words.len() > 100);
        assert!(words.iter().all(|word| is(word)));
        assert!(is("group") && !is("groups_of") && !is(""));
    }
}
