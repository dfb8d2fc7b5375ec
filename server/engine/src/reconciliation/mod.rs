//! Finding out what became of calls whose answer is missing: taking over from dead workers, and
//! asking providers. *Unknown* is left with proof alone (D12).

mod check;
mod take_over;
