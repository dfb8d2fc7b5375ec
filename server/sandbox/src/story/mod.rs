//! The opening that the first page shows: one of every kind of trouble.
//!
//! [`plan`] is a pure function of the seed; [`play`] carries it out through the
//! same API as any service. [`tell`] tells the whole: beside those operations
//! workflows, messages, events and people's decisions, one of each state that
//! somebody may meet, each made by the engine itself. The skeleton is fixed, so that guides and tests can
//! name `INV-2026-0042` of acme (129.00 EUR, charged at the provider, reply
//! lost, no lookup); customers, the other amounts and recipients follow the seed.

mod decisions;
mod flows;
mod messages;
mod play;
mod tell;

use crate::{
    SplitMix64,
    job::{Flow, Job},
    providers::{Mode, Rule},
};

pub use self::{
    flows::{LETTER_REVIEW, LETTER_STAMPED, RELEASE},
    play::{Played, Report, StoryError, play},
    tell::{Cast, tell},
};

/// The payment that every guide names.
pub const MARKED_INVOICE: &str = "INV-2026-0042";
/// Its tenant.
pub const MARKED_TENANT: &str = "acme";
/// Its amount, minor units of EUR.
pub const MARKED_AMOUNT_MINOR: i64 = 12_900;

/// Whose events the consumer refuses: they are dead, and what is told after them waits.
const REFUSED_INVOICE: &str = "INV-2026-0056";
/// The topic of the event that is refused.
const PAID: &str = "invoice.paid";
/// Which two people may give back.
const LARGE_INVOICE: &str = "INV-2026-0057";
/// Confirmed by mistake, and put right.
const MISTAKEN_INVOICE: &str = "INV-2026-0058";

const CUSTOMERS: [&str; 8] = [
    "cus-brandt-optik",
    "cus-huerlimann",
    "cus-okafor-books",
    "cus-tanaka-tea",
    "cus-vela-sports",
    "cus-north-pier",
    "cus-liebl-und-co",
    "cus-aurora-dental",
];

/// One job of the story, with what the service will see.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Whose service.
    pub tenant: &'static str,
    /// What it shows, one line.
    pub title: &'static str,
    /// The work.
    pub job: Job,
    /// The result the service sees, as in [`crate::Performed::result`].
    pub expect: &'static str,
    /// The charge whose reference this refund names, by invoice.
    pub refunds: Option<&'static str>,
}

/// The story of a seed, in the order it is played.
pub fn plan(seed: u64) -> Vec<Episode> {
    let mut story = Story { seed, tenant: MARKED_TENANT, episodes: Vec::new() };
    story.acme_payments();
    story.acme_mails_and_documents();
    story.tenant = "globex";
    story.globex();
    story.episodes
}

struct Story {
    seed: u64,
    tenant: &'static str,
    episodes: Vec<Episode>,
}

/// Applied, reply lost; the provider cannot be asked.
fn lost_without_lookup(job: Job) -> Job {
    job.rule(Rule::once(Mode::ApplyDrop)).rule(Rule::always(Mode::NoLookup))
}

impl Story {
    fn acme_payments(&mut self) {
        // First, so that its lease has run out by the time the first page is looked at. Previews
        // are the services' own: no worker of the engine takes it over.
        self.tell("the service died before it began: a stuck lease", "died", |_| {
            Job::draft("DRF-2", "annual report").preview().flow(Flow::DiesBeforeStart)
        });
        self.tell("charged, and asked again later", "done", |s| {
            s.charge("INV-2026-0040", "EUR").flow(Flow::Replay)
        });
        self.tell("the same request twice at once", "done", |s| {
            s.charge("INV-2026-0041", "EUR").flow(Flow::Twins)
        });
        self.tell("charged, reply lost, no lookup: a person must decide", "ambiguous", |_| {
            lost_without_lookup(Job::charge(
                MARKED_INVOICE,
                MARKED_AMOUNT_MINOR,
                "EUR",
                "cus-brandt-optik",
            ))
        });
        self.tell("same key, other amount, after success", "done", |s| {
            s.charge("INV-2026-0043", "EUR").flow(Flow::Conflict)
        });
        self.tell("declined", "rejected", |s| {
            s.charge("INV-2026-0044", "EUR").rule(reject("card_declined"))
        });
        self.tell("the provider was busy: will be tried again", "not_done", |s| {
            s.charge("INV-2026-0045", "USD").rule(Rule::once(Mode::Throttle))
        });
        self.tell("the worker died before the call", "died", |s| {
            s.charge("INV-2026-0046", "EUR")
                .flow(Flow::DiesBeforeCall)
                .rule(Rule::always(Mode::NoLookup))
        });
        self.tell("answer 500 although charged, no lookup", "ambiguous", |s| {
            s.charge("INV-2026-0047", "USD")
                .rule(Rule::once(Mode::Apply500))
                .rule(Rule::always(Mode::NoLookup))
        });
        self.tell("reply lost; the lookup will tell", "ambiguous", |s| {
            s.charge("INV-2026-0048", "EUR").rule(Rule::once(Mode::ApplyDrop))
        });
        self.tell("the answer names another amount", "done", |s| {
            s.charge("INV-2026-0049", "JPY").rule(Rule::once(Mode::WrongAmount))
        });
        self.tell("slower than the service waits; the lookup lags too", "ambiguous", |s| {
            s.charge("INV-2026-0050", "EUR")
                .deadline_ms(300)
                .rule(Rule::once(Mode::Slow { ms: 900 }))
                .rule(Rule::always(Mode::LookupLag { ms: 20_000 }))
        });
        self.tell("an answer that is not JSON", "ambiguous", |s| {
            s.charge("INV-2026-0051", "EUR").rule(Rule::once(Mode::Garbage))
        });
        self.tell("reply lost, no lookup; a webhook comes later", "ambiguous", |s| {
            lost_without_lookup(s.charge("INV-2026-0052", "EUR"))
                .rule(Rule { mode: None, ..Rule::once(Mode::Normal) }.with_webhook(8_000, true))
        });
        self.tell("insufficient funds", "rejected", |s| {
            s.charge("INV-2026-0053", "USD").rule(reject("insufficient_funds"))
        });
        self.tell("left to a worker", "queued", |s| {
            s.charge("INV-2026-0054", "EUR").flow(Flow::Queued)
        });
        self.tell("the worker died after the call", "died", |s| {
            s.charge("INV-2026-0055", "EUR")
                .flow(Flow::DiesAfterCall)
                .rule(Rule::always(Mode::NoLookup))
        });
        self.tell("paid, but the consumer takes no event about it", "done", |s| {
            let paid = s.charge(REFUSED_INVOICE, "EUR");
            let (aggregate, payload) = (format!("invoice:{REFUSED_INVOICE}"), paid.payload.clone());
            paid.tells(&aggregate, PAID, payload).tells(
                &aggregate,
                "invoice.receipt_due",
                serde_json::json!({ "invoice_id": REFUSED_INVOICE }),
            )
        });
        self.tell("a large charge, to be given back by two people", "done", |_| {
            Job::charge(LARGE_INVOICE, 249_900, "EUR", "cus-north-pier")
        });
        self.tell("answer 500, not charged; somebody says that it was", "ambiguous", |s| {
            s.charge(MISTAKEN_INVOICE, "EUR")
                .rule(Rule::once(Mode::Fail500))
                .rule(Rule::always(Mode::NoLookup))
        });
        self.refund("refunded in full", "INV-2026-0040", "done", |job| job);
        self.refund(
            "a refund whose reply is lost, no lookup",
            "INV-2026-0041",
            "ambiguous",
            lost_without_lookup,
        );
    }

    fn acme_mails_and_documents(&mut self) {
        for recipient in ["rcp-0001", "rcp-0002", "rcp-0003"] {
            self.tell("mail sent", "done", |_| Job::mail("spring-2026", recipient));
        }
        self.tell("the mailbox refuses", "rejected", |_| {
            Job::mail("spring-2026", "rcp-0004").rule(reject("mailbox_unavailable"))
        });
        self.tell("mail sent, reply lost, no lookup", "ambiguous", |_| {
            lost_without_lookup(Job::mail("spring-2026", "rcp-0005"))
        });
        self.tell("a key that no header can carry", "done", |_| {
            Job::mail("été-2026", "rcp-0001").flow(Flow::Replay)
        });
        self.tell("same key, other template", "done", |_| {
            Job::mail("spring-2026", "rcp-0006").flow(Flow::Conflict)
        });
        self.tell("a mail left to a worker", "queued", |_| {
            Job::mail("spring-2026", "rcp-0007").flow(Flow::Queued)
        });
        self.tell("published", "done", |_| Job::publish("DOC-7", 1));
        self.tell("published, and asked again", "done", |_| {
            Job::publish("DOC-7", 2).flow(Flow::Replay)
        });
        self.tell("500 without effect; nobody knows yet", "ambiguous", |_| {
            Job::publish("DOC-7", 3).rule(Rule::once(Mode::Fail500))
        });
        self.tell("a draft generated", "done", |_| Job::draft("DRF-1", "quarterly letter"));
    }

    fn globex(&mut self) {
        self.tell("charged", "done", |s| s.charge("GX-2026-0001", "USD"));
        self.tell("charged", "done", |s| s.charge("GX-2026-0002", "JPY").flow(Flow::Twins));
        self.tell("charged, reply lost, no lookup", "ambiguous", |s| {
            lost_without_lookup(s.charge("GX-2026-0003", "USD"))
        });
        self.tell("same key, other amount", "done", |s| {
            s.charge("GX-2026-0004", "USD").flow(Flow::Conflict)
        });
        self.tell("declined", "rejected", |s| {
            s.charge("GX-2026-0005", "USD").rule(reject("card_declined"))
        });
        self.tell("the worker died before the call", "died", |s| {
            s.charge("GX-2026-0006", "USD").flow(Flow::DiesBeforeCall)
        });
        for recipient in ["rcp-9001", "rcp-9002"] {
            self.tell("mail sent", "done", |_| Job::mail("launch", recipient));
        }
    }

    /// A charge whose customer and amount follow the seed and its own number alone.
    fn charge(&self, invoice: &str, currency: &str) -> Job {
        let mut rng = SplitMix64::keyed(self.seed, invoice);
        let customer = rng.pick(&CUSTOMERS);
        Job::charge(invoice, amount(&mut rng, currency), currency, customer)
    }

    fn tell(&mut self, title: &'static str, expect: &'static str, job: impl FnOnce(&Self) -> Job) {
        let job = job(self);
        self.episodes.push(Episode { tenant: self.tenant, title, job, expect, refunds: None });
    }

    fn refund(
        &mut self,
        title: &'static str,
        invoice: &'static str,
        expect: &'static str,
        trouble: impl FnOnce(Job) -> Job,
    ) {
        let charge = self.charge(invoice, "EUR");
        let amount = charge.amount_minor.unwrap_or_default();
        // The reference is the provider's, and known only when the charge is played.
        let job = trouble(Job::refund(invoice, 1, "", amount, "EUR"));
        self.episodes.push(Episode {
            tenant: self.tenant,
            title,
            job,
            expect,
            refunds: Some(invoice),
        });
    }
}

fn reject(code: &str) -> Rule {
    Rule::once(Mode::Reject { code: code.to_owned() })
}

/// 9.00 to 490.00; whole hundreds where the currency has no minor unit.
pub(crate) fn amount(rng: &mut SplitMix64, currency: &str) -> i64 {
    let hundreds = i64::try_from(rng.below(482)).unwrap_or_default() + 9;
    let cents = if currency == "JPY" { 0 } else { rng.pick(&[0, 0, 50, 90, 99]) };
    hundreds * 100 + cents
}

/// One of the story's customers.
pub(crate) fn customer(rng: &mut SplitMix64) -> &'static str {
    rng.pick(&CUSTOMERS)
}
