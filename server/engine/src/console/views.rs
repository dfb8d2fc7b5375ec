//! Views of lists that people keep: private ones for themselves, shared ones for the team.
//!
//! Guards against a view that says more than its list: it is a part of an address, read again by the
//! list's own filter whenever it is opened, and holds no row.

use domain::{
    access::Permission,
    listing::{List, Parts},
    problem::Code,
    view::SavedView,
};
use uuid::Uuid;

use super::told::entry;
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    store::{
        audit,
        saved_view::{self, MAX_VIEWS, Shelf},
    },
};

/// The longest name of a view, in characters.
const MAX_NAME: usize = 80;
/// What the audit log calls a view.
const VIEW: &str = "saved_view";

impl Engine {
    /// The views of a list that a person sees: the own ones and those that others share.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn saved_views(
        &self,
        by: &StaffCaller,
        list: List,
    ) -> Result<Vec<SavedView>, EngineError> {
        by.require(list.right())?;
        let (engine, shelf) = (self.clone(), shelf(by, list));
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(shelf.tenant).await?;
            let views = saved_view::of(&mut tx, shelf).await?;
            tx.commit().await?;
            Ok(views)
        })
        .await
    }

    /// Keeps a view of a list. One of the same person and name is replaced, so that sending it twice
    /// changes nothing. What is shared, or no longer, is in the audit log; a private view is not.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`; `filter_invalid` for a query that the list
    /// cannot read; `unprocessable` for a name that does not fit or the one beyond the bound.
    pub async fn save_view(
        &self,
        by: &StaffCaller,
        list: List,
        name: &str,
        parts: Vec<(String, String)>,
        query: &str,
        shared: bool,
    ) -> Result<(), EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        let (name, query) = (name.trim().to_owned(), query.to_owned());
        Self::detached(async move {
            let saved = engine.save_view_untold(&by, list, &name, parts, &query, shared).await;
            engine.told(&by, "save_view", (VIEW, list.as_str()), saved).await
        })
        .await
    }

    async fn save_view_untold(
        &self,
        by: &StaffCaller,
        list: List,
        name: &str,
        parts: Vec<(String, String)>,
        query: &str,
        shared: bool,
    ) -> Result<(), EngineError> {
        by.require(list.right())?;
        may_share(by, shared)?;
        fits(name)?;
        let most = self.settings.limits.filter_chars;
        if query.chars().count() > most {
            let detail = format!("a view has at most {most} characters");
            return Err(EngineError::field(Code::FilterInvalid, "query", detail));
        }
        let read = || domain::listing::ListQuery::read(list, &mut Parts::new(parts)?);
        read().map_err(|bad| {
            EngineError::field(Code::FilterInvalid, &bad.name, bad.why.to_string())
        })?;
        let shelf = shelf(by, list);
        let mut tx = self.pools.begin_console(shelf.tenant).await?;
        saved_view::lock(&mut tx, shelf).await?;
        let before = saved_view::named(&mut tx, shelf, name).await?;
        if before.is_none() && saved_view::count(&mut tx, shelf).await? >= MAX_VIEWS {
            let detail = format!("a person keeps at most {MAX_VIEWS} views of a list");
            return Err(EngineError::field(Code::Unprocessable, "name", detail));
        }
        saved_view::save(&mut tx, shelf, name, query, shared).await?;
        let was_shared = before.is_some_and(|(_, shared)| shared);
        tell_team(&mut tx, by, name, was_shared, shared).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Gives an own view another name, shares it or takes it back.
    ///
    /// # Errors
    /// Refused, with one audit row: `not_found` also for a view of another person;
    /// `permission_missing`; `unprocessable` for a name that does not fit or that another own view of
    /// the list has.
    pub async fn change_view(
        &self,
        by: &StaffCaller,
        id: Uuid,
        name: &str,
        shared: bool,
    ) -> Result<(), EngineError> {
        let (engine, by, name) = (self.clone(), by.clone(), name.trim().to_owned());
        Self::detached(async move {
            let changed = engine.change_view_untold(&by, id, &name, shared).await;
            engine.told(&by, "change_view", (VIEW, &id.to_string()), changed).await
        })
        .await
    }

    async fn change_view_untold(
        &self,
        by: &StaffCaller,
        id: Uuid,
        name: &str,
        shared: bool,
    ) -> Result<(), EngineError> {
        by.require(Permission::Read)?;
        fits(name)?;
        let (mut tx, shelf, was_shared) = self.own_view(by, id).await?;
        if !was_shared {
            may_share(by, shared)?;
        }
        let namesake = saved_view::named(&mut tx, shelf, name).await?;
        if namesake.is_some_and(|(other, _)| other != id) {
            let detail = "you have another view of that name";
            return Err(EngineError::field(Code::Unprocessable, "name", detail));
        }
        saved_view::change(&mut tx, shelf, id, name, shared).await?;
        tell_team(&mut tx, by, name, was_shared, shared).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Throws an own view away.
    ///
    /// # Errors
    /// Refused, with one audit row: `not_found` also for a view of another person.
    pub async fn delete_view(&self, by: &StaffCaller, id: Uuid) -> Result<(), EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let gone = engine.delete_view_untold(&by, id).await;
            engine.told(&by, "delete_view", (VIEW, &id.to_string()), gone).await
        })
        .await
    }

    async fn delete_view_untold(&self, by: &StaffCaller, id: Uuid) -> Result<(), EngineError> {
        by.require(Permission::Read)?;
        let (mut tx, shelf, was_shared) = self.own_view(by, id).await?;
        saved_view::delete(&mut tx, shelf, id).await?;
        tell_team(&mut tx, by, &id.to_string(), was_shared, false).await?;
        tx.commit().await?;
        Ok(())
    }

    /// An own view under its lock: where it stands, and whether it is shared.
    async fn own_view(&self, by: &StaffCaller, id: Uuid) -> Result<(Tx, Shelf, bool), EngineError> {
        let not_found = || EngineError::refused(Code::NotFound);
        let (tenant, staff) = (by.tenant_id(), by.staff_id());
        let mut tx = self.pools.begin_console(tenant).await?;
        let (list, _) = saved_view::own(&mut tx, tenant, staff, id).await?.ok_or_else(not_found)?;
        let shelf = shelf(by, list);
        saved_view::lock(&mut tx, shelf).await?;
        // Again under the lock: the first look only said which one to take.
        let (_, shared) =
            saved_view::own(&mut tx, tenant, staff, id).await?.ok_or_else(not_found)?;
        Ok((tx, shelf, shared))
    }
}

const fn shelf(by: &StaffCaller, list: List) -> Shelf {
    Shelf { tenant: by.tenant_id(), staff: by.staff_id(), list }
}

fn may_share(by: &StaffCaller, shared: bool) -> Result<(), EngineError> {
    if shared { by.require(Permission::ShareViews) } else { Ok(()) }
}

/// A name that can be told from others at a glance: no control characters, and nothing that turns the
/// direction of what follows.
fn fits(name: &str) -> Result<(), EngineError> {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let length = name.chars().count();
    if (1..=MAX_NAME).contains(&length) && !name.chars().any(|c| c.is_control() || turns(c)) {
        return Ok(());
    }
    let detail = format!("a name has 1 to {MAX_NAME} characters, none of them a control character");
    Err(EngineError::field(Code::Unprocessable, "name", detail))
}

/// One audit row where what the team sees has changed.
async fn tell_team(
    tx: &mut Tx,
    by: &StaffCaller,
    name: &str,
    before: bool,
    after: bool,
) -> Result<(), EngineError> {
    let action = match (before, after) {
        (false, false) => return Ok(()),
        (_, true) => "share_view",
        (true, false) => "take_back_view",
    };
    audit::add(tx, entry(by, action, (VIEW, name), None)).await
}
