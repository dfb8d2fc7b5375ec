//! A body that a page shows the beginning of, as a whole: masked by the same rules as the page.

use chrono::{DateTime, Utc};
use domain::{
    access::Permission,
    ids::{ConflictId, EventId, MessageId, OperationId, TenantId},
    problem::Code,
};
use sqlx::PgConnection;

use super::{
    body::{unmaskable, whole},
    inbox, outbox,
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    settings::Settings,
    store::{
        Target, answer, conflict_listing, inbox_conflict, inbox_listing, kind, operation,
        outbox_listing,
    },
};

/// Which body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichBody {
    /// What an operation was asked with.
    Payload(OperationId),
    /// What an operation's client gets.
    Answer(OperationId),
    /// What an event tells.
    Event(EventId),
    /// What a message says.
    Message(MessageId),
    /// What a message asks to start.
    Effect(MessageId),
    /// Other content under a message's id, by when it first came.
    OtherMessage(MessageId, DateTime<Utc>),
    /// Another payload under a key, as far as it was kept.
    Conflict(ConflictId),
}

impl Engine {
    /// A body as a whole.
    ///
    /// # Errors
    /// Refused: `permission_missing`, also for what cannot be masked; `not_found`, also where it has
    /// expired, and the same for another tenant's.
    pub async fn whole_body(
        &self,
        by: &StaffCaller,
        which: WhichBody,
    ) -> Result<Vec<u8>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let found = match which {
                WhichBody::Payload(id) => {
                    let target = Target { tenant, id };
                    let payload = answer::payload(&mut tx, target).await?;
                    with(payload, of_operation(&mut tx, target).await?)
                }
                WhichBody::Answer(id) => {
                    let target = Target { tenant, id };
                    let stored = answer::find(&mut tx, target).await?;
                    with(stored.map(|stored| stored.body), of_operation(&mut tx, target).await?)
                }
                WhichBody::Event(id) => event(&mut tx, tenant, id).await?,
                WhichBody::Message(id) | WhichBody::Effect(id) | WhichBody::OtherMessage(id, _) => {
                    message(&mut tx, &engine.settings, tenant, id, which).await?
                }
                WhichBody::Conflict(id) => conflict(&mut tx, tenant, id).await?,
            };
            tx.commit().await?;
            let (bytes, pointers) = found.ok_or_else(|| EngineError::refused(Code::NotFound))?;
            Ok(whole(bytes, &pointers.ok_or_else(unmaskable)?)?.0)
        })
        .await
    }
}

/// Bytes, and what nobody may see of them: `None` where nobody can say it any more.
type Found = Option<(Vec<u8>, Option<Vec<String>>)>;

fn with(bytes: Option<Vec<u8>>, pointers: Option<Vec<String>>) -> Found {
    bytes.map(|bytes| (bytes, pointers))
}

/// The masked fields of an operation's kind; an operation that is none of the console's has no kind.
async fn of_operation(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<Vec<String>>, EngineError> {
    let Some(name) = operation::kind_name(db, target).await? else {
        return Err(EngineError::refused(Code::NotFound));
    };
    let kind = kind::find(db, target.tenant, &name).await?;
    Ok(kind.map(|kind| kind.masked_pointers))
}

async fn event(db: &mut PgConnection, tenant: TenantId, id: EventId) -> Result<Found, EngineError> {
    let row = outbox_listing::rows(db, tenant, &[id.uuid()]).await?.pop();
    let (Some(row), Some(more)) = (row, outbox_listing::more(db, tenant, id).await?) else {
        return Ok(None);
    };
    let pointers = outbox::masked_pointers(db, tenant, row.operation_id).await?;
    Ok(Some((more.payload, pointers)))
}

async fn message(
    db: &mut PgConnection,
    settings: &Settings,
    tenant: TenantId,
    id: MessageId,
    which: WhichBody,
) -> Result<Found, EngineError> {
    let row = inbox_listing::rows(db, tenant, &[id]).await?.pop();
    let (Some(row), Some(bodies)) = (row, inbox_listing::bodies(db, tenant, id).await?) else {
        return Ok(None);
    };
    let pointers = inbox::pointers_of(db, settings, tenant, &row, &bodies).await?;
    Ok(match which {
        WhichBody::Effect(_) => with(bodies.effect.clone(), Some(inbox::in_effect(&pointers))),
        WhichBody::OtherMessage(_, first_at) => {
            let others = inbox_conflict::of(db, tenant, id).await?;
            let other = others.into_iter().find(|other| other.first_at == first_at);
            with(other.and_then(|other| other.payload), Some(pointers))
        }
        _ => with(bodies.payload.clone(), Some(pointers)),
    })
}

async fn conflict(
    db: &mut PgConnection,
    tenant: TenantId,
    id: ConflictId,
) -> Result<Found, EngineError> {
    let row = conflict_listing::rows(db, tenant, &[id.uuid()]).await?.pop();
    let compared = conflict_listing::compared(db, tenant, id).await?;
    let (Some(row), Some(compared)) = (row, compared) else { return Ok(None) };
    let pointers = of_operation(db, Target { tenant, id: row.operation_id }).await?;
    Ok(with(compared.stored.payload, pointers))
}
