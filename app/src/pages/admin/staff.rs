//! `/admin/staff`: the people of the tenant and what each is.

use leptos::prelude::*;
use leptos_meta::Title;

use super::member::standing_of;
use crate::{
    api::{
        admin::{MemberInForce, members},
        reading::Reading,
    },
    components::{
        data_table::{Column, DataTable},
        mark::MarkBadge,
        notice::FailedPart,
    },
    error::ConsoleError,
};

const COLUMNS: &[Column] = &[
    ("Account", "col-status"),
    ("Who", "col-key"),
    ("Email", "col-words"),
    ("Role", "col-taken"),
    ("Second factor", "col-name"),
];

/// The list of people.
#[component]
pub fn StaffPage() -> impl IntoView {
    let people = Reading::new(members);
    view! {
        <Title text="Staff · Onceover"/>
        <header class="page-head"><h1 class="page-title">"Staff"</h1></header>
        {Suspend::new(async move { listed(people.await) })}
    }
    .into_any()
}

fn listed(people: Result<Vec<MemberInForce>, ConsoleError>) -> AnyView {
    match people {
        Ok(people) => {
            let rows = people.into_iter().map(row).collect();
            view! { <DataTable caption="People of this tenant, by email" columns=COLUMNS rows/> }
                .into_any()
        }
        Err(error) => view! { <FailedPart error again="/admin/staff"/> }.into_any(),
    }
}

fn row(member: MemberInForce) -> AnyView {
    view! {
        <tr class="row" role="row">
            <td role="cell" class="col-status" data-label="account"><MarkBadge mark=standing_of(&member)/></td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/admin/staff/{}", member.id)>{member.name}</a>
            </td>
            <td role="cell" class="col-words cell-sub">{member.email}</td>
            <td role="cell" class="col-taken" data-label="role">{member.role.as_str()}</td>
            <td role="cell" class="col-name" data-label="second factor">{if member.second_factor { "on" } else { "off" }}</td>
        </tr>
    }
    .into_any()
}
