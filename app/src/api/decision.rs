//! From a posted form to the engine's command and back to a page.
//!
//! Fields arrive as the text that was typed, so that a slip becomes a refusal beside its field and
//! never a decoding error without a page.

use domain::{
    action::{Outcome, Subject, TargetType, Verb},
    ids::OperationId,
    money::{parse_currency, parse_typed_amount},
    problem::Code,
    record::RecordName,
};
use engine::{ActionRequest, Decided, Settling};

use super::{
    context::{caller, carry_out, engine},
    redirect::{Target, go, hold},
    refused::{Kept, RefusedForm, read_ids, ticked},
};
use crate::error::{ConsoleError, Field, RefusalView};

/// The fields of an action's form, as typed.
#[derive(Debug, Clone, Default)]
pub(super) struct Posted {
    pub(super) version: String,
    pub(super) outcome: String,
    pub(super) external_reference: String,
    pub(super) amount_minor: String,
    pub(super) currency: String,
    pub(super) role: String,
    pub(super) records: String,
    pub(super) reason: String,
    pub(super) evidence: String,
    pub(super) evidence_files: String,
    pub(super) file: String,
    pub(super) force: String,
    pub(super) overrides: String,
}

impl Posted {
    fn request(&self, target: Subject, verb: Verb) -> Result<ActionRequest, RefusalView> {
        // A file that was chosen and not attached would be lost without a word.
        if !self.file.is_empty() {
            return Err(RefusalView::field(Field::File));
        }
        let version =
            self.version.trim().parse().map_err(|_| RefusalView::field(Field::Version))?;
        let currency = match self.currency.trim() {
            "" => None,
            code => Some(
                parse_currency(&code.to_ascii_uppercase())
                    .map_err(|_| RefusalView::field(Field::Currency))?,
            ),
        };
        let amount_minor = match self.amount_minor.trim() {
            "" => None,
            typed => {
                let currency =
                    currency.as_deref().ok_or_else(|| RefusalView::field(Field::Currency))?;
                let read = parse_typed_amount(typed, currency);
                Some(read.ok_or_else(|| RefusalView::field(Field::AmountMinor))?)
            }
        };
        Ok(ActionRequest {
            // A word that is no outcome is no choice; the engine refuses that and records it.
            outcome: self.outcome.parse::<Outcome>().ok(),
            external_reference: some(&self.external_reference),
            // A currency alone says nothing: the form offers it beside the amount.
            currency: currency.filter(|_| amount_minor.is_some()),
            amount_minor,
            // As with the outcome: no known role is no choice.
            role: self.role.trim().parse().ok(),
            records: names(&self.records).map_err(|()| RefusalView::field(Field::Records))?,
            evidence: some(&self.evidence),
            evidence_files: read_ids(&self.evidence_files),
            force: ticked(&self.force),
            overrides: ticked(&self.overrides),
            ..ActionRequest::new(target, verb, version, self.reason.trim())
        })
    }

    fn kept(&self) -> Kept {
        Kept {
            reason: self.reason.clone(),
            external_reference: self.external_reference.clone(),
            amount_minor: self.amount_minor.clone(),
            currency: self.currency.clone(),
            evidence: self.evidence.clone(),
            evidence_files: read_ids(&self.evidence_files),
            ..Kept::default()
        }
    }
}

/// Records by their names, with blanks or line ends between them.
pub(super) fn names(text: &str) -> Result<Vec<RecordName>, ()> {
    text.split_whitespace().map(|name| name.parse().map_err(|_| ())).collect()
}

fn some(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Carries out an action and leads the person to its receipt, to the request that waits for a second
/// person, or to the page that explains the refusal.
pub(super) async fn decide(
    target: Subject,
    verb: Verb,
    posted: Posted,
) -> Result<(), ConsoleError> {
    // All records are found by an id of one form, except kinds, which have names.
    if target.kind != TargetType::OperationKind && target.id.parse::<OperationId>().is_err() {
        go(&Target::missing(target.kind));
        return Ok(());
    }
    let refusal = match submit(&target, verb, &posted).await {
        Ok(Decided::Done(acted)) => {
            go(&Target::receipt(acted.receipt.id, acted.replayed));
            return Ok(());
        }
        Ok(Decided::Asked { approval, .. }) => {
            go(&Target::asked(&target, approval.id));
            return Ok(());
        }
        Err(ConsoleError(refusal)) => refusal,
    };
    if refusal.code == Code::StepUpRequired {
        hold(&Target::form_of(&target, verb));
        return Ok(());
    }
    let refusal = RefusalView { shown: posted.version.trim().parse().ok(), ..refusal };
    go(&Target::form(&target, verb, &RefusedForm { refusal, kept: posted.kept() }));
    Ok(())
}

async fn submit(target: &Subject, verb: Verb, posted: &Posted) -> Result<Decided, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let request = posted.request(target.clone(), verb).map_err(ConsoleError)?;
    let by = caller.clone();
    if target.kind == TargetType::Approval {
        let id = target.id.parse().map_err(|_| ConsoleError::code_only(Code::NotFound))?;
        let settling = Settling { version: Some(request.version), reason: request.reason };
        let settled = carry_out(&caller, async move {
            match verb {
                Verb::Approve => engine.approve(&by, id, settling).await,
                Verb::Reject => engine.reject(&by, id, settling).await,
                _ => engine.withdraw(&by, id, settling).await,
            }
        });
        return settled.await.map(|acted| Decided::Done(Box::new(acted)));
    }
    carry_out(&caller, async move { engine.act(&by, request).await }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted() -> Posted {
        Posted { version: "3".into(), reason: " seen ".into(), ..Posted::default() }
    }

    fn request(posted: &Posted) -> Result<ActionRequest, RefusalView> {
        posted.request(OperationId::new(uuid::Uuid::from_u128(1)).into(), Verb::Confirm)
    }

    #[test]
    fn an_empty_field_is_no_answer_rather_than_an_empty_one() {
        let request = request(&posted()).unwrap();
        assert_eq!(request.reason, "seen");
        assert_eq!(request.outcome, None);
        assert_eq!(request.external_reference, None);
        assert_eq!(request.amount_minor, None);
    }

    #[test]
    fn an_amount_is_read_as_a_statement_has_it_and_in_minor_units() {
        for typed in ["129.00", "129,00", "12900"] {
            let asked = Posted { amount_minor: typed.into(), currency: "eur".into(), ..posted() };
            assert_eq!(request(&asked).unwrap().amount_minor, Some(12_900), "{typed}");
        }
    }

    #[test]
    fn a_slip_names_its_field() {
        let cases = [
            (Posted { version: String::new(), ..posted() }, Field::Version),
            (Posted { amount_minor: "12.90".into(), ..posted() }, Field::Currency),
            (
                Posted { amount_minor: "12.9".into(), currency: "EUR".into(), ..posted() },
                Field::AmountMinor,
            ),
            (
                Posted { amount_minor: "1".into(), currency: "euro".into(), ..posted() },
                Field::Currency,
            ),
        ];
        for (posted, field) in cases {
            let refusal = request(&posted).unwrap_err();
            assert_eq!((refusal.code, refusal.field), (Code::Unprocessable, Some(field)));
        }
    }
}
