//! The route table. Every route is rendered whole on the server (`SsrMode::Async`): title, status
//! and data are right before the first byte, and nothing needs scripts.

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::{
    SsrMode,
    components::{ParentRoute, Route, Router, Routes},
    path,
};

use crate::{
    components::layout::Layout,
    pages::{
        admin, approvals,
        audit::AuditPage,
        bulks,
        compensations::{UndoFormPage, UndoPage},
        conflicts,
        help::HelpPage,
        inbox, incidents,
        leases::LeasesPage,
        me::MePage,
        not_found::NotFoundPage,
        operations::{DetailPage, EvidenceFormPage, FormPage, ListPage},
        outbox,
        overview::OverviewPage,
        receipts::ReceiptPage,
        reveal,
        search::SearchPage,
        second_factor::SecondFactorPage,
        sign_in::SignInPage,
        sign_in_code::SignInCodePage,
        step_up::StepUpPage,
        tokens,
        views::ViewsPage,
        workflows,
    },
};

/// The console.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    view! {
        <Router>
            <Routes fallback=NotFoundPage>
                <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async/>
                <Route path=path!("/sign-in/code") view=SignInCodePage ssr=SsrMode::Async/>
                <Route path=path!("/step-up") view=StepUpPage ssr=SsrMode::Async/>
                <ParentRoute path=path!("") view=Layout ssr=SsrMode::Async>
                    <Route path=path!("") view=OverviewPage ssr=SsrMode::Async/>
                    <Route path=path!("/operations") view=ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/operations/:id") view=DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/operations/:id/evidence") view=EvidenceFormPage ssr=SsrMode::Async/>
                    <Route path=path!("/operations/:id/reveal") view=reveal::OperationFormPage ssr=SsrMode::Async/>
                    <Route path=path!("/operations/:id/:verb") view=FormPage ssr=SsrMode::Async/>
                    <Route path=path!("/workflows") view=workflows::ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/workflows/:id") view=workflows::DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/workflows/:id/reveal") view=reveal::ArtifactFormPage ssr=SsrMode::Async/>
                    <Route path=path!("/workflows/:id/:verb") view=workflows::FormPage ssr=SsrMode::Async/>
                    <Route path=path!("/compensations/:id") view=UndoPage ssr=SsrMode::Async/>
                    <Route path=path!("/compensations/:id/:verb") view=UndoFormPage ssr=SsrMode::Async/>
                    <Route path=path!("/outbox") view=outbox::ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/outbox/:id") view=outbox::DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/outbox/:id/reveal") view=reveal::EventFormPage ssr=SsrMode::Async/>
                    <Route path=path!("/outbox/:id/:verb") view=outbox::FormPage ssr=SsrMode::Async/>
                    <Route path=path!("/inbox") view=inbox::ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/inbox/:id") view=inbox::DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/inbox/:id/reveal") view=reveal::MessageFormPage ssr=SsrMode::Async/>
                    <Route path=path!("/inbox/:id/:verb") view=inbox::FormPage ssr=SsrMode::Async/>
                    <Route path=path!("/conflicts") view=conflicts::ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/conflicts/:id") view=conflicts::DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/approvals") view=approvals::ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/approvals/:id") view=approvals::DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/approvals/:id/:verb") view=approvals::FormPage ssr=SsrMode::Async/>
                    <Route path=path!("/incidents") view=incidents::ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/incidents/gather") view=incidents::GatherPage ssr=SsrMode::Async/>
                    <Route path=path!("/incidents/:id") view=incidents::DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/incidents/:id/report") view=incidents::ReportPage ssr=SsrMode::Async/>
                    <Route path=path!("/incidents/:id/:verb") view=incidents::FormPage ssr=SsrMode::Async/>
                    <Route path=path!("/bulks") view=bulks::ListPage ssr=SsrMode::Async/>
                    <Route path=path!("/bulks/:id") view=bulks::DetailPage ssr=SsrMode::Async/>
                    <Route path=path!("/bulks/:id/:verb") view=bulks::FormPage ssr=SsrMode::Async/>
                    <Route path=path!("/audit") view=AuditPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/kinds") view=admin::KindsPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/new-kind") view=admin::NewKindPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/kinds/:name/put_kind") view=admin::PolicyFormPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/kinds/:name") view=admin::KindPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/staff") view=admin::StaffPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/staff/:id") view=admin::MemberPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/staff/:id/:verb") view=admin::GrantPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/tokens") view=tokens::TokensPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/new-token") view=tokens::NewServicePage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/tokens/:id") view=tokens::TokenPage ssr=SsrMode::Async/>
                    <Route path=path!("/admin/tokens/:id/:verb") view=tokens::RevokePage ssr=SsrMode::Async/>
                    <Route path=path!("/tokens/made") view=tokens::MadePage ssr=SsrMode::Async/>
                    <Route path=path!("/leases") view=LeasesPage ssr=SsrMode::Async/>
                    <Route path=path!("/reveals/:id") view=reveal::ShownPage ssr=SsrMode::Async/>
                    <Route path=path!("/receipts/:id") view=ReceiptPage ssr=SsrMode::Async/>
                    <Route path=path!("/me") view=MePage ssr=SsrMode::Async/>
                    <Route path=path!("/me/new-token") view=tokens::NewOwnPage ssr=SsrMode::Async/>
                    <Route path=path!("/me/second-factor") view=SecondFactorPage ssr=SsrMode::Async/>
                    <Route path=path!("/search") view=SearchPage ssr=SsrMode::Async/>
                    <Route path=path!("/views") view=ViewsPage ssr=SsrMode::Async/>
                    <Route path=path!("/help") view=HelpPage ssr=SsrMode::Async/>
                </ParentRoute>
            </Routes>
        </Router>
    }
}
