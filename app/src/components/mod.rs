//! Pieces that pages are made of, on the server alone. None reads data or the clock: what a piece shows
//! is in its properties. What answers in the browser is in `crate::islands`.

pub mod amount;
pub mod audit;
pub mod body_view;
pub mod compare;
pub mod confirm_form;
pub mod data_table;
pub mod diff;
pub mod empty_state;
pub mod facts;
pub mod filter_form;
pub mod form_field;
pub mod icon;
pub mod key;
pub mod layout;
pub mod list;
pub mod mark;
pub mod moves;
pub mod nav;
pub mod notice;
pub mod pager;
pub mod part;
pub mod plan;
pub mod receipt_view;
pub mod record_form;
pub mod record_head;
pub mod related;
pub mod row;
pub mod slice;
pub mod state_badge;
pub mod timeline;
pub mod timestamp;
pub mod verdict_band;
pub mod waits;
