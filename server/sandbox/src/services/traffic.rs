//! What a sample service does at its n-th step: a pure function of the seed.
//!
//! Three of four steps are plain. The fourth meets one trouble, and all
//! troubles come round: lost replies, refusals, conflicts, twins, deaths, late
//! answers, late webhooks.

use crate::{
    SplitMix64,
    job::{Flow, Job},
    providers::{Mode, Rule},
    story,
};

/// The first invoice number of the traffic; lower ones belong to the story.
const FIRST_INVOICE: u64 = 1_000;
/// Recipients per campaign.
const CAMPAIGN_SIZE: u64 = 40;

/// One of the sample services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Charges invoices, refunds some.
    Invoicing,
    /// Mails the recipients of campaigns, publishes and drafts now and then.
    Campaigns,
}

impl Service {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Invoicing, Self::Campaigns];

    /// Its name in files and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invoicing => "invoicing",
            Self::Campaigns => "campaigns",
        }
    }
}

/// A charge that can be refunded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charged {
    invoice: String,
    reference: String,
    amount_minor: i64,
    currency: String,
}

impl Charged {
    /// What `job` left, when the provider named its effect.
    pub(super) fn of(job: &Job, reference: Option<String>) -> Option<Self> {
        Some(Self {
            invoice: job.subject()?.to_owned(),
            reference: reference?,
            amount_minor: job.amount_minor?,
            currency: job.currency.clone()?,
        })
    }
}

/// One step of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The work.
    pub job: Job,
    /// Whether it is a charge, and so may be refunded next.
    pub is_charge: bool,
}

/// The `number`-th step of `service` of `tenant`. Every ninth step of the
/// invoicing service refunds `last_charge`, where there is one.
pub fn job(
    seed: u64,
    tenant: &str,
    service: Service,
    number: u64,
    last_charge: Option<&Charged>,
) -> Step {
    let mut rng = SplitMix64::keyed(seed, &format!("{tenant}/{}/{number}", service.name()));
    let (job, is_charge) = match (service, last_charge) {
        (Service::Invoicing, Some(charged)) if number % 9 == 8 => {
            // A part now and then; never more than was taken (I4).
            let part = charged.amount_minor / rng.pick(&[1, 1, 2]);
            let job = Job::refund(
                &charged.invoice,
                1,
                &charged.reference,
                part.max(1),
                &charged.currency,
            );
            (job, false)
        }
        (Service::Invoicing, _) => {
            // Invoice numbers are each tenant's own; the ledger is shared.
            let prefix =
                if tenant == story::MARKED_TENANT { "INV".to_owned() } else { initials(tenant) };
            let currency = rng.pick(&["EUR", "EUR", "USD", "USD", "JPY"]);
            let amount = story::amount(&mut rng, currency);
            let invoice = format!("{prefix}-2026-{}", FIRST_INVOICE + number);
            (Job::charge(&invoice, amount, currency, story::customer(&mut rng)), true)
        }
        (Service::Campaigns, _) if number % 20 == 11 => (
            Job::publish(
                &format!("DOC-{}-{}", initials(tenant), 100 + number / 60),
                small(number / 20 % 3) + 1,
            ),
            false,
        ),
        (Service::Campaigns, _) if number % 20 == 17 => (
            Job::draft(
                &format!("DRF-{}-{number}", initials(tenant)),
                rng.pick(&["newsletter", "renewal", "welcome"]),
            ),
            false,
        ),
        (Service::Campaigns, _) => {
            let campaign =
                format!("{}-{:03}", initials(tenant).to_lowercase(), number / CAMPAIGN_SIZE + 1);
            (Job::mail(&campaign, &format!("rcp-{:04}", 1_000 + number % CAMPAIGN_SIZE)), false)
        }
    };
    Step { job: trouble(&mut rng, job), is_charge }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

/// Two letters for a tenant: its first and its last.
fn initials(tenant: &str) -> String {
    let letters = tenant.chars().next().into_iter().chain(tenant.chars().last());
    letters.flat_map(char::to_uppercase).collect()
}

/// Draws the step's trouble: none for three of four.
fn trouble(rng: &mut SplitMix64, job: Job) -> Job {
    let once = Rule::once;
    let refusal = if job.kind.moves_money() { "card_declined" } else { "mailbox_unavailable" };
    match rng.below(100) {
        0..2 => job.flow(Flow::Conflict),
        2..5 => job.flow(Flow::Twins),
        5..8 => job.flow(Flow::Replay),
        8..10 => job.rule(once(Mode::ApplyDrop)),
        // A provider without lookup: what it cannot tell, a person must.
        10 => job
            .rule(once(Mode::ApplyDrop))
            .rule(Rule { times: Some(50), ..Rule::always(Mode::NoLookup) }),
        11..14 => job.rule(once(Mode::Reject { code: refusal.to_owned() })),
        14..16 => job.rule(once(Mode::Throttle)),
        16 => job.rule(once(Mode::Fail500)),
        17 => job.flow(Flow::DiesBeforeCall),
        18 => job.flow(Flow::DiesAfterCall),
        19 => job.deadline_ms(400).rule(once(Mode::Slow { ms: 1_500 })),
        20 => job
            .rule(once(Mode::ApplyDrop))
            .rule(Rule { times: Some(3), ..Rule::always(Mode::LookupLag { ms: 20_000 }) }),
        21 => job.rule(once(Mode::ApplyDrop).with_webhook(4_000, false)),
        22 => job.rule(once(Mode::Apply500)),
        23 => job.rule(once(Mode::Garbage)),
        24..36 => job.flow(Flow::Queued),
        _ => job,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn story_of(seed: u64, tenant: &str) -> Vec<Job> {
        let all = Service::ALL
            .into_iter()
            .flat_map(|service| (0..500).map(move |number| (service, number)));
        all.map(|(service, number)| job(seed, tenant, service, number, None).job).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_traffic() {
        assert_eq!(story_of(7, "acme"), story_of(7, "acme"));
        assert_ne!(story_of(7, "acme"), story_of(8, "acme"));
    }

    #[test]
    fn no_two_steps_share_a_key_and_no_two_tenants_an_invoice() {
        let jobs = story_of(7, "acme");
        let keys: HashSet<_> = jobs.iter().map(|job| job.key.clone()).collect();
        assert_eq!(keys.len(), jobs.len());
        let others: HashSet<_> = story_of(7, "globex").into_iter().map(|job| job.key).collect();
        assert!(keys.is_disjoint(&others));
    }

    #[test]
    fn every_trouble_comes_round_and_most_steps_are_plain() {
        let jobs = story_of(7, "acme");
        for flow in [
            Flow::Conflict,
            Flow::Twins,
            Flow::Replay,
            Flow::DiesBeforeCall,
            Flow::DiesAfterCall,
            Flow::Queued,
        ] {
            assert!(jobs.iter().any(|job| job.flow == flow), "{flow:?}");
        }
        for mode in [
            Mode::ApplyDrop,
            Mode::Apply500,
            Mode::Fail500,
            Mode::Throttle,
            Mode::NoLookup,
            Mode::Garbage,
        ] {
            assert!(
                jobs.iter()
                    .any(|job| job.rules.iter().any(|rule| rule.mode.as_ref() == Some(&mode))),
                "{mode:?}"
            );
        }
        assert!(jobs.iter().any(|job| job.rules.iter().any(|rule| rule.webhook.is_some())));
        let plain =
            jobs.iter().filter(|job| job.rules.is_empty() && job.flow == Flow::Plain).count();
        assert!(plain * 2 > jobs.len(), "{plain} of {}", jobs.len());
    }

    #[test]
    fn a_refund_never_exceeds_its_charge() {
        let charged = Charged {
            invoice: "INV-2026-1007".into(),
            reference: "ch_1".into(),
            amount_minor: 900,
            currency: "EUR".into(),
        };
        for number in (8..900).step_by(9) {
            let step = job(7, "acme", Service::Invoicing, number, Some(&charged));
            assert!(step.job.amount_minor.is_some_and(|amount| (1..=900).contains(&amount)));
        }
    }
}
