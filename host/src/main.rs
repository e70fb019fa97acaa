//! x
#[expect(dead_code, reason = "used once the sandbox is there")]
mod storage;
fn main() {}
