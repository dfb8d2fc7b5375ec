//! Who a person is: passwords, sessions, and what needs one.
//!
//! What a person may do is not decided here: every engine command asks for its right itself.

pub mod account;
pub mod cookie;
pub(crate) mod form;
pub mod oidc;
pub mod origin;
pub mod password;
pub mod preferences;
pub mod second_factor;
pub mod session;
pub mod sign_in;
pub mod sign_in_code;
pub mod step_up;
