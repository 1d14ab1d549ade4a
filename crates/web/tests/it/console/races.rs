//! CN-R2: forms sent at the same time to two processes (CON-12, CON-15, CON-17).

use futures_util::future::join_all;

use super::*;
use crate::console_pages::{keys, path, save, secret, unescaped};

on_both! { behind_a_proxy;
    cn_r2_con_15_of_parallel_submissions_one_acts
    cn_r2_con_17_of_parallel_saves_one_is_saved
    cn_r2_con_12_a_disabled_operator_is_out_at_once
}

/// Parallel submissions of one form.
const AT_ONCE: usize = 6;

async fn cn_r2_con_15_of_parallel_submissions_one_acts(api: &Api) {
    let second = api.second_listener().await;
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (new, list) = (path(api, "test", "keys/new"), path(api, "test", "keys"));
    for _ in 0..rng::rounds(5) {
        // The limit of forms starts again.
        api.pass(60);
        let before = keys(api, Environment::Test).await.len();
        let shown = ann.get(&new).await;
        let form = [
            ("form_token", shown.field("form_token")),
            ("submission", shown.field("submission")),
            ("kind", "secret"),
            ("name", "Backend"),
            ("preset", "sign-in"),
            ("expires_in", "90"),
        ];
        let sent = join_all((0..AT_ONCE).map(|number| {
            let mut browser = match number % 2 {
                0 => ann.clone(),
                _ => ann.at(&second),
            };
            let (new, form) = (&new, &form);
            async move { browser.post(new, form).await }
        }))
        .await;
        let (made, repeated): (Vec<_>, Vec<_>) = sent.iter().partition(|page| page.status == 200);
        assert_eq!(made.len(), 1, "{sent:?}");
        let key = secret(made[0], "sk_test_");
        for page in repeated {
            page.leads_to(&list);
            assert!(!page.html.contains(&key));
        }
        assert_eq!(keys(api, Environment::Test).await.len(), before + 1);
    }
    second.stop().await;
}

async fn cn_r2_con_17_of_parallel_saves_one_is_saved(api: &Api) {
    let second = api.second_listener().await;
    let owner = grants(Role::Owner, None);
    let (ann, _) = operator(api, "ann@example.com", owner.clone()).await;
    let (ben, _) = operator(api, "ben@example.com", owner).await;
    let mut both = [ann, ben.at(&second)];
    let list = path(api, "live", "settings");
    let review = format!("{list}/review");
    for round in 0..rng::rounds(5) {
        api.pass(60);
        let mut reviewed = Vec::new();
        let wanted: [i64; 2] =
            [0, 1].map(|number| 1_000 + 2 * i64::try_from(round).unwrap() + number);
        for (browser, wanted) in both.iter_mut().zip(wanted) {
            let base = unescaped(browser.get(&list).await.field("base"));
            let fields = [
                ("base", base.as_str()),
                ("shown", "session_idle_minutes"),
                ("session_idle_minutes", &wanted.to_string()),
            ];
            reviewed.push(browser.fill(&list, &review, &fields).await);
        }
        let saves = both.iter_mut().zip(&reviewed);
        let saved = join_all(saves.map(|(browser, page)| save(browser, &list, page))).await;
        let statuses: Vec<_> = saved.iter().map(|page| page.status).collect();
        let winner = statuses.iter().position(|status| *status == 303).unwrap();
        let loser = 1 - winner;
        assert_eq!(statuses[loser], 412, "{statuses:?}");
        // The new difference names both values.
        for value in wanted {
            assert!(saved[loser].html.contains(&value.to_string()));
        }
        let app = api.service.show_app(Principal::cli(), api.app.id).await;
        assert_eq!(app.unwrap().settings.session_idle_minutes, wanted[winner]);
    }
    second.stop().await;
}

/// Once the call that disables an operator has returned, no process serves the operator.
async fn cn_r2_con_12_a_disabled_operator_is_out_at_once(api: &Api) {
    let second = api.second_listener().await;
    for round in 0..rng::rounds(2) {
        api.pass(3_600);
        let email = format!("op{round}@example.com");
        let (mut here, _) = operator(api, &email, grants(Role::Admin, Some(api.app.id))).await;
        let mut there = here.at(&second);
        for browser in [&mut here, &mut there] {
            browser.get("/console/").await.shows(200, "Apps");
        }
        let listed = api.service.list_operators(Principal::cli()).await.unwrap();
        let own = listed.iter().find(|one| one.email == email);
        let id = own.unwrap().operator.user_id;
        let disabled = api
            .service
            .change_operator(Principal::cli(), id, OperatorChange::Disable);
        disabled.await.unwrap();
        let new = path(api, "test", "keys/new");
        for browser in [&mut here, &mut there] {
            let next = browser.get("/console/").await;
            next.leads_to("/console/sign-in?return=%2Fconsole%2F");
            let sent = browser.post(&new, &[("form_token", "x")]).await;
            assert!([303, 403].contains(&sent.status), "{}", sent.status);
        }
    }
    second.stop().await;
}
