//! Tells cargo to rebuild when the embedded migrations change, which it cannot detect through the macro.

fn main() {
    println!("cargo:rerun-if-changed=../../../migrations/postgres");
    println!("cargo:rerun-if-changed=../../../migrations/sqlite");
}
