//! The migrations are embedded by a macro that cargo cannot look into.

fn main() {
    println!("cargo:rerun-if-changed=../../../migrations/postgres");
    println!("cargo:rerun-if-changed=../../../migrations/sqlite");
}
