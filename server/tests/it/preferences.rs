//! How the console looks to a person: kept with the account, before sign-in in cookies; and the zone in
//! which every page says its times.

use axum::{
    body::Body,
    http::{Method, StatusCode, header},
};

use domain::problem::Code;

use crate::{
    forms::refused_form,
    support::{Answer, Browser, Stage, from_our_page},
};

/// What a page says, without its frame.
fn content(page: &Answer) -> String {
    page.expect(StatusCode::OK);
    let page = page.undated();
    let main = page.split("<main").nth(1).and_then(|main| main.split("</main>").next());
    main.unwrap_or_else(|| panic!("no content: {page}")).to_owned()
}

async fn choose(browser: &Browser<'_>, fields: &[(&str, &str)]) {
    let answer = browser.post("/preferences", fields).await;
    answer.expect(StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn what_a_person_chose_holds_in_every_browser_and_for_nobody_else() {
    let stage = Stage::open().await;
    let here = stage.browser("operator@acme.test").await;
    let answer =
        here.post("/preferences", &[("theme", "dark"), ("return_to", "/operations?q=1")]).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert_eq!(answer.header("location"), "/operations?q=1");
    choose(&here, &[("density", "comfortable"), ("rows", "25"), ("zone", "Europe/Berlin")]).await;

    let there = stage.browser("operator@acme.test").await;
    let page = there.get("/me").await.text();
    let html = page.split("<head").next().unwrap();
    assert!(html.contains("data-theme=\"dark\""), "{html}");
    assert!(html.contains("data-density=\"comfortable\""), "{html}");
    assert!(page.contains("Times in Europe/Berlin"));
    assert!(page.contains("<option value=\"Europe/Berlin\" selected"), "{page}");

    let other = stage.browser("viewer@acme.test").await.get("/me").await.text();
    assert!(!other.contains("data-theme") && other.contains("Times in UTC"));
}

#[tokio::test]
async fn before_sign_in_cookies_say_how_it_looks() {
    let stage = Stage::open().await;
    let stranger = stage.stranger();
    let answer =
        stranger.post("/preferences", &[("theme", "light"), ("return_to", "/sign-in")]).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert_eq!(answer.header("location"), "/sign-in");
    let cookies: Vec<_> = answer
        .headers
        .get_all(header::SET_COOKIE)
        .iter()
        .map(|cookie| cookie.to_str().unwrap().to_owned())
        .collect();
    assert!(
        cookies.contains(
            &"theme=light; Max-Age=31536000; Secure; HttpOnly; SameSite=Lax; Path=/".to_owned()
        ),
        "{cookies:?}"
    );
    let request = from_our_page(Method::GET, "/sign-in")
        .header(header::COOKIE, "theme=light; density=\"><script>")
        .body(Body::empty())
        .unwrap();
    let page = stage.send(request).await.text();
    let html = page.split("<head").next().unwrap();
    assert!(html.contains("data-theme=\"light\"") && !html.contains("data-density"), "{html}");
}

/// The cookies that a browser holds after an answer, as it sends them.
fn kept(answer: &Answer) -> String {
    let cookies = answer.headers.get_all(header::SET_COOKIE).iter();
    let pairs = cookies.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap());
    pairs.collect::<Vec<_>>().join("; ")
}

#[tokio::test]
async fn who_is_not_signed_in_chooses_all_of_it_on_the_page_of_signing_in() {
    let stage = Stage::open().await;
    let place = "/sign-in?next=%2Foutbox";
    let page = stage.stranger().get(place).await.text();
    let form = page.split("action=\"/preferences\"").last().unwrap().split("</form>").next();
    let form = form.unwrap();
    for field in ["zone", "theme", "density", "rows"] {
        assert!(form.contains(&format!("name=\"{field}\"")), "{field}: {form}");
    }
    assert!(form.contains(&format!("name=\"return_to\" value=\"{place}\"")), "{form}");

    let fields = [
        ("zone", "Europe/Berlin"),
        ("theme", "dark"),
        ("density", "comfortable"),
        ("rows", "25"),
        ("return_to", place),
    ];
    let answer = stage.stranger().post("/preferences", &fields).await;
    answer.expect(StatusCode::SEE_OTHER);
    assert_eq!(answer.header("location"), place);
    let looks = kept(&answer);
    let browser = Browser { stage: &stage, cookie: Some(looks.clone()) };
    let page = browser.get(place).await.text();
    for chosen in ["Europe/Berlin", "dark", "comfortable", "25"] {
        assert!(page.contains(&format!("<option value=\"{chosen}\" selected")), "{chosen}: {page}");
    }
    // A refused choice opens the form, names its field and keeps what stood.
    let refused = browser.post("/preferences", &[("zone", "Mars/Olympus")]).await;
    refused_form(&refused, "/sign-in", Code::Unprocessable);
    assert_eq!(kept(&refused), "");
    let page = browser.get(refused.header("location")).await.text();
    assert!(page.contains("href=\"#zone\"") && page.contains("id=\"zone-error\""), "{page}");
    assert!(page.contains("<details open"), "{page}");

    // Signed in: they hold as long as the account keeps nothing, and no longer.
    let person = stage.browser("viewer@acme.test").await;
    let cookie = format!("{}; {looks}", person.cookie.clone().unwrap());
    let here = Browser { stage: &stage, cookie: Some(cookie) };
    assert!(here.get("/operations").await.text().contains("Times in Europe/Berlin"));
    choose(&person, &[("zone", "Asia/Tokyo")]).await;
    assert!(here.get("/operations").await.text().contains("Times in Asia/Tokyo"));
}

#[tokio::test]
async fn what_is_no_choice_is_refused_and_changes_nothing() {
    let stage = Stage::open().await;
    let browser = stage.browser("operator@acme.test").await;
    choose(&browser, &[("theme", "dark")]).await;
    for (field, value) in [
        ("theme", "x; Domain=evil"),
        ("zone", "Mars/Olympus"),
        ("zone", "europe/berlin"),
        ("density", "huge"),
        ("rows", "1000000"),
    ] {
        let sound = [("density", "dense"), ("theme", "light")];
        let mut fields: Vec<_> = sound.into_iter().filter(|(name, _)| *name != field).collect();
        fields.push((field, value));
        let answer = browser.post("/preferences", &fields).await;
        assert!(answer.headers.get(header::SET_COOKIE).is_none(), "{field}={value}");
        refused_form(&answer, "/me", Code::Unprocessable);
        let page = browser.get(answer.header("location")).await.text();
        let frame = "data-code=\"unprocessable\" class=\"form-errors\"";
        assert!(page.contains(frame), "no {frame}: {page}");
        for place in [format!("href=\"#{field}\""), format!("id=\"{field}\"")] {
            assert!(page.contains(&place), "{field}: {page}");
        }
    }
    let nothing = browser.post("/preferences", &[("other", "x")]).await;
    refused_form(&nothing, "/me", Code::Unprocessable);
    // Whoever is not signed in has the page of signing in, which says the same.
    let stranger = stage.stranger();
    let answer = stranger.post("/preferences", &[("theme", "x; Domain=evil")]).await;
    refused_form(&answer, "/sign-in", Code::Unprocessable);
    let page = stranger.get(answer.header("location")).await;
    assert!(page.text().contains("data-code=\"unprocessable\""), "{}", page.text());
    assert!(browser.get("/me").await.text().contains("data-theme=\"dark\""));
}

#[tokio::test]
async fn every_page_says_its_times_in_the_chosen_zone_and_names_it() {
    let stage = Stage::open().await;
    let unknown = stage.unknown("acme", "INV-1").await;
    let browser = stage.browser("auditor@acme.test").await;
    let pages = [
        "/".to_owned(),
        "/operations".into(),
        format!("/operations/{}", unknown.id),
        "/outbox".into(),
        "/audit".into(),
    ];
    for page in &pages {
        let utc = content(&browser.get(page).await);
        assert!(utc.contains(" UTC"), "{page} names no zone: {utc}");
    }
    choose(&browser, &[("zone", "Asia/Kolkata")]).await;
    for page in &pages {
        let local = content(&browser.get(page).await);
        assert!(local.contains(" IST"), "{page} names no zone: {local}");
        let rest = local.replace("UTC+05:30", "");
        assert!(!rest.contains("UTC"), "{page} still says UTC: {rest}");
    }
    // The browser's own zone, once the browser has said it.
    choose(&browser, &[("zone", "local")]).await;
    assert!(content(&browser.get("/operations").await).contains(" UTC"));
    let cookie = format!("{}; browser_zone=Asia/Tokyo", browser.cookie.clone().unwrap());
    let local = Browser { stage: &stage, cookie: Some(cookie) };
    assert!(content(&local.get("/operations").await).contains(" JST"));
}

#[tokio::test]
async fn a_link_shows_the_same_list_to_a_reader_of_another_zone() {
    let stage = Stage::open().await;
    stage.unknown("acme", "INV-1").await;
    let kiritimati = stage.browser("operator@acme.test").await;
    choose(&kiritimati, &[("zone", "Pacific/Kiritimati")]).await;
    let form = content(&kiritimati.get("/operations").await);
    assert!(form.contains("<input type=\"hidden\" name=\"zone\" value=\"Pacific/Kiritimati\""));
    assert!(form.contains("Reserved from, Pacific/Kiritimati"), "{form}");
    // Today there is tomorrow or today in UTC: its first moment is ten to fourteen hours ago at most.
    let today: String = sqlx::query_scalar(
        "select to_char(onceover_now() at time zone 'Pacific/Kiritimati', 'YYYY-MM-DD')",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap();
    let link = format!("/operations?from={today}&zone=Pacific/Kiritimati");
    let other = stage.browser("viewer@acme.test").await;
    let (ours, theirs) = (content(&kiritimati.get(&link).await), content(&other.get(&link).await));
    assert!(ours.contains("INV-1") && theirs.contains("INV-1"));
    assert!(theirs.contains(&format!("{today} Pacific/Kiritimati")), "the chip names the zone");
    let wrong = other.get("/operations?from=2026-10-25&zone=Mars/Olympus").await;
    wrong.expect(StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_page_is_as_long_as_its_reader_wants_it() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    for n in 0..27 {
        service.reserve(&format!("INV-{n}"), 100).await.expect(StatusCode::CREATED);
    }
    let browser = stage.browser("viewer@acme.test").await;
    let rows = |page: &Answer| content(page).matches("data-record=\"operation/").count();
    assert_eq!(rows(&browser.get("/operations").await), 27);
    choose(&browser, &[("rows", "25")]).await;
    assert_eq!(rows(&browser.get("/operations").await), 25);
    assert_eq!(rows(&browser.get("/operations?limit=10").await), 10);
}
