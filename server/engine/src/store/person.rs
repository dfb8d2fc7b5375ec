//! People by the name that they are called by: logs keep the email, pages say who that is.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::error::EngineError;

/// What stands between the two people of one decision.
pub const APPROVED_BY: &str = ", approved by ";

/// A person by name, with the email that tells two of one name apart; by email alone where no name
/// is known.
#[must_use]
pub fn called(name: Option<&str>, email: &str) -> String {
    match name {
        Some(name) if name != email => format!("{name} ({email})"),
        _ => email.to_owned(),
    }
}

/// The names of people whom a log names by email.
#[derive(Clone, Debug, Default)]
pub struct People(HashMap<String, String>);

impl People {
    /// The people whom these texts name, in one statement; each text is an email, or two with *approved
    /// by* between them.
    ///
    /// # Errors
    /// The database's.
    pub async fn of(db: &mut PgConnection, said: &[String]) -> Result<Self, EngineError> {
        let mut emails: Vec<String> =
            said.iter().flat_map(|said| said.split(APPROVED_BY)).map(str::to_owned).collect();
        emails.sort_unstable();
        emails.dedup();
        if emails.is_empty() {
            return Ok(Self::default());
        }
        let rows = sqlx::query!("select email, name from staff where email = any($1)", &emails)
            .fetch_all(db)
            .await?;
        Ok(Self(rows.into_iter().map(|row| (row.email, row.name)).collect()))
    }

    /// What a log says of who it was, with the name of each person.
    #[must_use]
    pub fn told(&self, said: &str) -> String {
        let people: Vec<_> = said
            .split(APPROVED_BY)
            .map(|email| called(self.0.get(email).map(String::as_str), email))
            .collect();
        people.join(APPROVED_BY)
    }
}

/// Puts the names of people in the place of the emails that these say, in one statement.
///
/// # Errors
/// The database's.
pub async fn name_all(db: &mut PgConnection, actors: Vec<&mut String>) -> Result<(), EngineError> {
    let said: Vec<String> = actors.iter().map(|actor| (*actor).clone()).collect();
    let people = People::of(db, &said).await?;
    for actor in actors {
        *actor = people.told(actor);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_two_people_is_called_by_name_and_a_stranger_as_the_log_says() {
        let olga = ("olga@acme.test".to_owned(), "Olga Operator".to_owned());
        let people = People([olga].into());
        assert_eq!(people.told("olga@acme.test"), "Olga Operator (olga@acme.test)");
        assert_eq!(
            people.told("olga@acme.test, approved by gone@acme.test"),
            "Olga Operator (olga@acme.test), approved by gone@acme.test"
        );
        assert_eq!(called(Some("olga@acme.test"), "olga@acme.test"), "olga@acme.test");
    }
}
