//! `users/search`.

use std::time::Duration;

use serde_json::{Value, json};
use vestry_app::identity::users::{PortableEmail, PortableUser};
use vestry_domain::{Environment, World};

use crate::harness::{
    Api, Client, Lane, Options, Response, assert_response_snapshot, on_both, on_with, operator,
};

const SEARCH: &str = "/v1/auth/users/search";

on_both! {
    m_20_an_imported_user_is_found_by_its_external_key
    a_page_shows_users_with_a_summary_of_their_wallets
    every_field_and_operator_finds_its_users
    authenticator_apps_find_their_users
    numbers_and_addresses_are_found_in_other_spellings
    conditions_work_together
    pages_follow_each_other
    unknown_fields_and_operators_are_named
    a_refused_search_names_its_field
    m_28_an_impossible_value_finds_no_user
    a_search_stays_in_its_environment
}

/// A search that exceeds the time limit is 503 and says what else to search by. An unfiltered list has no limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_31_a_search_that_takes_too_long_says_what_to_narrow() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        let mut options = Options::default();
        options.service.search_within = Duration::ZERO;
        on_with(lane, options, async |api| {
            let client = api.test();
            created(&client, json!({"email": "ada@example.com"})).await;
            let fields = json!([{"field": "email_match", "operator": "eq", "value": "ada"}]);
            let request = json!({"filters": {"operator": "AND", "fields": fields}});
            let given_up = search(&client, request).await;
            given_up.refuses(503, "unavailable", Some("filters"));
            assert_eq!(given_up.header("retry-after"), Some("1"));
            let message = given_up.text_at("/error/message");
            for remedy in ["email", "wallet_public_address", "created_at"] {
                assert!(message.contains(remedy), "{message}");
            }
            let all = search(&client, json!({})).await.ok();
            assert_eq!(all.body["total_count"], 1);
        })
        .await;
    }
}

/// Filtered searches have slots of their own: without a free one the search is 503 at once, and everything else still works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_31_a_search_without_a_free_slot_is_refused_at_once() {
    for lane in [Lane::Sqlite, Lane::Postgres] {
        let mut options = Options::default();
        options.service.searches_at_once = 0;
        on_with(lane, options, async |api| {
            let client = api.test();
            created(&client, json!({"email": "ada@example.com"})).await;
            let fields = json!([{"field": "email_match", "operator": "eq", "value": "ada"}]);
            let request = json!({"filters": {"operator": "AND", "fields": fields}});
            let refused = search(&client, request).await;
            refused.refuses(503, "unavailable", None);
            assert_eq!(refused.header("retry-after"), Some("2"));
            let all = search(&client, json!({})).await.ok();
            assert_eq!(all.body["total_count"], 1);
        })
        .await;
    }
}

async fn created(client: &Client<'_>, request: Value) -> Value {
    let mut request = request;
    request["include_user"] = json!(true);
    let created = client.post("/v1/auth/users/create", request).await.ok();
    created.body["user"].clone()
}

async fn search(client: &Client<'_>, request: Value) -> Response {
    client.post(SEARCH, request).await
}

/// The first names of the matching users, newest first, after checking the totals.
async fn found(client: &Client<'_>, operator: &str, fields: Value) -> Vec<String> {
    let request = json!({"filters": {"operator": operator, "fields": fields}});
    let response = search(client, request).await.ok();
    let users = response.body["users"].as_array().unwrap();
    assert_eq!(response.body["total_count"], users.len());
    assert_eq!(response.body["has_more"], false);
    let name = |user: &Value| user["first_name"].as_str().unwrap().to_owned();
    users.iter().map(name).collect()
}

/// The other service's key of a user is in every response with the user, and finds it by exact comparison. A user who was imported without
/// one has none.
async fn m_20_an_imported_user_is_found_by_its_external_key(api: &Api) {
    let world = World::new(api.app.id, Environment::Test);
    let line = |key: &str, name: &str| PortableUser {
        external_key: Some(key.to_owned()),
        first_name: name.to_owned(),
        emails: vec![PortableEmail {
            email: format!("{name}@example.com"),
            verified: true,
        }],
        ..PortableUser::default()
    };
    let lines = [line("old-1", "Ada"), line("OLD-1", "Bob"), line("%", "Eve")];
    let mut import = api
        .service
        .import_users(&operator(&api.service, world).await, false)
        .await
        .unwrap();
    import.take(&lines).await.unwrap();
    let test = api.test();
    created(
        &test,
        json!({"email": "dan@example.com", "first_name": "Dan"}),
    )
    .await;
    for (operator, value, expected) in [
        ("eq", json!("old-1"), vec!["Ada"]),
        ("eq", json!("OLD-1"), vec!["Bob"]),
        ("eq", json!("%"), vec!["Eve"]),
        ("eq", json!("old"), vec![]),
        ("eq", json!(""), vec![]),
        ("in", json!(["old-1", "%", "none"]), vec!["Ada", "Eve"]),
    ] {
        let mut field = json!({"field": "external_key", "operator": operator});
        field[if operator == "in" { "values" } else { "value" }] = value;
        let mut names = found(&test, "AND", json!([field])).await;
        names.sort();
        assert_eq!(names, expected, "{operator}");
    }
    let page = search(&test, json!({})).await.ok();
    for user in page.body["users"].as_array().unwrap() {
        let expected = match user["first_name"].as_str().unwrap() {
            "Ada" => "old-1",
            "Bob" => "OLD-1",
            "Eve" => "%",
            _ => "",
        };
        assert_eq!(user["external_key"], expected);
        let path = format!("/v1/auth/users/{}", user["user_id"].as_str().unwrap());
        assert_eq!(test.get(&path).await.ok().body["external_key"], expected);
        let update = json!({"last_name": "X"});
        let path = format!("{path}/update");
        let updated = test.send("PUT", &path, Some(update)).await.ok();
        assert_eq!(updated.body["user"]["external_key"], expected);
    }
}

async fn a_page_shows_users_with_a_summary_of_their_wallets(api: &Api) {
    let request = json!({"email": "ada@example.com", "metadata": {"plan": "pro"}});
    created(&api.test(), request).await;
    let page = search(&api.test(), json!({})).await.ok();
    assert_response_snapshot!(page, @r#"
    {
      "body": {
        "has_more": false,
        "total_count": 1,
        "users": [
          {
            "active": true,
            "app_id": "[app id]",
            "created_at": 1800000000,
            "disabled_at": 0,
            "disabled_reason": "",
            "emails": [
              {
                "created_at": 1800000000,
                "email": "ada@example.com",
                "id": "[email id]",
                "updated_at": 1800000000,
                "verified": false
              }
            ],
            "external_key": "",
            "first_name": "",
            "idp_providers": [],
            "last_name": "",
            "last_sign_in_at": 0,
            "metadata": {
              "plan": "pro"
            },
            "middle_name": "",
            "phone_numbers": [],
            "status": "active",
            "totps": [],
            "updated_at": 1800000000,
            "user_id": "[user id]",
            "wallets": [
              {
                "app_id": "[app id]",
                "created_at": 1800000000,
                "id": "[wallet id]",
                "is_default": true,
                "public_address": "[ethereum address]",
                "updated_at": 1800000000,
                "user_id": "[user id]",
                "wallet_type": "ethereum"
              }
            ],
            "webauthn_credentials": []
          }
        ]
      },
      "status": 200
    }
    "#);
    // Without a body at all, too.
    let page = api.test().send("POST", SEARCH, None).await.ok();
    assert_eq!(page.body["total_count"], 1);
}

/// Every searchable field of this release, with every operator it supports (API-12).
async fn every_field_and_operator_finds_its_users(api: &Api) {
    let test = api.test();
    let mut users = Vec::new();
    for (name, last, email, phone, metadata) in [
        (
            "Ada",
            "Lovelace",
            "ada@example.com",
            "+14155552671",
            json!({"plan": "pro", "seats": 3}),
        ),
        (
            "Bob",
            "O'Brien",
            "BOB@Example.org",
            "+447400123456",
            json!({"plan": "free", "on": true}),
        ),
        (
            "Zo\u{eb}",
            "100%",
            "zoe_x@b\u{fc}cher.example",
            "+33612345678",
            json!({"tags": ["pro"]}),
        ),
    ] {
        let request = json!({
            "first_name": name, "last_name": last, "email": email, "phone_number": phone, "metadata": metadata,
            "requires_verification": name == "Bob",
        });
        users.push(created(&test, request).await);
        api.pass(10);
    }
    let [ada, bob, zoe] = [&users[0], &users[1], &users[2]];
    let (all, none) = (vec!["Zo\u{eb}", "Bob", "Ada"], Vec::<&str>::new());
    let eq = |field: &str, value: &Value| json!({"field": field, "operator": "eq", "value": value});
    let among = |field: &str, values: &[&Value]| json!({"field": field, "operator": "in", "values": values});
    let cases: Vec<(Value, Vec<&str>)> = vec![
        (eq("user_id", &ada["user_id"]), vec!["Ada"]),
        (
            among("user_id", &[&ada["user_id"], &zoe["user_id"]]),
            vec!["Zo\u{eb}", "Ada"],
        ),
        (eq("status", &json!("pending")), vec!["Bob"]),
        (
            among("status", &[&json!("pending"), &json!("active")]),
            all.clone(),
        ),
        (eq("full_name_match", &json!("LOVE")), vec!["Ada"]),
        (
            eq("full_name_match", &json!("zo\u{cb} 1")),
            vec!["Zo\u{eb}"],
        ),
        (eq("full_name_match", &json!("%")), vec!["Zo\u{eb}"]),
        (eq("phone_number", &json!("+447400123456")), vec!["Bob"]),
        (
            among(
                "phone_number",
                &[&json!("+447400123456"), &json!("+14155552671")],
            ),
            vec!["Bob", "Ada"],
        ),
        (
            eq("phone_number_id", &bob["phone_numbers"][0]["id"]),
            vec!["Bob"],
        ),
        (
            among("phone_number_id", &[&bob["phone_numbers"][0]["id"]]),
            vec!["Bob"],
        ),
        (eq("phone_number_match", &json!("(415) 555")), vec!["Ada"]),
        (eq("phone_number_verified", &json!(false)), all.clone()),
        (eq("phone_number_verified", &json!("true")), none.clone()),
        (eq("email", &json!("Bob@example.ORG")), vec!["Bob"]),
        (
            among(
                "email",
                &[&json!("bob@example.org"), &json!("unknown@example.org")],
            ),
            vec!["Bob"],
        ),
        (eq("email_id", &zoe["emails"][0]["id"]), vec!["Zo\u{eb}"]),
        (
            among("email_id", &[&zoe["emails"][0]["id"]]),
            vec!["Zo\u{eb}"],
        ),
        (eq("email_match", &json!("@EXAMPLE")), vec!["Bob", "Ada"]),
        (
            eq("email_match", &json!("_X@B\u{dc}CHER")),
            vec!["Zo\u{eb}"],
        ),
        (eq("email_verified", &json!(false)), all.clone()),
        (eq("email_verified", &json!(true)), none.clone()),
        (
            eq(
                "wallet_public_address",
                &ada["wallets"][0]["public_address"],
            ),
            vec!["Ada"],
        ),
        (
            among(
                "wallet_public_address",
                &[&ada["wallets"][0]["public_address"]],
            ),
            vec!["Ada"],
        ),
        (eq("wallet_id", &bob["wallets"][0]["id"]), vec!["Bob"]),
        (
            among(
                "wallet_id",
                &[&bob["wallets"][0]["id"], &ada["wallets"][0]["id"]],
            ),
            vec!["Bob", "Ada"],
        ),
        (eq("idp_provider", &json!("google")), none.clone()),
        (among("idp_provider", &[&json!("google")]), none.clone()),
        (eq("metadata.plan", &json!("pro")), vec!["Ada"]),
        (eq("metadata.seats", &json!(3)), vec!["Ada"]),
        (eq("metadata.seats", &json!("3")), vec!["Ada"]),
        (eq("metadata.on", &json!(true)), vec!["Bob"]),
        (eq("metadata.tags", &json!("pro")), none.clone()),
        (
            among("metadata.plan", &[&json!("pro"), &json!("free")]),
            vec!["Bob", "Ada"],
        ),
        (eq("created_at", &json!(1_800_000_010)), vec!["Bob"]),
        (eq("created_at", &json!("1800000010")), vec!["Bob"]),
        (
            json!({"field": "created_at", "operator": "lt", "value": 1_800_000_010}),
            vec!["Ada"],
        ),
        (
            json!({"field": "created_at", "operator": "gt", "value": 1_800_000_010}),
            vec!["Zo\u{eb}"],
        ),
        (
            json!({"field": "created_at", "operator": "between", "value": 1_800_000_000, "second_value": 1_800_000_010}),
            vec!["Bob", "Ada"],
        ),
    ];
    for (field, expected) in cases {
        for operator in ["AND", "OR"] {
            let names = found(&test, operator, json!([field])).await;
            assert_eq!(names, expected, "{field}");
        }
    }
    // The address of a verified user.
    let deleted = api
        .test()
        .delete(
            &format!("/v1/auth/users/{}/delete", bob["user_id"].as_str().unwrap()),
            None,
        )
        .await;
    deleted.ok();
    assert_eq!(
        found(&test, "AND", json!([eq("status", &json!("pending"))])).await,
        none
    );
}

/// An unverified TOTP does not exist after its expiry: it is not found, shown or deletable.
async fn authenticator_apps_find_their_users(api: &Api) {
    let test = api.test();
    let request = json!({"email": "ada@example.com", "first_name": "Ada"});
    let ada = created(&test, request).await;
    let request = json!({"user_id": ada["user_id"], "expires_in": 5});
    let totp = test.post("/v1/auth/totps/create", request).await.ok();
    let totp = totp.text_at("/totp_id");
    let by =
        |field: &str, value: Value| json!([{"field": field, "operator": "eq", "value": value}]);
    let (by_id, waiting) = (
        by("totp_id", json!(totp)),
        by("totp_verified", json!(false)),
    );
    for fields in [&by_id, &waiting] {
        assert_eq!(found(&test, "AND", fields.clone()).await, ["Ada"]);
    }
    let verified = by("totp_verified", json!(true));
    assert_eq!(found(&test, "AND", verified).await.len(), 0);
    api.pass(300);
    for fields in [by_id, waiting] {
        assert_eq!(found(&test, "AND", fields).await.len(), 0);
    }
    let path = format!("/v1/auth/users/totps/{totp}/delete");
    let refused = test.delete(&path, None).await;
    refused.refuses(404, "not_found", Some("totp"));
}

/// 5.0 equals 5, and an Ethereum address in one case equals the mixed-case one.
async fn numbers_and_addresses_are_found_in_other_spellings(api: &Api) {
    let test = api.test();
    let request =
        json!({"email": "ada@example.com", "first_name": "Ada", "metadata": {"seats": 5}});
    let ada = created(&test, request).await;
    let request =
        json!({"email": "bob@example.com", "first_name": "Bob", "metadata": {"seats": 5.0}});
    created(&test, request).await;
    for value in [json!(5), json!(5.0), json!("5")] {
        let fields = json!([{"field": "metadata.seats", "operator": "eq", "value": value}]);
        let mut names = found(&test, "AND", fields).await;
        names.sort();
        assert_eq!(names, ["Ada", "Bob"], "{value}");
    }
    let address = ada["wallets"][0]["public_address"].as_str().unwrap();
    let upper = address.to_uppercase().replacen("0X", "0x", 1);
    for value in [address, &address.to_lowercase(), &upper] {
        let fields =
            json!([{"field": "wallet_public_address", "operator": "in", "values": ["x", value]}]);
        assert_eq!(found(&test, "AND", fields).await, ["Ada"], "{value}");
    }
    let at = json!([{"field": "created_at", "operator": "eq", "value": 1_800_000_000.0}]);
    assert_eq!(found(&test, "AND", at).await.len(), 2);
    let page = search(&test, json!({"limit": 10.0})).await.ok();
    assert_eq!(page.body["total_count"], 2);
}

async fn conditions_work_together(api: &Api) {
    let test = api.test();
    for (name, plan, pending) in [("A", "pro", true), ("B", "pro", false), ("C", "free", true)] {
        let request = json!({
            "email": format!("{name}@example.com"), "first_name": name, "metadata": {"plan": plan},
            "requires_verification": pending,
        });
        created(&test, request).await;
        api.pass(1);
    }
    let fields = json!([
        {"field": "status", "operator": "eq", "value": "pending"},
        {"field": "metadata.plan", "operator": "eq", "value": "pro"},
    ]);
    assert_eq!(found(&test, "AND", fields.clone()).await, ["A"]);
    assert_eq!(found(&test, "OR", fields.clone()).await, ["C", "B", "A"]);
    let fields = json!([
        {"field": "email", "operator": "eq", "value": "b@example.com"},
        {"field": "full_name_match", "operator": "eq", "value": "c"},
        {"field": "email_match", "operator": "eq", "value": "unknown"},
    ]);
    assert_eq!(found(&test, "OR", fields.clone()).await, ["C", "B"]);
    assert_eq!(found(&test, "AND", fields).await, Vec::<String>::new());
}

async fn pages_follow_each_other(api: &Api) {
    let test = api.test();
    let mut ids = Vec::new();
    for number in 0..23 {
        let request = json!({"email": format!("u{number}@example.com")});
        ids.insert(0, created(&test, request).await["user_id"].clone());
        api.pass(1);
    }
    let filters = json!({"operator": "AND", "fields": [{"field": "email_match", "operator": "eq", "value": "@example"}]});
    for filters in [json!(null), filters] {
        let mut shown = Vec::new();
        let mut sizes = Vec::new();
        let mut after = json!(null);
        loop {
            let request = json!({"limit": 10, "starting_after": after, "filters": filters});
            let page = search(&test, request).await.ok();
            assert_eq!(page.body["total_count"], 23);
            let users = page.body["users"].as_array().unwrap();
            sizes.push(users.len());
            shown.extend(users.iter().map(|user| user["user_id"].clone()));
            if page.body["has_more"] == false {
                break;
            }
            after = shown.last().unwrap().clone();
        }
        assert_eq!(sizes, [10, 10, 3]);
        assert_eq!(shown, ids);
    }
    let page = search(&test, json!({"limit": 100})).await.ok();
    assert_eq!(page.body["users"].as_array().unwrap().len(), 23);
    // A deleted user still marks a position in the order.
    let gone = ids[9].as_str().unwrap();
    let path = format!("/v1/auth/users/{gone}/delete");
    api.test().delete(&path, None).await.ok();
    let page = search(&test, json!({"limit": 10, "starting_after": gone}))
        .await
        .ok();
    assert_eq!(page.body["users"][0]["user_id"], ids[10]);
    assert_eq!(page.body["total_count"], 22);
}

/// API-12: an unknown field or operator is 400 and named.
async fn unknown_fields_and_operators_are_named(api: &Api) {
    for (request, param, name) in [
        (
            json!({"field": "shoe_size", "operator": "eq", "value": "42"}),
            "filters.fields[1].field",
            "shoe_size",
        ),
        (
            json!({"field": "email", "operator": "like", "value": "a"}),
            "filters.fields[1].operator",
            "like",
        ),
        (
            json!({"field": "email", "operator": "gt", "value": "a"}),
            "filters.fields[1].operator",
            "gt",
        ),
        (
            json!({"field": "full_name_match", "operator": "in", "values": ["a"]}),
            "filters.fields[1].operator",
            "in",
        ),
    ] {
        let known = json!({"field": "status", "operator": "eq", "value": "active"});
        let filters = json!({"operator": "OR", "fields": [known, request]});
        let refused = search(&api.test(), json!({"filters": filters})).await;
        refused.refuses(400, "unknown_field", Some(param));
        assert!(
            refused.text_at("/error/message").contains(name),
            "{}",
            refused.text
        );
    }
    let fields = json!([{"field": "status", "operator": "eq", "value": "active"}]);
    let refused = search(
        &api.test(),
        json!({"filters": {"operator": "XOR", "fields": fields}}),
    )
    .await;
    refused.refuses(400, "unknown_field", Some("filters.operator"));
    assert!(refused.text_at("/error/message").contains("XOR"));
}

async fn a_refused_search_names_its_field(api: &Api) {
    let with = |field: Value| json!({"filters": {"operator": "AND", "fields": [field]}});
    for (request, code, param) in [
        (json!({"limit": 9}), "invalid_field", "limit"),
        (json!({"limit": 101}), "invalid_field", "limit"),
        (json!({"limit": "50"}), "invalid_field", "limit"),
        (json!({"limit": 10.5}), "invalid_field", "limit"),
        (
            json!({"starting_after": ""}),
            "invalid_field",
            "starting_after",
        ),
        (
            json!({"starting_after": format!("wallet_{}", "0".repeat(27))}),
            "invalid_field",
            "starting_after",
        ),
        (json!({"filters": []}), "invalid_field", "filters"),
        (
            json!({"filters": {"operator": "AND"}}),
            "missing_field",
            "filters.fields",
        ),
        (
            json!({"filters": {"fields": []}}),
            "missing_field",
            "filters.operator",
        ),
        (
            json!({"filters": {"operator": "AND", "fields": []}}),
            "invalid_field",
            "filters.fields",
        ),
        (
            with(json!({"operator": "eq", "value": "x"})),
            "missing_field",
            "filters.fields[0].field",
        ),
        (
            with(json!({"field": "email", "value": "x"})),
            "missing_field",
            "filters.fields[0].operator",
        ),
        (
            with(json!({"field": "email", "operator": "eq"})),
            "missing_field",
            "filters.fields[0].value",
        ),
        (
            with(json!({"field": "email", "operator": "eq", "value": null})),
            "missing_field",
            "filters.fields[0].value",
        ),
        (
            with(json!({"field": "email", "operator": "eq", "value": {}})),
            "invalid_field",
            "filters.fields[0].value",
        ),
        (
            with(json!({"field": "email", "operator": "in", "value": "x"})),
            "missing_field",
            "filters.fields[0].values",
        ),
        (
            with(json!({"field": "status", "operator": "in", "values": []})),
            "invalid_field",
            "filters.fields[0].values",
        ),
        (
            with(json!({"field": "status", "operator": "in", "values": ["active", ["gone"]]})),
            "invalid_field",
            "filters.fields[0].values[1]",
        ),
        (
            with(json!({"field": "created_at", "operator": "between", "value": 1})),
            "missing_field",
            "filters.fields[0].second_value",
        ),
        (
            with(json!({"field": "full_name_match", "operator": "eq", "value": "a\u{0}"})),
            "invalid_field",
            "filters.fields[0].value",
        ),
    ] {
        let refused = search(&api.test(), request).await;
        refused.refuses(400, code, Some(param));
    }
}

/// An empty page and no refusal, as for a value that no user has; combined with others, the condition is false.
async fn m_28_an_impossible_value_finds_no_user(api: &Api) {
    let test = api.test();
    created(
        &test,
        json!({"email": "ada@example.com", "first_name": "Ada"}),
    )
    .await;
    let of_wallet = format!("wallet_{}", "0".repeat(27));
    for (field, value) in [
        ("user_id", json!(of_wallet)),
        ("user_id", json!("user_1")),
        ("email_id", json!(of_wallet)),
        ("phone_number_id", json!("")),
        ("wallet_id", json!(7)),
        ("totp_id", json!("x")),
        ("email", json!("ada")),
        ("phone_number", json!("not a number")),
        ("phone_number_match", json!("none")),
        ("status", json!("gone")),
        ("email_verified", json!("maybe")),
        ("created_at", json!("yesterday")),
    ] {
        let condition = json!({"field": field, "operator": "eq", "value": value});
        for operator in ["AND", "OR"] {
            let none = found(&test, operator, json!([condition])).await;
            assert!(none.is_empty(), "{field}");
            let ada = json!({"field": "full_name_match", "operator": "eq", "value": "ada"});
            let beside = found(&test, operator, json!([condition, ada])).await;
            let expected = if operator == "OR" { 1 } else { 0 };
            assert_eq!(beside.len(), expected, "{field} {operator}");
        }
    }
    // Of several values, only those that are possible for the field count.
    let values = json!(["ada", "ada@example.com", "@"]);
    let among = json!({"field": "email", "operator": "in", "values": values});
    assert_eq!(found(&test, "AND", json!([among])).await, ["Ada"]);
    for (field, operator) in [("e_mail", "eq"), ("email", "is")] {
        let condition = json!({"field": field, "operator": operator, "value": "ada"});
        let request = json!({"filters": {"operator": "AND", "fields": [condition]}});
        let refused = search(&test, request).await;
        assert_eq!((refused.status, refused.code()), (400, "unknown_field"));
    }
}

/// I11: neither another App nor the other environment finds anything, whatever the search.
async fn a_search_stays_in_its_environment(api: &Api) {
    let user = created(&api.test(), json!({"email": "ada@example.com"})).await;
    let filters = json!({"operator": "OR", "fields": [
        {"field": "email", "operator": "eq", "value": "ada@example.com"},
        {"field": "user_id", "operator": "eq", "value": user["user_id"]},
        {"field": "wallet_id", "operator": "eq", "value": user["wallets"][0]["id"]},
    ]});
    for stranger in [api.live(), api.other_app().await] {
        for request in [json!({}), json!({"filters": filters})] {
            let page = search(&stranger, request).await.ok();
            assert_eq!(
                page.body,
                json!({"users": [], "total_count": 0, "has_more": false})
            );
        }
    }
    let page = search(&api.test(), json!({"filters": filters})).await.ok();
    assert_eq!(page.body["total_count"], 1);
}
