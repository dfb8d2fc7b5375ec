//! The way to sign in with the identity provider, where there is one.

use leptos::prelude::*;

/// The identity provider that the sign-in page offers first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleSignOn {
    /// What people call it.
    pub name: String,
}

impl SingleSignOn {
    /// The link to it, with the place to come back to, and the words before the form of local accounts.
    #[must_use]
    pub fn offer(self, next: &str) -> AnyView {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let place = if next == "/" {
            "/sign-in/oidc".to_owned()
        } else {
            format!("/sign-in/oidc?{}", query.append_pair("next", next).finish())
        };
        view! {
            <div class="sso">
                <a class="button button--primary" href=place>
                    {format!("Sign in with {}", self.name)}
                </a>
                <p class="sso-or">"Or with an account of this console:"</p>
            </div>
        }
        .into_any()
    }
}
