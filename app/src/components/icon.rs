//! The console's own icons: strokes on a grid of sixteen, coloured by the text around them.
//!
//! An icon never stands alone for a state or an action: a word stands beside it, so it is hidden
//! from screen readers.

use domain::operation::Status;
use leptos::prelude::*;

macro_rules! icons {
    ($($(#[$doc:meta])* $name:ident = $stroke:literal, $fill:literal;)*) => {
        /// Which icon.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum IconName { $($(#[$doc])* $name,)* }

        impl IconName {
            const fn paths(self) -> (&'static str, &'static str) {
                match self { $(Self::$name => ($stroke, $fill),)* }
            }
        }
    };
}

icons! {
    /// Hollow circle: reserved.
    Reserved = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11z", "";
    /// Half circle: executing.
    Executing = "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11z", "M8 2.5a5.5 5.5 0 0 1 0 11z";
    /// Check: succeeded.
    Check = "M2.8 8.6l3.4 3.4L13.2 4.6", "";
    /// Turning arrow: failed, will retry.
    Retry = "M13 8.2a5 5 0 1 1-1.5-3.7l1.6 1.5M13.2 2.6V6H9.8", "";
    /// Cross: failed.
    Cross = "M3.8 3.8l8.4 8.4M12.2 3.8l-8.4 8.4", "";
    /// Question mark in a diamond: unknown.
    Unknown = "M8 1.2L14.8 8 8 14.8 1.2 8zM6.3 6.5a1.7 1.7 0 1 1 2.5 1.5c-.55.3-.8.6-.8 1.1",
        "M8 10.2a.85.85 0 1 0 0 1.7a.85.85 0 0 0 0-1.7z";
    /// Hollow square: tombstone.
    Tombstone = "M3.2 3.2h9.6v9.6H3.2z", "";
    /// A person.
    Person = "M8 7.6a2.7 2.7 0 1 0 0-5.4a2.7 2.7 0 0 0 0 5.4zM2.6 13.8c.5-2.7 2.6-4.2 5.4-4.2s4.9 1.5 5.4 4.2", "";
    /// A flag: attention.
    Flag = "M3.8 14.2V2.4h8.4l-2 2.9 2 2.9H3.8", "";
    /// Lines of a list: operations.
    List = "M5.6 4h8M5.6 8h8M5.6 12h8",
        "M2.6 3.1a.9.9 0 1 0 0 1.8a.9.9 0 0 0 0-1.8zM2.6 7.1a.9.9 0 1 0 0 1.8a.9.9 0 0 0 0-1.8zM2.6 11.1a.9.9 0 1 0 0 1.8a.9.9 0 0 0 0-1.8z";
    /// Two sheets that do not match: payload conflict.
    Conflict = "M2.4 2.4h7.2v7.2H2.4zM6.4 11.6v2h7.2V6.4h-2", "";
    /// Triangle: incident, or a warning.
    Warning = "M8 2.2l6.4 11.4H1.6zM8 6.4v3.4", "M8 11a.8.8 0 1 0 0 1.6a.8.8 0 0 0 0-1.6z";
    /// Clock: waiting, leases, ages.
    Clock = "M8 2.2a5.8 5.8 0 1 0 0 11.6a5.8 5.8 0 0 0 0-11.6zM8 4.9V8l2.3 1.6", "";
    /// A sheet: evidence, payloads.
    Sheet = "M3.8 1.8h5.4l3 3v9.4H3.8zM9.2 1.8v3h3", "";
    /// Pencil: notes.
    Pencil = "M2.4 13.6l.7-3L11 2.7l2.3 2.3-7.9 7.9z", "";
    /// Arrow leaving a tray: outbox.
    Outbox = "M8 10V2.6M5 5.4l3-3 3 3M2.4 9.6v4h11.2v-4", "";
    /// Arrow into a tray: inbox.
    Inbox = "M8 2.4v7.4M5 7l3 3 3-3M2.4 9.6v4h11.2v-4", "";
    /// Boxes one after another: workflows.
    Workflow = "M1.8 2.6h5v4h-5zM9.2 9.4h5v4h-5zM6.8 4.6h5v4.6", "";
    /// A padlock: leases.
    Lease = "M3.4 7.2h9.2v6.4H3.4zM5.2 7V5a2.8 2.8 0 0 1 5.6 0v2", "";
    /// A key: tokens.
    Key = "M5.4 7.7a2.9 2.9 0 1 0 0 5.8a2.9 2.9 0 0 0 0-5.8zM7.5 8.5l5.9-5.9 1.3 1.3M10.9 5.1l1.8 1.8", "";
    /// Two persons: approvals.
    People = "M6 7.4a2.4 2.4 0 1 0 0-4.8a2.4 2.4 0 0 0 0 4.8zM1.4 13.4c.4-2.4 2.2-3.8 4.6-3.8s4.2 1.4 4.6 3.8M10.6 3a2.3 2.3 0 0 1 0 4.2M12 9.9c1.5.5 2.4 1.7 2.7 3.5", "";
    /// A ledger: the audit log.
    Ledger = "M3.2 1.8h9.6v12.4H3.2zM5.6 5h4.8M5.6 8h4.8M5.6 11h2.8", "";
    /// Sliders: administration.
    Sliders = "M2.4 4.6h6M12 4.6h1.6M2.4 11.4h1.6M7.6 11.4h6M10.2 2.8v3.6M5.8 9.6v3.6", "";
    /// Torn slip: receipt.
    Receipt = "M3.4 1.8h9.2v12.4l-1.5-1.1-1.6 1.1L8 13.1l-1.5 1.1-1.6-1.1-1.5 1.1zM6 5.4h4M6 8.4h4", "";
    /// Key of a lock: rights.
    Shield = "M8 1.8l5.2 1.9v3.9c0 3.1-2 5.3-5.2 6.6c-3.2-1.3-5.2-3.5-5.2-6.6V3.7z", "";
    /// Magnifier.
    Search = "M7 2.6a4.4 4.4 0 1 0 0 8.8a4.4 4.4 0 0 0 0-8.8zM10.3 10.3l3.4 3.4", "";
    /// Lines that narrow: filters.
    Filter = "M2.4 4h11.2M4.6 8h6.8M6.8 12h2.4", "";
    /// Three lines.
    Menu = "M2.4 4h11.2M2.4 8h11.2M2.4 12h11.2", "";
    /// Sun: the light theme.
    Sun = "M8 5a3 3 0 1 0 0 6a3 3 0 0 0 0-6zM8 1.2v1.4M8 13.4v1.4M1.2 8h1.4M13.4 8h1.4M3.2 3.2l1 1M11.8 11.8l1 1M3.2 12.8l1-1M11.8 4.2l1-1", "";
    /// Moon: the dark theme.
    Moon = "M13.4 9.6A5.8 5.8 0 0 1 6.4 2.6a5.8 5.8 0 1 0 7 7z", "";
    /// Door with an arrow: sign out.
    SignOut = "M6.4 2.4h-4v11.2h4M10 5l3 3-3 3M13 8H6.2", "";
    /// Towards newer rows.
    Left = "M9.8 3.4L5.2 8l4.6 4.6", "";
    /// Towards older rows, or deeper.
    Right = "M6.2 3.4L10.8 8l-4.6 4.6", "";
    /// Opens below: a menu.
    Down = "M3.4 6.2L8 10.8l4.6-4.6", "";
    /// Two sheets: copy.
    Copy = "M5.4 5.4h8v8h-8zM10.6 5.2V2.6h-8v8h2.6", "";
    /// Arrow leaving a frame: another site.
    External = "M9 2.4h4.6V7M13.6 2.4L7.6 8.4M11.4 9.4v4.2h-9v-9h4.2", "";
    /// Circle with an i: a neutral remark.
    Info = "M8 2.2a5.8 5.8 0 1 0 0 11.6a5.8 5.8 0 0 0 0-11.6zM8 7.4v3.4",
        "M8 4.4a.85.85 0 1 0 0 1.7a.85.85 0 0 0 0-1.7z";
}

impl IconName {
    /// A state's icon.
    #[must_use]
    pub const fn of(status: Status) -> Self {
        match status {
            Status::Reserved => Self::Reserved,
            Status::Executing => Self::Executing,
            Status::Succeeded => Self::Check,
            Status::FailedRetryable => Self::Retry,
            Status::FailedTerminal => Self::Cross,
            Status::Unknown => Self::Unknown,
        }
    }
}

/// An icon, for the eye alone.
#[component]
pub fn Icon(
    /// Which.
    name: IconName,
) -> impl IntoView {
    let (stroke, fill) = name.paths();
    view! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            <path class="icon-stroke" d=stroke></path>
            <path class="icon-fill" d=fill></path>
        </svg>
    }
}
