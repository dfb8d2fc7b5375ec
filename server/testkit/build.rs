//! Rebuilds the crate when a migration is added: `sqlx::migrate!` alone sees only
//! changes to files it has read before.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
