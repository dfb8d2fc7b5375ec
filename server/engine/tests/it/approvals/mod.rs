//! Four eyes (A5 to A7, T23, T24): what takes two people waits for the second, is carried out once,
//! and nobody gets around it.

mod corrected;
mod policy;
mod settling;
mod since;
mod tampered;
mod told;
mod waiting;

use std::time::Duration;

use domain::{
    access::Role,
    action::{Outcome, Subject, TargetType, Verb},
    approval::ApprovalStatus,
    ids::{ApprovalId, OperationId},
    listing::ApprovalFilter,
    problem::Code,
    view::ApprovalView,
};
use engine::{
    Acted, ActionRequest, EngineError, FinishOutcome, RequestOrigin, Settling, StaffCaller,
    identity::Admin,
};

use crate::evidence::{done as says_done, webhook};
use crate::fixture::{Fixture, action, asked, code, done, happened, person, won};

const LARGE: &str = r#"{"invoice_id":"INV-9","amount_minor":50000,"currency":"EUR"}"#;

/// A tenant with a requester and two who may approve.
struct Scene {
    fixture: Fixture,
    operator: StaffCaller,
    ada: StaffCaller,
    ben: StaffCaller,
}

impl Scene {
    async fn open() -> Self {
        let fixture = Fixture::new().await;
        let operator = fixture.person("operator", Role::Operator).await;
        let ada = fixture.person("ada", Role::Approver).await;
        let ben = fixture.person("ben", Role::Approver).await;
        Self { fixture, operator, ada, ben }
    }

    /// An unknown charge from the kind's threshold on.
    async fn large(&self, key: &str) -> (OperationId, i64) {
        let fixture = &self.fixture;
        let (id, fence) = won(fixture.reserve_as(key, LARGE).await.unwrap());
        fixture.engine.start(&fixture.service, id, fence).await.unwrap();
        fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
        fixture.engine.reconcile_due().await.unwrap();
        (id, self.version(id).await)
    }

    async fn version(&self, id: OperationId) -> i64 {
        let fixture = &self.fixture;
        fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version
    }

    async fn ask(&self, request: ActionRequest) -> ApprovalView {
        asked(self.fixture.engine.act(&self.operator, request).await)
    }

    async fn approve(&self, by: &StaffCaller, id: ApprovalId) -> Result<Acted, EngineError> {
        self.fixture.engine.approve(by, id, Settling::default()).await
    }

    async fn state(&self, id: ApprovalId) -> ApprovalStatus {
        self.fixture.engine.approval(&self.operator, id).await.unwrap().status
    }

    async fn count(&self, sql: &'static str) -> i64 {
        self.fixture.count(sql).await
    }
}

const DECIDED: &str = "select count(*) from audit where action = 'confirm' and result = 'done'";
const SETTLED: &str = "select count(*) from operation_events where move in ('O21', 'O22', 'O23')";
const RECEIPTS: &str = "select count(*) from operations where console";

fn because(reason: &str) -> Settling {
    Settling { version: Some(1), reason: reason.into() }
}

async fn second_token(scene: &Scene, admin: &mut Admin, email: &str) -> StaffCaller {
    let name = format!("t{}", scene.count("select count(*) from tokens").await);
    let token = admin.add_staff_token(email, "acme", &name, None).await.unwrap();
    match scene.fixture.engine.caller_by_bearer(&token, RequestOrigin::here("r-9")).await.unwrap() {
        Some(engine::Caller::Staff(staff)) => staff,
        other => panic!("not a person: {other:?}"),
    }
}
