//! The pages on which operators manage operators and management keys (OPR-1, OPR-3, CON-7, CON-15, CON-24).

use vestry_app::Principal;
use vestry_app::operators::ListedOperator;
use vestry_domain::operator::Role;

use crate::console::{Browser, grants, joined, operator};
use crate::console_pages::{secret, submit};
use crate::harness::{Api, CONSOLE, on_both};

on_both! {
    an_operator_is_invited_and_the_invitation_withdrawn
    refused_invitations_keep_their_input
    an_operator_is_changed
    con_7_a_reset_sends_a_link
    opr_3_the_last_owner_stays
    opr_1_con_24_each_role_sees_what_it_may_change
    changes_need_a_second_factor
    a_management_key_is_created_and_revoked
    opr_1_management_keys_are_for_owners
}

const LIST: &str = "/console/operators";
const INVITE: &str = "/console/operators/invite";
const KEYS: &str = "/console/management-keys";
const NEW_KEY: &str = "/console/management-keys/new";

async fn operators(api: &Api) -> Vec<ListedOperator> {
    let listed = api.service.list_operators(Principal::cli()).await;
    listed.unwrap()
}

/// The path of the only link that was mailed.
fn mailed_link(api: &Api) -> String {
    let mails = api.mailer.sent();
    let words = mails
        .iter()
        .flat_map(|(_, mail)| mail.text.split_whitespace());
    let paths = words.filter_map(|word| word.strip_prefix(CONSOLE));
    let mut links = paths.filter(|path| path.starts_with("/console/join"));
    let link = links.next().expect("a link").to_owned();
    assert_eq!(links.next(), None);
    link
}

async fn an_operator_is_invited_and_the_invitation_withdrawn(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let app = api.app.id.to_string();
    let fields = [
        ("email", " ben@example.com "),
        ("role", "developer"),
        ("apps", &app),
    ];
    let shown = ann.get(INVITE).await.shows(200, "sent by email");
    let mut form = vec![
        ("form_token", shown.field("form_token")),
        ("submission", shown.field("submission")),
    ];
    form.extend(fields);
    let sent = ann.post(INVITE, &form).await;
    sent.leads_to(LIST);
    // CON-15
    ann.post(INVITE, &form).await.leads_to(LIST);
    ann.get(LIST).await.shows(200, "This form was sent before");
    api.deliver().await;
    let link = mailed_link(api);
    assert!(!sent.html.contains("token="), "CON-7");

    let list = ann.get(LIST).await.shows(200, "Developer of 1 App");
    assert!(list.html.contains("ben@example.com"), "{}", list.html);
    let (_, rest) = list
        .html
        .split_once("/console/operators/invitations/")
        .unwrap();
    let id = rest.split_once('/').unwrap().0;
    let withdraw = format!("{LIST}/invitations/{id}/withdraw");
    ann.get(&withdraw).await.shows(200, "ben@example.com");
    submit(&mut ann, &withdraw, &[]).await.leads_to(LIST);
    ann.get(LIST).await.shows(200, "No pending invitations");
    ann.get(&withdraw).await.shows(404, "Page not found");
    Browser::new(api)
        .get(&link)
        .await
        .shows(400, "This link is not valid");
}

async fn refused_invitations_keep_their_input(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let app = api.app.id.to_string();
    for (email, role, apps, message) in [
        ("nonsense", "viewer", app.as_str(), "Email"),
        ("ben@example.com", "king", &app, "Select a role"),
        (
            "ben@example.com",
            "viewer",
            "",
            "Select the Apps, or all Apps",
        ),
        (
            "ben@example.com",
            "viewer",
            "app_x",
            "Select the Apps, or all Apps",
        ),
        ("ann@example.com", "viewer", &app, "already an operator"),
    ] {
        let fields = [("email", email), ("role", role), ("apps", apps)];
        let page = submit(&mut ann, INVITE, &fields).await.shows(400, message);
        for text in ["Fix 1 field.", &format!("value=\"{email}\"")] {
            assert!(
                page.html.contains(text),
                "{message}: {text} in {}",
                page.html
            );
        }
    }
    let open = api
        .service
        .list_invitations(Principal::cli())
        .await
        .unwrap();
    assert_eq!(open, []);
}

async fn an_operator_is_changed(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let ben = joined(api, "ben@example.com", "viewer", Some(api.app.id)).await;
    let (page, app) = (format!("{LIST}/{ben}"), api.app.id.to_string());
    ann.get(&page).await.shows(200, "Viewer of 1 App");
    let fields = [("role", "admin"), ("apps", &app)];
    submit(&mut ann, &page, &fields).await.leads_to(LIST);
    ann.get(&page).await.shows(200, "Admin of 1 App");
    let none = submit(&mut ann, &page, &[("role", "admin")]).await;
    none.shows(400, "Select the Apps, or all Apps");
    for (action, state) in [("disable", true), ("enable", false)] {
        let action = format!("{page}/{action}");
        submit(&mut ann, &action, &[]).await.leads_to(&page);
        let listed = operators(api).await;
        let ben = listed.iter().find(|one| one.email == "ben@example.com");
        assert_eq!(ben.unwrap().is_disabled, state);
    }
    submit(&mut ann, &format!("{page}/unlock"), &[])
        .await
        .leads_to(&page);
    ann.get(&format!("{page}/crown"))
        .await
        .shows(404, "Page not found");
    submit(&mut ann, &format!("{page}/remove"), &[])
        .await
        .leads_to(LIST);
    ann.get(&page).await.shows(404, "Page not found");
    assert_eq!(operators(api).await.len(), 1);
}

async fn con_7_a_reset_sends_a_link(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (mut ben, _) = operator(api, "ben@example.com", grants(Role::Viewer, None)).await;
    let listed = operators(api).await;
    let of = listed
        .iter()
        .find(|one| one.email == "ben@example.com")
        .unwrap();
    let page = format!("{LIST}/{}", of.operator.user_id);
    let reset = format!("{page}/reset");
    let shown = ann.get(&reset).await.shows(200, "ben@example.com");
    let form = [
        ("form_token", shown.field("form_token")),
        ("submission", shown.field("submission")),
    ];
    ann.post(&reset, &form).await.leads_to(&page);
    // CON-15: the link that was sent stays valid.
    ann.post(&reset, &form).await.leads_to(&page);
    ann.get(&page).await.shows(200, "This form was sent before");
    assert!(
        ben.get("/console/")
            .await
            .header("location")
            .starts_with("/console/sign-in")
    );
    api.deliver().await;
    let link = mailed_link(api);
    Browser::new(api)
        .get(&link)
        .await
        .shows(200, "ben@example.com");
}

async fn opr_3_the_last_owner_stays(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let own = operators(api).await[0].operator.user_id;
    let page = format!("{LIST}/{own}");
    ann.get(&page).await.shows(200, "This is you");
    for action in ["disable", "remove"] {
        let refused = submit(&mut ann, &format!("{page}/{action}"), &[]).await;
        refused.shows(409, "At least one Owner with a second factor must remain");
    }
    let fields = [("role", "admin"), ("apps", "all")];
    let refused = submit(&mut ann, &page, &fields).await;
    refused.shows(400, "At least one Owner with a second factor must remain");
    assert!(operators(api).await[0].operator.grants.is_owner());
}

async fn opr_1_con_24_each_role_sees_what_it_may_change(api: &Api) {
    let other = api
        .service
        .create_app(Principal::cli(), "Other")
        .await
        .unwrap();
    let app = api.app.id;
    let owner = joined(api, "owner@example.com", "owner", None).await;
    let stranger = joined(api, "stranger@example.com", "viewer", Some(other.id)).await;
    let own = joined(api, "viewer@example.com", "viewer", Some(app)).await;
    let (mut admin, _) = operator(api, "admin@example.com", grants(Role::Admin, Some(app))).await;
    let list = admin.get(LIST).await.shows(200, "viewer@example.com");
    assert!(!list.html.contains("stranger@example.com"), "{}", list.html);
    assert!(
        !list.html.contains(&format!("{LIST}/{owner}\">Edit")),
        "{}",
        list.html
    );
    admin
        .get(&format!("{LIST}/{stranger}"))
        .await
        .shows(404, "Page not found");
    let page = admin
        .get(&format!("{LIST}/{own}"))
        .await
        .shows(200, "Change a role");
    for role in ["owner", "admin"] {
        let choice = format!("name=\"role\" value=\"{role}\"");
        assert!(!page.html.contains(&choice), "{}", page.html);
    }
    // A form that the page did not show.
    let token = page.field("form_token").to_owned();
    for (role, apps) in [
        ("owner", "all"),
        ("admin", &*app.to_string()),
        ("viewer", "all"),
    ] {
        let form = [
            ("form_token", token.as_str()),
            ("role", role),
            ("apps", apps),
        ];
        admin
            .post(&format!("{LIST}/{own}"), &form)
            .await
            .shows(403, "Not allowed");
    }
    let form = [("form_token", token.as_str())];
    admin
        .post(&format!("{LIST}/{own}/reset"), &form)
        .await
        .shows(403, "Not allowed");
    admin
        .post(&format!("{LIST}/{stranger}/remove"), &form)
        .await
        .shows(404, "Page not found");
    assert_eq!(operators(api).await.len(), 4);

    for role in [Role::Developer, Role::Viewer] {
        let email = format!("{role}2@example.com");
        let (mut browser, _) = operator(api, &email, grants(role, Some(app))).await;
        let start = browser.get("/console/").await;
        assert!(
            !start.html.contains(&format!("href=\"{LIST}\"")),
            "{}",
            start.html
        );
        for path in [
            LIST,
            INVITE,
            &format!("{LIST}/{own}"),
            &format!("{LIST}/{own}/remove"),
        ] {
            browser.get(path).await.shows(403, "Not allowed");
        }
        let token = browser
            .get("/console/me")
            .await
            .field("form_token")
            .to_owned();
        let form = [
            ("form_token", token.as_str()),
            ("submission", "a-submission-of-others"),
            ("email", "eve@example.com"),
            ("role", "viewer"),
            ("apps", &*app.to_string()),
        ];
        for path in [
            INVITE,
            &format!("{LIST}/{own}"),
            &format!("{LIST}/{own}/remove"),
        ] {
            browser.post(path, &form).await.shows(403, "Not allowed");
        }
    }
    let open = api
        .service
        .list_invitations(Principal::cli())
        .await
        .unwrap();
    assert_eq!(open, []);
}

async fn changes_need_a_second_factor(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let ben = joined(api, "ben@example.com", "viewer", None).await;
    let token = ann.get("/console/me").await.field("form_token").to_owned();
    api.pass(15 * 60);
    let form = [
        ("form_token", token.as_str()),
        ("role", "admin"),
        ("apps", "all"),
    ];
    for path in [
        INVITE,
        &format!("{LIST}/{ben}"),
        &format!("{LIST}/{ben}/disable"),
    ] {
        let asked = ann.post(path, &form).await;
        assert!(
            asked.header("location").starts_with("/console/step-up?"),
            "{path}"
        );
    }
    let listed = operators(api).await;
    assert!(listed.iter().all(|one| !one.is_disabled));
}

/// CON-7, CON-15
async fn a_management_key_is_created_and_revoked(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let app = api.app.id.to_string();
    let shown = ann.get(NEW_KEY).await.shows(200, "Create a management key");
    let valid = [
        ("form_token", shown.field("form_token")),
        ("submission", shown.field("submission")),
        ("name", "Terraform"),
        ("apps", &*app),
        ("environments", "test"),
        ("scopes", "redirect_urls:read"),
        ("expires_in", "30"),
        ("ip_allow", "127.0.0.0/8\r\n"),
    ];
    for (field, value, message) in [
        ("name", "", "Name must not be empty"),
        ("apps", "", "Select the Apps, or all Apps"),
        ("environments", "prod", "Select an environment"),
        ("scopes", "wallets:sign", "Select at least one scope"),
        ("expires_in", "366", "Enter 1 to 365 days"),
        ("ip_allow", "127.0.0.0/8\r\n10.20.0.0/33", "Line 2: "),
    ] {
        let wrong = valid.map(|(name, own)| (name, if name == field { value } else { own }));
        let page = ann.post(NEW_KEY, &wrong).await.shows(400, message);
        assert!(page.html.contains("Fix 1 field."), "{}", page.html);
        let named = page.html.contains("value=\"Terraform\"");
        assert!(named || field == "name", "{}", page.html);
    }
    let page = ann
        .post(NEW_KEY, &valid)
        .await
        .shows(200, "Copy this key now");
    let key = secret(&page, "mk_");
    let repeated = ann.post(NEW_KEY, &valid).await;
    repeated.leads_to(KEYS);
    let list = ann.get(KEYS).await.shows(200, "redirect_urls:read");
    assert!(!list.html.contains(&key), "CON-7");
    let urls = format!("/v1/manage/apps/{app}/test/redirect_urls");
    assert_eq!(api.with_key(&key).get(&urls).await.status, 200);

    let (_, rest) = list
        .html
        .split_once("href=\"/console/management-keys/key_")
        .unwrap();
    let revoke = format!("{KEYS}/key_{}", rest.split_once('"').unwrap().0);
    ann.get(&revoke).await.shows(200, "Revoke “Terraform”?");
    submit(&mut ann, &revoke, &[]).await.leads_to(KEYS);
    assert_eq!(api.with_key(&key).get(&urls).await.status, 401);
    ann.get(&revoke).await.shows(404, "Page not found");
    ann.get(KEYS).await.shows(200, "No management keys");
    let all = format!("{KEYS}?revoked=1");
    ann.get(&all).await.shows(200, "Revoked");
}

async fn opr_1_management_keys_are_for_owners(api: &Api) {
    for role in [Role::Admin, Role::Developer, Role::Viewer] {
        let email = format!("{role}@example.com");
        let (mut browser, _) = operator(api, &email, grants(role, None)).await;
        let start = browser.get("/console/").await;
        assert!(!start.html.contains(KEYS), "{}", start.html);
        let token = browser
            .get("/console/me")
            .await
            .field("form_token")
            .to_owned();
        let form = [("form_token", token.as_str())];
        let revoke = format!("{KEYS}/key_3OuidZGP2IHbXA3cS4NFTqq1NSM/revoke");
        for path in [KEYS, NEW_KEY, &revoke] {
            browser.get(path).await.shows(403, "Not allowed");
        }
        for path in [NEW_KEY, &revoke] {
            browser.post(path, &form).await.shows(403, "Not allowed");
        }
    }
}
