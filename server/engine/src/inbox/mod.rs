//! The inbox: messages from services, brokers and providers, each taken in once (N1 to N6, D29).
//!
//! A message and its effect are one transaction: the message is inserted first, so that of any
//! number of deliveries at once one does the effect and the others find it done. What fails leaves
//! nothing but a count; what is too old to be told from one that was forgotten is kept apart until
//! a person decides.

mod effect;
mod failure;
mod message;
mod receive;
mod shrink;
mod signature;
mod source;
mod staff;
mod webhook;

pub use message::{ReceiveMessage, Received};
pub use signature::signed_at;
pub use source::{Delivery, InboxSource, Source, SourceError, Verdict};
pub use staff::{Standing, drop_in, run_in};
pub use webhook::WebhookTaken;

pub(crate) use effect::Effect;
pub(crate) use staff::{likeness, needs_second_person};
