//! T16: signing in with an identity provider, and every answer of one that must not open a session.

mod again;
mod answers;
mod description;
mod provider;
mod rights;
mod scene;
