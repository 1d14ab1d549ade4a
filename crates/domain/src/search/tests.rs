use serde_json::json;

use super::*;
use crate::email::Email;
use crate::invalid::Reason;

fn raw(field: &str, operator: &str, value: Value) -> RawCondition {
    RawCondition {
        field: field.into(),
        operator: operator.into(),
        value: Some(value),
        ..RawCondition::default()
    }
}

fn one(raw: &RawCondition) -> Result<Condition, Invalid> {
    let mut filter = UserFilter::parse("AND", std::slice::from_ref(raw))?;
    Ok(filter.conditions.remove(0))
}

fn read(field: &str, operator: &str, value: Value) -> Condition {
    match one(&raw(field, operator, value)) {
        Ok(condition) => condition,
        Err(refused) => panic!("{field} {operator}: {refused}"),
    }
}

fn refused(raw: &RawCondition) -> (String, Reason) {
    let refused = one(raw).unwrap_err();
    (refused.param.into_owned(), refused.reason)
}

/// Every field that this release can search (API-12).
#[test]
fn every_field_is_read() {
    let (user, email, pn, wallet) = (
        "user_000000000000000000000000000",
        "email_000000000000000000000000000",
        "pn_000000000000000000000000000",
        "wallet_000000000000000000000000000",
    );
    let identity = Email::parse("ada@example.com").unwrap().identity().clone();
    let number = PhoneNumber::parse("+14155552671").unwrap();
    let cases = [
        (
            "user_id",
            json!(user),
            Condition::UserId(vec![user.parse().unwrap()]),
        ),
        (
            "external_key",
            json!("old-1"),
            Condition::ExternalKey(vec!["old-1".into()]),
        ),
        (
            "status",
            json!("pending"),
            Condition::Status(vec![ShownStatus::Pending]),
        ),
        (
            "full_name_match",
            json!("ÉD"),
            Condition::FullNameMatch("éd".into()),
        ),
        (
            "phone_number",
            json!("+14155552671"),
            Condition::PhoneNumber(vec![number]),
        ),
        (
            "phone_number_id",
            json!(pn),
            Condition::PhoneNumberId(vec![pn.parse().unwrap()]),
        ),
        (
            "phone_number_match",
            json!("+1 (415)"),
            Condition::PhoneNumberMatch("1415".into()),
        ),
        (
            "phone_number_match",
            json!(415),
            Condition::PhoneNumberMatch("415".into()),
        ),
        (
            "phone_number_verified",
            json!(true),
            Condition::PhoneNumberVerified(true),
        ),
        (
            "email",
            json!("ADA@Example.com"),
            Condition::Email(vec![identity]),
        ),
        (
            "email_id",
            json!(email),
            Condition::EmailId(vec![email.parse().unwrap()]),
        ),
        (
            "email_match",
            json!("@EXAMPLE"),
            Condition::EmailMatch("@example".into()),
        ),
        (
            "email_verified",
            json!("false"),
            Condition::EmailVerified(false),
        ),
        (
            "wallet_public_address",
            json!("0xAb"),
            Condition::WalletPublicAddress(vec!["0xAb".into()]),
        ),
        (
            "wallet_id",
            json!(wallet),
            Condition::WalletId(vec![wallet.parse().unwrap()]),
        ),
        (
            "idp_provider",
            json!("google"),
            Condition::IdpProvider(vec!["google".into()]),
        ),
        (
            "metadata.plan",
            json!("pro"),
            Condition::Metadata(vec![MetadataDigest::new("plan", "pro")]),
        ),
        (
            "metadata.a.b",
            json!(1),
            Condition::Metadata(vec![MetadataDigest::new("a.b", "1")]),
        ),
    ];
    for (field, value, expected) in cases {
        assert!(read(field, "eq", value) == expected, "{field}");
    }
}

#[test]
fn in_accepts_a_list() {
    let condition = RawCondition {
        values: Some(vec![json!("active"), json!("pending")]),
        ..raw("status", "in", Value::Null)
    };
    let statuses = vec![ShownStatus::Active, ShownStatus::Pending];
    assert!(one(&condition).unwrap() == Condition::Status(statuses));
    let missing = raw("status", "in", json!("active"));
    assert_eq!(
        refused(&missing),
        ("filters.fields[0].values".into(), Reason::Missing)
    );
    for count in [0, MAX_VALUES + 1] {
        let list = RawCondition {
            values: Some(vec![json!("active"); count]),
            ..missing.clone()
        };
        assert_eq!(
            refused(&list),
            ("filters.fields[0].values".into(), Reason::Value),
            "{count}"
        );
    }
    let bad = RawCondition {
        values: Some(vec![json!("active"), json!({})]),
        ..missing
    };
    assert_eq!(
        refused(&bad),
        ("filters.fields[0].values[1]".into(), Reason::Value)
    );
}

#[test]
fn periods_have_bounds() {
    let period = |operator: &str, value: i64, second: Option<i64>| {
        let raw = RawCondition {
            second_value: second.map(|second| json!(second)),
            ..raw("created_at", operator, json!(value))
        };
        match one(&raw).unwrap() {
            Condition::CreatedAt(period) => (period.from.unix(), period.to.unix()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(period("eq", 7, None), (7, 7));
    assert_eq!(period("lt", 7, None), (i64::MIN, 6));
    assert_eq!(period("gt", 7, None), (8, i64::MAX));
    assert_eq!(period("between", 7, Some(9)), (7, 9));
    let text = read("created_at", "gt", json!("41"));
    assert!(matches!(text, Condition::CreatedAt(period) if period.from.unix() == 42));
    let open = raw("created_at", "between", json!(7));
    assert_eq!(
        refused(&open),
        ("filters.fields[0].second_value".into(), Reason::Missing)
    );
}

/// The ids of a period are exactly those that objects created in it can have.
#[test]
fn a_period_is_a_range_of_ids() {
    let moment = |seconds: i64| Timestamp::from_unix(1_800_000_000 + seconds);
    let period = Period {
        from: moment(0),
        to: moment(9),
    };
    let (first, last) = period.ids::<UserId>();
    for (seconds, random, within) in [
        (-1, [255; 16], false),
        (0, [0; 16], true),
        (5, [7; 16], true),
        (9, [255; 16], true),
        (10, [0; 16], false),
    ] {
        let id = UserId::new(moment(seconds), random);
        assert_eq!((first..=last).contains(&id), within, "{seconds}");
        let text = id.to_string();
        assert_eq!(
            first.to_string() <= text && text <= last.to_string(),
            within
        );
    }
}

/// API-12: an unknown field or operator gives a 400 that names it.
#[test]
fn unknown_names_are_reported() {
    for field in ["", "emails", "metadata", "metadata.", "Email", "password"] {
        let refused = one(&raw(field, "eq", json!("x"))).unwrap_err();
        assert_eq!(
            (&*refused.param, refused.reason),
            ("filters.fields[0].field", Reason::Unknown)
        );
        assert!(
            refused.message.contains(&format!("\"{field}\"")),
            "{}",
            refused.message
        );
    }
    for (field, operator) in [
        ("email", "like"),
        ("email", "EQ"),
        ("email", "lt"),
        ("email_match", "in"),
        ("email_verified", "in"),
        ("created_at", "in"),
        ("metadata.plan", "gt"),
    ] {
        let refused = one(&raw(field, operator, json!("x"))).unwrap_err();
        assert_eq!(
            (&*refused.param, refused.reason),
            ("filters.fields[0].operator", Reason::Unknown),
            "{field}"
        );
        assert!(
            refused.message.contains(&format!("\"{operator}\"")),
            "{}",
            refused.message
        );
    }
    let conditions = [raw("status", "eq", json!("active"))];
    for operator in ["", "and", "NOT", "XOR"] {
        let refused = UserFilter::parse(operator, &conditions).unwrap_err();
        assert_eq!(
            (&*refused.param, refused.reason),
            ("filters.operator", Reason::Unknown)
        );
    }
    let long = one(&raw(&"x\n".repeat(10_000), "eq", json!("x"))).unwrap_err();
    assert!(long.message.len() < 200 && !long.message.contains('\n'));
}

#[test]
fn a_filter_has_one_to_twenty_conditions() {
    for (count, fits) in [(0, false), (1, true), (20, true), (21, false)] {
        let conditions = vec![raw("status", "eq", json!("active")); count];
        let read = UserFilter::parse("OR", &conditions);
        match read {
            Ok(filter) => assert!(fits && filter.conditions.len() == count),
            Err(refused) => assert!(!fits && refused.param == "filters.fields"),
        }
    }
}

#[test]
fn a_bad_value_names_its_place() {
    let cases = [
        ("full_name_match", json!("")),
        ("phone_number_match", json!("")),
        ("email_match", json!("x".repeat(256))),
        ("phone_number_match", json!("1".repeat(256))),
        ("metadata.plan", json!({"a": 1})),
        ("metadata.plan", json!(["a"])),
        ("user_id", json!({})),
        ("email_verified", json!([true])),
        ("created_at", json!([1])),
        ("wallet_public_address", json!("a\0")),
    ];
    for (field, value) in cases {
        let raw = raw(field, "eq", value);
        assert_eq!(
            refused(&raw),
            ("filters.fields[0].value".into(), Reason::Value),
            "{field}"
        );
    }
    let missing = RawCondition {
        value: None,
        ..raw("email", "eq", Value::Null)
    };
    assert_eq!(
        refused(&missing),
        ("filters.fields[0].value".into(), Reason::Missing)
    );
}

/// M-28: values that a field cannot hold match no user; of several values, the valid ones count.
#[test]
fn m_28_an_impossible_value_matches_no_user() {
    for (field, value) in [
        ("user_id", json!("email_000000000000000000000000000")),
        ("user_id", json!("")),
        ("user_id", json!(7)),
        ("email_id", json!("user_000000000000000000000000000")),
        ("phone_number_id", json!("pn_0")),
        ("wallet_id", json!("wallet")),
        ("totp_id", json!(true)),
        ("status", json!("deleted")),
        ("email", json!("ada")),
        ("phone_number", json!("415")),
        ("phone_number_match", json!("abc")),
        ("email_verified", json!("yes")),
        ("phone_number_verified", json!(1)),
        ("totp_verified", json!("")),
        ("created_at", json!("yesterday")),
        ("created_at", json!(1.5)),
    ] {
        assert_eq!(read(field, "eq", value), Condition::NoUser, "{field}");
    }
    let both = RawCondition {
        values: Some(vec![json!("gone"), json!("active"), json!(0)]),
        ..raw("status", "in", Value::Null)
    };
    let active = Condition::Status(vec![ShownStatus::Active]);
    assert!(one(&both).unwrap() == active);
    let neither = RawCondition {
        values: Some(vec![json!("gone"), json!("user_1")]),
        ..both
    };
    assert!(one(&neither).unwrap() == Condition::NoUser);
    for (value, second) in [(json!("a"), json!(1)), (json!(1), json!("b"))] {
        let between = RawCondition {
            second_value: Some(second),
            ..raw("created_at", "between", value)
        };
        assert!(one(&between).unwrap() == Condition::NoUser);
    }
}

/// Searches compare with the stored text: numbers and booleans as JSON writes them.
#[test]
fn metadata_is_found_by_its_text() {
    for (stored, text) in [
        (json!("pro"), "pro"),
        (json!(""), ""),
        (json!(12), "12"),
        (json!(-0.5), "-0.5"),
        (json!(true), "true"),
        (json!("true"), "true"),
    ] {
        assert_eq!(
            MetadataDigest::of("k", &stored),
            Some(MetadataDigest::new("k", text))
        );
    }
    for structure in [json!(null), json!([]), json!({}), json!(["pro"])] {
        assert_eq!(MetadataDigest::of("k", &structure), None);
    }
    assert_ne!(
        MetadataDigest::new("a", "bc"),
        MetadataDigest::new("ab", "c")
    );
}

/// Search values are personal data, which a log of the filter must not contain.
#[test]
fn debug_output_of_a_condition_is_its_kind() {
    let shown = format!("{:?}", read("email", "eq", json!("ada@example.com")));
    assert_eq!(shown, "Email");
}

#[test]
fn only_statuses_are_recognized() {
    let status = raw("status", "eq", json!("active"));
    let alone = UserFilter::parse("OR", std::slice::from_ref(&status)).unwrap();
    assert_eq!(
        alone.only_statuses(),
        Some([ShownStatus::Active].as_slice())
    );
    let two = UserFilter::parse("AND", &[status.clone(), status]).unwrap();
    assert_eq!(two.only_statuses(), None);
}
