//! The page of the audit log: what it shows, its filters and its pages (CON-5, CON-19, CON-24).

use vestry_app::Principal;
use vestry_domain::operator::Role;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::console::{entries, grants, operator};
use crate::console_pages::path;
use crate::harness::{Api, on_both};

on_both! {
    changes_are_listed_and_found
    a_wrong_filter_of_entries_is_named
}

/// Adds and removes a redirect URL; the id.
async fn change(api: &Api, environment: Environment, name: &str) -> String {
    let world = World::new(api.app.id, environment);
    let url = format!("https://{name}.example.com/in");
    let (cli, kind) = (Principal::cli(), RedirectKind::Login);
    let added = api.service.add_redirect_url(cli, world, kind, &url, false);
    let id = added.await.unwrap().id;
    let removed = api.service.remove_redirect_url(cli, world.into(), id);
    removed.await.unwrap();
    id.to_string()
}

async fn changes_are_listed_and_found(api: &Api) {
    let first = change(api, Environment::Live, "first").await;
    api.pass(2 * 86_400);
    for number in 0..25 {
        change(api, Environment::Live, &format!("later-{number}")).await;
    }
    let other = change(api, Environment::Test, "other").await;
    let admin = grants(Role::Admin, Some(api.app.id));
    let (mut ann, _) = operator(api, "ann@example.com", admin).await;
    let list = path(api, "live", "audit");
    let body = serde_json::json!({"email": "ada@example.com"});
    let user = api.live().post("/v1/auth/users/create", body).await;
    let user = user.ok().text_at("/user_id");
    let shown = ann.get(&path(api, "live", &format!("users/{user}"))).await;
    shown.shows(200, &format!("/live/audit?subject={user}"));

    // All entries, newest first, and none of the other environment (CON-19).
    let (mut found, mut next) = (Vec::new(), Some(list.clone()));
    let expected = entries(api, World::new(api.app.id, Environment::Live)).await;
    while let Some(address) = next {
        let page = ann.get(&address).await.shows(200, " on this page");
        assert!(!page.html.contains(&other), "{}", page.html);
        let rows = page.html.split("<small class=\"nowrap\" title=\"").skip(1);
        let rows = rows.map(|row| row.split_once("entry ").unwrap().1);
        found.extend(rows.map(|row| row.split_once('<').unwrap().0.parse::<i64>().unwrap()));
        next = page
            .html
            .split_once("\" rel=\"next\">Older")
            .map(|(before, _)| before.rsplit_once("href=\"").unwrap().1.to_owned());
    }
    let expected: Vec<_> = expected.iter().rev().map(|entry| entry.sequence).collect();
    assert!(expected.len() > 50);
    assert_eq!(found, expected);

    for (query, count) in [
        (format!("subject={first}"), 2),
        (format!("subject={first}&action=redirect_url.add"), 1),
        (format!("subject={first}&actor=cli&outcome=done"), 2),
        (format!("subject={first}&actor=api_key"), 0),
        (format!("subject={first}&outcome=refused"), 0),
        (format!("subject={first}&until=2027-01-16"), 2),
        (format!("subject={first}&from=2027-01-16"), 0),
        (
            "action=redirect_url.remove&from=2027-01-16T00%3A00".to_owned(),
            25,
        ),
        ("subject=user&actor=operator&action=user.*".to_owned(), 1),
    ] {
        let page = ann.get(&format!("{list}?{query}")).await;
        let text = match count {
            0 => "No entries match".to_owned(),
            1 => "1 entry on this page".to_owned(),
            count => format!("{count} entries on this page"),
        };
        page.shows(200, &text).shows(200, "Clear filters");
    }
    let query = format!("subject={first}&action=redirect_url.add");
    let page = ann.get(&format!("{list}?{query}")).await;
    for text in [
        "redirect_url.add<small",
        "https://first.example.com/in",
        "data-tone=\"ok\">done",
        "Live · Audit log",
        &format!("title=\"{first}\""),
        &format!("/v1/audit?limit=50&#38;action=redirect_url.add&#38;subject={first}"),
        "<option selected>redirect_url.add</option>",
    ] {
        assert!(page.html.contains(text), "{text} in {}", page.html);
    }
    // A developer reads users, but not the log, and no page links to it (CON-24).
    let developer = grants(Role::Developer, Some(api.app.id));
    let (mut dan, _) = operator(api, "dan@example.com", developer).await;
    dan.get(&list).await.shows(403, "Not allowed");
    let shown = dan.get(&path(api, "live", &format!("users/{user}"))).await;
    assert_eq!(shown.status, 200);
    assert!(!shown.html.contains("/live/audit"), "{}", shown.html);
}

async fn a_wrong_filter_of_entries_is_named(api: &Api) {
    let admin = grants(Role::Admin, Some(api.app.id));
    let (mut ann, _) = operator(api, "ann@example.com", admin).await;
    let list = path(api, "test", "audit");
    for (query, message) in [
        ("action=app.fly", "unknown action"),
        ("action=%3Cscript%3E.*", "unknown action"),
        ("outcome=maybe", "unknown outcome"),
        ("from=soon", "from must be a date"),
        ("until=2027-02-30", "until must be a date"),
        ("starting_after=nonsense", "starting_after must be the id"),
    ] {
        let page = ann.get(&format!("{list}?{query}")).await;
        let page = page.shows(400, message).shows(400, "role=\"alert\"");
        assert!(!page.html.contains("<script>"), "{query}");
    }
    // Texts that would be markup (CON-5).
    let page = ann
        .get(&format!(
            "{list}?subject=%22%3E%3Cb%3E%24%28id%29&actor=%3Ci%3E"
        ))
        .await
        .shows(200, "No entries match");
    for raw in ["<b>", "<i>"] {
        assert!(!page.html.contains(raw), "{raw} in {}", page.html);
    }
}
