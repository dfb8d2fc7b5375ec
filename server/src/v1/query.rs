//! A list's query. A name or value that the list does not know is refused, never skipped.

use domain::{
    listing::{BadPart, ListFilter, Parts},
    problem::Code,
};

use crate::refusal::Refused;

/// Reads a list's filter.
///
/// # Errors
/// `filter_invalid` with the first part that cannot be used.
pub(super) fn filter<F: ListFilter>(query: Option<&str>) -> Result<F, Refused> {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
    let read = || {
        let mut parts = Parts::new(pairs)?;
        let filter = F::read(&mut parts)?;
        parts.finish().map(|()| filter)
    };
    read().map_err(|BadPart { name, why }| {
        Refused::code(Code::FilterInvalid).field(&name).detail(why.to_string())
    })
}

/// Which item of a long part is asked for, counted from one in the query and from zero here.
///
/// # Errors
/// `filter_invalid` for anything but `from` with a number.
pub(super) fn place(query: Option<&str>) -> Result<Option<usize>, Refused> {
    let mut from = None;
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let number = value.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if name != "from" || number.is_none() || from.is_some() {
            let detail = "from is the number of an item, once, from 1 on";
            return Err(Refused::code(Code::FilterInvalid).field(&name).detail(detail.to_owned()));
        }
        from = number;
    }
    Ok(from)
}

#[cfg(test)]
mod tests {
    use domain::listing::{OperationFilter, StatusFilter};

    use super::*;

    #[test]
    fn a_filter_is_read_once_and_decoded_once() {
        let query = "status=unknown&q=a%2525%20b%2B&needs_manual=true&limit=20&operation=";
        let read: OperationFilter = filter(Some(query)).unwrap();
        assert_eq!(read.status.map(StatusFilter::as_str), Some("unknown"));
        assert_eq!(read.q.as_deref(), Some("a%25 b+"));
        assert!(read.needs_manual);
        assert_eq!(read.limit, Some(20));
        assert_eq!(read.operation, None);
    }

    #[test]
    fn a_place_is_a_number_from_one_on() {
        assert_eq!(place(None).ok(), Some(None));
        assert_eq!(place(Some("from=41")).ok(), Some(Some(40)));
        for query in ["from=0", "from=x", "from=", "to=1", "from=1&from=2"] {
            assert!(place(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn a_filter_that_the_list_does_not_know_is_refused() {
        for query in [
            "status=failed",
            "sort=id;drop",
            "q=a&q=b",
            "limit=1e9",
            "from=yesterday",
            "needs_manual=1",
        ] {
            assert!(filter::<OperationFilter>(Some(query)).is_err(), "{query}");
        }
    }
}
