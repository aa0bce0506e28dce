//! The integration tests of the project.
fn main() {}
