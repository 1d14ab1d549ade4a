//! Attack 5: addresses that look alike.

use serde_json::json;

use crate::rig::{Api, on_both};

on_both! {
    attack_5_mail_goes_to_the_stored_address
}

/// What folds to the same address as `mike@example.com`, and may be typed by anybody.
const SAME: &[&str] = &[
    "Mike@example.com",
    "MIKE@EXAMPLE.COM",
    " mike@example.com ",
    "mike@EXAMPLE.com",
    "ｍｉｋｅ@example.com",
    "mIkE@ｅｘａｍｐｌｅ.com",
    "\u{1d526}mike@example.com",
];

/// Letters that look like those of `mike` and are others.
const CONFUSABLE: &[(char, &str)] = &[
    ('m', "ⅿmṃⲙ"),
    ('i', "ıіⅰíìîïīįɩι"),
    ('k', "кκⲕķĸ"),
    ('e', "еéèêëēėęəҽ"),
    ('a', "аàáâãäåāăą"),
    ('x', "хҳ×"),
    ('p', "рρⲣ"),
    ('l', "ӏ1ⅼł"),
    ('c', "сⅽçć"),
    ('o', "оοөσ"),
];

/// Every variant is either another person, or `mike`, whose mail goes to the address that mike registered.
async fn attack_5_mail_goes_to_the_stored_address(api: &Api) {
    let stored = "mike@example.com";
    let path = "/v1/auth/otps/email/login_or_create";
    let mike = api.test().post(path, json!({"email": stored})).await.ok();
    let mike = mike.text_at("/user_id");
    let mut variants: Vec<String> = SAME.iter().map(ToString::to_string).collect();
    for (plain, others) in CONFUSABLE {
        for (at, _) in stored.match_indices(*plain) {
            for other in others.chars() {
                let (head, tail) = stored.split_at(at);
                variants.push(format!("{head}{other}{}", &tail[plain.len_utf8()..]));
            }
        }
    }
    let (mut same, mut others, mut refused) = (0, 0, 0);
    for variant in &variants {
        // Ten minutes, so that mike's own send limit is open again.
        api.pass(601);
        let answer = api.test().post(path, json!({"email": variant})).await;
        if answer.status == 400 {
            refused += 1;
            continue;
        }
        let user = answer.ok().text_at("/user_id");
        api.deliver().await;
        let newest = api.test().get("/v1/test/messages").await.ok();
        let to = newest.text_at("/messages/0/to");
        if user == mike {
            same += 1;
            assert_eq!(to, stored, "{variant:?}");
        } else {
            others += 1;
            assert_ne!(to, stored, "{variant:?}");
            assert_eq!(to, variant.trim(), "{variant:?}");
        }
        if same >= 25 {
            break;
        }
    }
    println!(
        "attack 5: {} variants, {same} mike, {others} somebody else, {refused} refused",
        variants.len()
    );
    assert!(same >= 6 && others > 40);
}
