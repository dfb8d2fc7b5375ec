//! How the console looks to a person: read for every page, changed by one plain form, kept with the
//! account and in cookies, so that the sign-in page looks the same.
//!
//! Guards against a cookie that anybody wrote: only words of the closed lists are read from it.

use app::{
    api::preferences::{not_kept, not_switched},
    look::Look,
    zone::Zone,
};
use axum::{
    Extension,
    extract::{Form, State, rejection::FormRejection},
    http::{HeaderMap, HeaderValue, header, request::Parts},
    response::Response,
};
use domain::{
    preferences::{Preferences, ZoneChoice, page_size},
    problem::Code,
};
use engine::StaffCaller;
use serde::Deserialize;

use super::{
    cookie::cookies,
    form::{explained, unread},
};
use crate::{refusal::Refused, router::AppState, security::location};

const FIELDS: &str = "The form has at least one of the fields zone, theme, density and rows.";
/// Where the browser's own zone stands; the one cookie that the page's island writes.
const BROWSER_ZONE: &str = "browser_zone";

/// The preferences that a request is answered with.
#[must_use]
pub fn in_force(parts: &Parts) -> Look {
    let kept = parts.extensions.get::<StaffCaller>().and_then(StaffCaller::preferences);
    look(&parts.headers, kept)
}

fn look(headers: &HeaderMap, kept: Option<&Preferences>) -> Look {
    let value =
        |wanted: &str| cookies(headers).find_map(|(name, value)| (name == wanted).then_some(value));
    let browser = value(BROWSER_ZONE).and_then(Zone::named);
    let chosen = kept.cloned().unwrap_or_else(|| {
        let default = Preferences::default();
        Preferences {
            zone: value("zone").and_then(zone).unwrap_or(default.zone),
            theme: value("theme").and_then(|word| word.parse().ok()).unwrap_or(default.theme),
            density: value("density").and_then(|word| word.parse().ok()).unwrap_or(default.density),
            rows: value("rows").and_then(page_size).unwrap_or(default.rows),
        }
    });
    Look { chosen, browser }
}

/// A zone that there is.
fn zone(word: &str) -> Option<ZoneChoice> {
    word.parse().ok().filter(|choice| match choice {
        ZoneChoice::Named(name) => Zone::named(name).is_some(),
        ZoneChoice::Utc | ZoneChoice::Local => true,
    })
}

/// The form of `/me`, and the switches, which post one field of it.
#[derive(Deserialize)]
pub struct SetPreferences {
    zone: Option<String>,
    theme: Option<String>,
    density: Option<String>,
    rows: Option<String>,
    #[serde(default)]
    return_to: String,
}

impl SetPreferences {
    /// What is chosen now, where something was chosen before. A field that is not sent stays.
    fn over(&self, before: Preferences) -> Result<Preferences, Refused> {
        let unfit = |field: &str, detail: &str| {
            Refused::code(Code::Unprocessable).field(field).detail(detail)
        };
        if [&self.zone, &self.theme, &self.density, &self.rows].iter().all(|field| field.is_none())
        {
            return Err(unfit("theme", FIELDS));
        }
        let mut wanted = before;
        if let Some(word) = &self.zone {
            wanted.zone = zone(word).ok_or_else(|| {
                unfit("zone", "zone must be utc, local, or a name such as Europe/Berlin.")
            })?;
        }
        if let Some(word) = &self.theme {
            wanted.theme =
                word.parse().map_err(|_| unfit("theme", "theme must be light, dark or auto."))?;
        }
        if let Some(word) = &self.density {
            wanted.density = word
                .parse()
                .map_err(|_| unfit("density", "density must be dense or comfortable."))?;
        }
        if let Some(text) = &self.rows {
            wanted.rows =
                page_size(text).ok_or_else(|| unfit("rows", "rows must be 25, 50, 100 or 200."))?;
        }
        Ok(wanted)
    }
}

/// `POST /preferences`.
pub async fn set(
    State(state): State<AppState>,
    by: Option<Extension<StaffCaller>>,
    headers: HeaderMap,
    form: Result<Form<SetPreferences>, FormRejection>,
) -> Response {
    let by = by.map(|Extension(by)| by);
    let (form, wanted) = match keep(&state, by.as_ref(), &headers, form).await {
        Ok(kept) => kept,
        Err(refused) => {
            return explained("/preferences", &headers, refused, |refusal| {
                not_kept(refusal, by.is_some())
            });
        }
    };
    let mut response = location::see_other(&form.return_to);
    for (name, value) in [
        ("zone", wanted.zone.as_str()),
        ("theme", wanted.theme.as_str()),
        ("density", wanted.density.as_str()),
        ("rows", &wanted.rows.to_string()),
    ] {
        response.headers_mut().append(header::SET_COOKIE, cookie(name, value));
    }
    response
}

/// What is chosen now, kept with the account where there is one.
async fn keep(
    state: &AppState,
    by: Option<&StaffCaller>,
    headers: &HeaderMap,
    form: Result<Form<SetPreferences>, FormRejection>,
) -> Result<(SetPreferences, Preferences), Refused> {
    let Form(form) = form.map_err(|rejection| unread(&rejection, FIELDS))?;
    let before = look(headers, by.and_then(StaffCaller::preferences)).chosen;
    let wanted = form.over(before)?;
    if let Some(by) = by {
        state.engine.save_preferences(by, &wanted).await?;
    }
    Ok((form, wanted))
}

const KEYS: &str = "keys must be on or off.";

/// The form of the switch for keys that are commands by themselves (WCAG 2.1.4): this browser's alone,
/// for it is about its keyboard.
#[derive(Deserialize)]
pub struct SetKeys {
    keys: String,
    #[serde(default)]
    return_to: String,
}

/// `POST /preferences/keys`.
pub async fn set_keys(headers: HeaderMap, form: Result<Form<SetKeys>, FormRejection>) -> Response {
    let form = form.map_err(|rejection| unread(&rejection, KEYS).field("keys"));
    let form = form.and_then(|Form(form)| match form.keys.as_str() {
        "on" | "off" => Ok(form),
        _ => Err(Refused::code(Code::Unprocessable).field("keys").detail(KEYS)),
    });
    let form = match form {
        Ok(form) => form,
        Err(refused) => return explained("/preferences/keys", &headers, refused, not_switched),
    };
    let mut response = location::see_other(&form.return_to);
    response.headers_mut().append(header::SET_COOKIE, cookie("keys", &form.keys));
    response
}

/// The `Set-Cookie` of one preference: for a year, and for the server alone.
fn cookie(name: &str, value: &str) -> HeaderValue {
    let text = format!("{name}={value}; Max-Age=31536000; Secure; HttpOnly; SameSite=Lax; Path=/");
    HeaderValue::try_from(text).expect("the words of preferences are visible ASCII")
}

#[cfg(test)]
mod tests {
    use domain::preferences::{Density, Theme};

    use super::*;

    fn read(cookies: &'static str, kept: Option<&Preferences>) -> Look {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, HeaderValue::from_static(cookies));
        look(&headers, kept)
    }

    #[test]
    fn cookies_say_what_nobody_kept_and_only_in_our_words() {
        let all = "theme=dark; zone=Europe/Berlin; density=comfortable; rows=100; browser_zone=Asia/Tokyo";
        let look = read(all, None);
        let Preferences { zone, theme, density, rows } = look.chosen.clone();
        assert_eq!(zone, ZoneChoice::Named("Europe/Berlin".into()));
        assert_eq!((theme, density, rows), (Theme::Dark, Density::Comfortable, 100));
        assert_eq!(look.browser.map(Zone::name), Some("Asia/Tokyo"));
        let crafted = "theme=\"><script>; zone=Mars/Olympus; rows=1000000; xdensity=comfortable";
        assert_eq!(read(crafted, None), Look::default());
        assert_eq!(read(all, Some(&Preferences::default())).chosen, Preferences::default());
    }
}
