//! Finding out what became of calls whose answer is missing: taking over from dead workers, and
//! asking providers. *Unknown* is left with proof alone (D12).

mod check;
mod question;
mod settle;
mod take_over;
mod turns;

pub(crate) use turns::Turns;

/// Leases lost during a call before machines stop trying (D21).
const MAX_TAKEOVERS: i32 = 3;
