//! Options of the linker for the command.
//!
//! The binary has tens of thousands of addresses in tables, which the dynamic linker relocates at each start. In the
//! packed form (`DT_RELR`, glibc 2.36), their list takes a fiftieth of the space, and the start reads that much less.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        // Linkers that do not know it ignore an option after `-z`.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
