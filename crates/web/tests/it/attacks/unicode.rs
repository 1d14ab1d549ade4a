//! Attack 5: addresses that look alike, and spellings of one address that may be two mailboxes.

use serde_json::{Value, json};

use crate::harness::{Api, on_both};

on_both! {
    attack_5_mail_goes_to_the_stored_address
    attack_5_look_alikes_are_others_or_refused
    attack_5_addresses_are_compared_by_one_rule_everywhere
}

const LOGIN: &str = "/v1/auth/otps/email/login_or_create";

/// Pairs of spellings of one identity: the victim's, and the attacker's. The second may be the attacker's mailbox at a server that is
/// case-sensitive or compares bytes.
const ONE_IDENTITY: &[(&str, &str)] = &[
    ("mike@example.com", "Mike@example.com"),
    ("mike@example.com", "MIKE@EXAMPLE.COM"),
    ("j\u{f6}rg@example.com", "J\u{d6}RG@example.com"),
    ("j\u{f6}rg@example.com", "jo\u{308}rg@example.com"),
    ("\u{1f0}an@example.com", "J\u{30c}an@example.com"),
    ("mike@fa\u{df}.de", "MIKE@xn--fa-hia.de"),
    ("mike@XN--BCHER-KVA.example", "Mike@b\u{fc}cher.example"),
];

/// Letters that look like those of `mike@example.com` but differ.
const CONFUSABLE: &[(char, &str)] = &[
    ('m', "ⅿmṃⲙ\u{ff4d}\u{1d526}"),
    ('i', "ıіⅰíìîïīįɩι\u{130}"),
    ('k', "кκⲕķĸ\u{212a}"),
    ('e', "еéèêëēėęəҽ"),
    ('a', "аàáâãäåāăą\u{aa}"),
    ('x', "хҳ×"),
    ('p', "рρⲣ"),
    ('l', "ӏ1ⅼł"),
    ('c', "сⅽçć"),
    ('o', "оοөσ\u{ba}"),
];

/// Requests a code; returns the response and the mail that carries the code.
async fn asked(api: &Api, spelling: &str) -> (Value, Value) {
    let response = api.test().post(LOGIN, json!({"email": spelling})).await;
    let response = response.ok().body.clone();
    api.deliver().await;
    let newest = api.test().get("/v1/test/messages").await.ok();
    (response, newest.body["messages"][0].clone())
}

async fn verified(api: &Api, response: &Value, code: &Value) -> u16 {
    let body = json!({"method_id": response["email_id"], "otp": code});
    let response = api.test().post("/v1/auth/otps/verify", body).await;
    response.status
}

/// The attacker comes first with a spelling of their own. Each code goes to the spelling of its request until one is proved.
///
/// From then on all mail goes there, and the victim's proof never reaches the attacker's mailbox.
async fn attack_5_mail_goes_to_the_stored_address(api: &Api) {
    for (number, (victim, attacker)) in ONE_IDENTITY.iter().enumerate() {
        let own = format!("{number}{victim}");
        let other = format!("{number}{attacker}");
        let (planted, theirs) = asked(api, &other).await;
        assert_eq!(theirs["to"], other);
        // Immediately, within the time in which an identical request would only be repeated.
        let (response, mail) = asked(api, &own).await;
        assert_eq!(response["user_id"], planted["user_id"], "{own} and {other}");
        assert_eq!(response["user_created"], false, "{own} and {other}");
        assert_eq!(mail["to"], own, "the code of {own} went elsewhere");
        if theirs["code"] != mail["code"] {
            assert_eq!(verified(api, &response, &theirs["code"]).await, 400);
        }
        assert_eq!(verified(api, &response, &mail["code"]).await, 200);
        let path = format!("/v1/auth/users/{}", response["user_id"].as_str().unwrap());
        let user = api.test().get(&path).await.ok();
        assert_eq!(user.text_at("/emails/0/email"), own);
        for (path, body) in [
            (LOGIN, json!({"email": other})),
            ("/v1/auth/otps/email/send", json!({"email": other})),
        ] {
            api.pass(61);
            api.test().post(path, body).await.ok();
            api.deliver().await;
            let newest = api.test().get("/v1/test/messages").await.ok();
            assert_eq!(newest.text_at("/messages/0/to"), own, "{path} of {other}");
        }
        let user = api.test().get(&path).await.ok();
        assert_eq!(user.text_at("/emails/0/email"), own, "{other}");
    }
}

/// Every look-alike of an address is another identity and is written to as spelled, or it is refused.
async fn attack_5_look_alikes_are_others_or_refused(api: &Api) {
    let stored = "mike@example.com";
    let (mike, _) = asked(api, stored).await;
    let mut variants = Vec::new();
    for (plain, others) in CONFUSABLE {
        for (at, _) in stored.match_indices(*plain) {
            for other in others.chars().filter(|other| other != plain) {
                let (head, tail) = stored.split_at(at);
                variants.push(format!("{head}{other}{}", &tail[plain.len_utf8()..]));
            }
        }
    }
    let (mut same, mut others, mut refused) = (0, 0, 0);
    for variant in &variants {
        // The limits of an address reset.
        api.pass(601);
        let response = api.test().post(LOGIN, json!({"email": variant})).await;
        if response.status == 400 {
            assert_eq!(response.text_at("/error/param"), "email");
            refused += 1;
            continue;
        }
        api.deliver().await;
        let newest = api.test().get("/v1/test/messages").await.ok();
        assert_eq!(newest.text_at("/messages/0/to"), *variant);
        if response.ok().text_at("/user_id") == mike["user_id"].as_str().unwrap() {
            // The DNS sees no difference: UTS #46 maps the letter of the domain.
            let (local, _) = variant.split_once('@').unwrap();
            assert_eq!(local, "mike", "{variant:?} is mike");
            same += 1;
        } else {
            others += 1;
        }
    }
    println!(
        "attack 5: {} variants, {same} mike, {others} other identities, {refused} refused",
        variants.len()
    );
    assert!(others > 40 && refused >= 6);
}

/// Search, captured messages and reserved addresses compare like sign-in does.
async fn attack_5_addresses_are_compared_by_one_rule_everywhere(api: &Api) {
    let (response, _) = asked(api, "J\u{f6}rg@fa\u{df}.de").await;
    let user = response["user_id"].as_str().unwrap();
    for (field, value, is_found) in [
        ("email", "j\u{d6}RG@xn--fa-hia.de", true),
        ("email", "jo\u{308}rg@fa\u{df}.de", true),
        ("email", "j\u{f6}rg@fass.de", false),
        ("email", "j\u{f6}\u{ff52}g@fa\u{df}.de", false),
        ("email_match", "G@FA\u{df}", true),
        ("email_match", "@XN--FA-HIA", true),
        ("email_match", "JO\u{308}R", true),
        ("email_match", "fass", false),
        ("email_match", "j\u{f6}\u{ff52}g", false),
    ] {
        let fields = json!([{"field": field, "operator": "eq", "value": value}]);
        let body = json!({"filters": {"operator": "AND", "fields": fields}});
        let found = api.test().post("/v1/auth/users/search", body).await.ok();
        let found: Vec<_> = found.body["users"].as_array().unwrap().clone();
        let found: Vec<_> = found.iter().map(|found| found["user_id"].clone()).collect();
        let expected: Vec<Value> = is_found.then(|| json!(user)).into_iter().collect();
        assert_eq!(found, expected, "{field} {value}");
    }
    for (to, number) in [
        ("j%C3%B6rg@xn--fa-hia.de", 1),
        ("JO%CC%88RG@FA%C3%9F.DE", 1),
        ("j%C3%B6rg@fass.de", 0),
    ] {
        let path = format!("/v1/test/messages?to={to}");
        let found = api.test().get(&path).await.ok();
        assert_eq!(
            found.body["messages"].as_array().unwrap().len(),
            number,
            "{to}"
        );
    }
    let (reserved, mail) = asked(api, "OK+Tag@VESTRY\u{3002}test").await;
    assert_eq!(mail["code"], "000000");
    assert_eq!(verified(api, &reserved, &json!("000000")).await, 200);
    let odd = api
        .test()
        .post(LOGIN, json!({"email": "o\u{212a}@vestry.test"}))
        .await;
    assert_eq!(odd.status, 400);
}
