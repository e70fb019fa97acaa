//! Writes what the fuzzers start from into the folder that `SQLARIUM_SEEDS` names, and ends. It is a fuzzer
//! itself, so that it links what the others do.

#![no_main]

use std::path::PathBuf;
use std::process::exit;

use libfuzzer_sys::fuzz_target;

fn write() {
    let corpus = std::env::var_os("SQLARIUM_SEEDS").map(PathBuf::from);
    match corpus.map(|corpus| sqlarium_fuzz::seeds::write(&corpus)) {
        Some(Ok(())) => exit(0),
        Some(Err(error)) => eprintln!("{error}"),
        None => eprintln!("SQLARIUM_SEEDS names no folder"),
    }
    exit(1)
}

fuzz_target!(init: write(), |_input: &[u8]| {});
