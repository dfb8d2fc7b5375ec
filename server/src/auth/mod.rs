//! Who a person is: passwords, sessions, and what needs one.
//!
//! What a person may do is not decided here: every engine command asks for its right itself.

pub(crate) mod form;
pub mod password;
pub mod preferences;
pub mod session;
pub mod sign_in;
