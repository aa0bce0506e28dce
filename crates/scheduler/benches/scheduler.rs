//! Measures the scheduler: `cargo bench -p squall-scheduler -- [name …]`.
fn main() {}
