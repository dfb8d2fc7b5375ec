//! The engine against a real database, one per test; instants move by the database's clock, never
//! by waiting.

mod actions;
mod evidence;
mod expiry;
mod fixture;
mod life;
mod lists;
mod moves;
mod plans;
mod reserve;
mod tenants;
