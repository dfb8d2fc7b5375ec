//! Bearer tokens of the JSON API: the tenant's, one's own, the form that makes one, and the one page that
//! shows its text.

mod detail;
mod form;
mod list;
mod made;
mod own;

pub use detail::{RevokePage, TokenPage};
pub use form::{NewOwnPage, NewServicePage};
pub use list::TokensPage;
pub use made::MadePage;
pub use own::OwnTokens;
