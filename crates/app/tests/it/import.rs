//! `vestry users import` and `export` as use cases: lines, batches, dry runs, and the round trip.

use vestry_app::identity::users::{
    Imported, PortableEmail, PortablePhone, PortableUser, PortableWallet,
};
use vestry_app::{Principal, Refusal};
use vestry_domain::Environment;
use vestry_domain::Timestamp;
use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlEntry};
use vestry_domain::event::Actor;
use vestry_domain::ids::{AppId, Id, UserId};
use vestry_domain::user::UserStatus;

use crate::changes::{detail, written};
use crate::harness::{Harness, operator};

fn line(email: &str) -> PortableUser {
    PortableUser {
        emails: vec![PortableEmail {
            email: email.to_owned(),
            verified: true,
        }],
        ..PortableUser::default()
    }
}

fn keyed(key: &str, email: &str) -> PortableUser {
    PortableUser {
        external_key: Some(key.to_owned()),
        ..line(email)
    }
}

async fn take(harness: &Harness, is_rehearsal: bool, lines: &[PortableUser]) -> Vec<Imported> {
    let world = harness.world(Environment::Test);
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, world).await, is_rehearsal)
        .await
        .unwrap();
    import.take(lines).await.unwrap()
}

fn summary(outcomes: &[Imported]) -> String {
    outcomes
        .iter()
        .map(|outcome| match outcome {
            Imported::New(_) => 'n',
            Imported::Known(_) => 'k',
            Imported::Refused(_) => 'r',
        })
        .collect()
}

fn reason(outcome: &Imported) -> &str {
    match outcome {
        Imported::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_imported_user_matches_its_line() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let whole = PortableUser {
        external_key: Some("old-1".to_owned()),
        phone_numbers: vec![PortablePhone {
            phone_number: "+4915112345678".to_owned(),
            verified: false,
        }],
        first_name: "Ada".to_owned(),
        last_name: "Lovelace".to_owned(),
        status: Some("pending".to_owned()),
        metadata: serde_json::json!({"plan": "gold"})
            .as_object()
            .unwrap()
            .clone(),
        created_at: Some(1_600_000_000),
        founded: true,
        ..line("Ada@example.com")
    };
    let outcomes = take(&harness, false, std::slice::from_ref(&whole)).await;
    let Imported::New(id) = outcomes[0] else {
        panic!("{outcomes:?}")
    };
    let profile = harness.service.get_user(&test, id).await.unwrap().profile;
    assert_eq!(profile.user.created_at.unix(), 1_600_000_000);
    assert_eq!(profile.user.updated_at, harness.now());
    assert_eq!(profile.user.status, UserStatus::Pending);
    assert_eq!(
        (&*profile.user.first_name, &*profile.user.last_name),
        ("Ada", "Lovelace")
    );
    assert_eq!(profile.emails[0].email.address(), "Ada@example.com");
    assert!(profile.emails[0].verified && !profile.phones[0].verified);
    // And it is exported as it was imported, except for its id.
    let exported = harness
        .service
        .export_users(
            &operator(&harness.service, test.world).await,
            None,
            10,
            false,
        )
        .await
        .unwrap()
        .users;
    assert_eq!(exported.len(), 1);
    assert!(
        exported[0]
            == PortableUser {
                id: Some(id.to_string()),
                ..whole
            }
    );
}

/// The first address is the primary one.
#[tokio::test]
async fn identifiers_are_listed_in_the_order_of_the_line() {
    let harness = Harness::new().await;
    let names = ["q", "a", "z", "b", "y", "c", "x", "d"];
    let lines: Vec<_> = (0..5)
        .map(|number| {
            let mut line = line(&format!("first{number}@example.com"));
            let email = |name: &&str| PortableEmail {
                email: format!("{name}{number}@example.com"),
                verified: false,
            };
            line.emails.extend(names.iter().map(email));
            line
        })
        .collect();
    assert_eq!(summary(&take(&harness, false, &lines).await), "nnnnn");
    let world = harness.world(Environment::Test);
    let exported = harness
        .service
        .export_users(&operator(&harness.service, world).await, None, 10, false)
        .await;
    for line in lines {
        let users = &exported.as_ref().unwrap().users;
        assert!(users.iter().any(|user| user.emails == line.emails));
    }
}

/// Users are paged and searched by the timestamp in their ids, so it must match `created_at`.
#[tokio::test]
async fn an_id_encodes_the_creation_time_of_its_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let at = |unix| UserId::new(Timestamp::from_unix(unix), [9; 16]).to_string();
    let with = |id: String, created_at| PortableUser {
        id: Some(id),
        created_at,
        ..line("ada@example.com")
    };
    for (id, created_at) in [
        (at(1_600_000_000), Some(1_600_000_001)),
        (at(1_600_000_000), Some(0)),
        (at(1_400_000_001), Some(1_000_000_000)),
    ] {
        let outcomes = take(&harness, false, &[with(id, created_at)]).await;
        assert!(reason(&outcomes[0]).contains("created_at is not the time"));
    }
    for (number, (id, created_at, expected)) in [
        (at(1_600_000_000), None, 1_600_000_000),
        (at(1_600_000_001), Some(1_600_000_001), 1_600_000_001),
        // Before ids have timestamps, theirs is the first one.
        (at(1_000_000_000), Some(1_000_000_000), 1_000_000_000),
    ]
    .into_iter()
    .enumerate()
    {
        let line = PortableUser {
            emails: line(&format!("u{number}@example.com")).emails,
            ..with(id, created_at)
        };
        let outcomes = take(&harness, false, &[line]).await;
        let Imported::New(id) = outcomes[0] else {
            panic!("{outcomes:?}")
        };
        let user = harness.service.get_user(&test, id).await.unwrap();
        assert_eq!(user.profile.user.created_at.unix(), expected);
    }
}

/// A user whose only credential is a wallet survives the round trip; so does one who had only a passkey.
#[tokio::test]
async fn wallets_that_sign_in_are_part_of_a_line() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = |wallet_type: &str, public_address: &str| PortableWallet {
        wallet_type: wallet_type.to_owned(),
        public_address: public_address.to_owned(),
    };
    let address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    let own = PortableUser {
        wallets: vec![wallet("ethereum", &address.to_lowercase())],
        ..PortableUser::default()
    };
    let mut lines = vec![own.clone(), own.clone(), line("ada@example.com")];
    assert_eq!(summary(&take(&harness, true, &lines).await), "nkn");
    assert_eq!(summary(&take(&harness, false, &lines).await), "nkn");
    lines[2].wallets = own.wallets.clone();
    assert_eq!(summary(&take(&harness, false, &lines).await), "kkk");
    let another = PortableUser {
        external_key: Some("old-1".to_owned()),
        ..own
    };
    for (bad, why) in [
        (another, "belongs to another user"),
        (
            PortableUser {
                wallets: vec![wallet("bitcoin", "bc1")],
                ..PortableUser::default()
            },
            "ethereum or solana",
        ),
        (
            PortableUser {
                wallets: vec![wallet("ethereum", "0x1")],
                ..PortableUser::default()
            },
            "not an address of ethereum",
        ),
    ] {
        let outcomes = take(&harness, false, &[bad]).await;
        assert!(reason(&outcomes[0]).contains(why), "{outcomes:?}");
    }
    let mut exported = harness
        .service
        .export_users(
            &operator(&harness.service, test.world).await,
            None,
            10,
            false,
        )
        .await
        .unwrap()
        .users;
    assert_eq!(exported.len(), 2);
    let with_wallet: Vec<_> = exported
        .iter()
        .filter(|user| !user.wallets.is_empty())
        .collect();
    assert_eq!(with_wallet.len(), 1);
    assert!(with_wallet[0].wallets == [wallet("ethereum", address)]);
    exported.push(PortableUser {
        id: Some(UserId::new(harness.now(), [3; 16]).to_string()),
        ..PortableUser::default()
    });
    let live = harness.world(Environment::Live);
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, live).await, false)
        .await
        .unwrap();
    assert_eq!(summary(&import.take(&exported).await.unwrap()), "nnn");
    assert_eq!(summary(&import.take(&exported).await.unwrap()), "kkk");
}

/// Other services write `null` for unknown values.
#[test]
fn m_33_a_field_that_is_null_is_absent() {
    let text = r#"{"emails": [{"email": "a@example.com", "verified": null}], "phone_numbers": [{"phone_number": "+14155552671",
        "verified": null}], "last_name": "L"}"#;
    let user: PortableUser = serde_json::from_str(text).unwrap();
    assert_eq!((&*user.first_name, &*user.last_name), ("", "L"));
    assert!(!user.emails[0].verified && !user.phone_numbers[0].verified);
    let every = [
        "id",
        "external_key",
        "emails",
        "phone_numbers",
        "wallets",
        "first_name",
        "middle_name",
        "last_name",
        "status",
        "founded",
        "disabled",
        "disabled_reason",
        "metadata",
        "created_at",
        "password_hash",
        "password_normalization",
    ];
    let nulls: serde_json::Map<_, _> = every
        .iter()
        .map(|name| ((*name).to_owned(), serde_json::Value::Null))
        .collect();
    let user: PortableUser = serde_json::from_value(nulls.into()).unwrap();
    assert!(user == PortableUser::default());
    // Guards against gaps in the list: a full user has these names.
    let unknown = serde_json::from_str::<PortableUser>(r#"{"nobody": 1}"#)
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        unknown.matches('`').count(),
        2 * (every.len() + 1),
        "{unknown}"
    );
}

#[tokio::test]
async fn a_repeated_import_changes_nothing() {
    let harness = Harness::new().await;
    let lines = [
        line("ada@example.com"),
        keyed("old-2", "bob@example.com"),
        line("cyd@example.com"),
    ];
    assert_eq!(summary(&take(&harness, false, &lines[..2]).await), "nn");
    assert_eq!(summary(&take(&harness, false, &lines).await), "kkn");
    assert_eq!(summary(&take(&harness, false, &lines).await), "kkk");
    // The same address in another spelling is the same user. With another key it is another user, who cannot have the address.
    assert_eq!(
        summary(&take(&harness, false, &[line("ADA@example.com")]).await),
        "k"
    );
    let outcomes = take(
        &harness,
        false,
        &[keyed("old-9", "ada@example.com"), line("dan@example.com")],
    )
    .await;
    assert_eq!(summary(&outcomes), "rn");
    assert!(
        reason(&outcomes[0]).contains("belongs to another user"),
        "{outcomes:?}"
    );
}

/// A refused line leaves nothing behind, whatever was already written of it.
#[tokio::test]
async fn a_refused_line_leaves_nothing_and_spoils_no_other() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut two = keyed("old-2", "bob@example.com");
    two.emails.extend(line("ada@example.com").emails.clone());
    let lines = [
        line("ada@example.com"),
        two,
        keyed("old-3", "cyd@example.com"),
    ];
    assert_eq!(summary(&take(&harness, false, &lines).await), "nrn");
    assert!(!harness.is_known(&test, "bob@example.com").await);
    assert!(harness.is_known(&test, "cyd@example.com").await);
    assert_eq!(
        summary(&take(&harness, false, &[keyed("old-2", "bob@example.com")]).await),
        "n"
    );
}

/// P-6 and all other refusals: the message names the field and never the value.
#[tokio::test]
async fn bad_lines_are_refused_with_the_reason() {
    let harness = Harness::new().await;
    let hashed = |hash: &str| PortableUser {
        password_hash: Some(hash.to_owned()),
        ..line("ada@example.com")
    };
    for (bad, why) in [
        (PortableUser::default(), "at least one of emails"),
        (line("nobody"), "email must be an address"),
        (
            keyed("", "ada@example.com"),
            "external_key must have 1 to 255",
        ),
        (
            keyed(&"x".repeat(256), "ada@example.com"),
            "external_key must have 1 to 255",
        ),
        (
            PortableUser {
                status: Some("asleep".to_owned()),
                ..line("ada@example.com")
            },
            "status must be",
        ),
        (
            PortableUser {
                created_at: Some(i64::MAX),
                ..line("ada@example.com")
            },
            "created_at must be a Unix timestamp in the past",
        ),
        (
            PortableUser {
                id: Some("usr_1".to_owned()),
                ..line("ada@example.com")
            },
            "user_",
        ),
        (
            PortableUser {
                password_normalization: Some("nfd".to_owned()),
                ..line("ada@example.com")
            },
            "nfc or raw",
        ),
        (hashed("hunter2"), "unsupported scheme"),
        (hashed("$2b$04$short"), "cannot be read"),
        (
            hashed("$2b$31$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi"),
            "above the supported limits",
        ),
    ] {
        let outcomes = take(&harness, false, &[bad]).await;
        assert!(reason(&outcomes[0]).contains(why), "{why}: {outcomes:?}");
        assert!(!reason(&outcomes[0]).contains("hunter2"));
    }
    assert_eq!(
        harness
            .service
            .export_users(
                &operator(&harness.service, harness.test().await.world).await,
                None,
                10,
                false
            )
            .await
            .unwrap()
            .users
            .len(),
        0
    );
}

#[tokio::test]
async fn a_dry_run_reports_what_an_import_would_and_stores_nothing() {
    let harness = Harness::new().await;
    take(&harness, false, &[line("ada@example.com")]).await;
    let lines = [
        line("ada@example.com"),
        line("bob@example.com"),
        line("BOB@example.com"),
        keyed("old-1", "bob@example.com"),
        keyed("old-2", "cyd@example.com"),
        line("nobody"),
    ];
    let rehearsed = summary(&take(&harness, true, &lines).await);
    assert_eq!(rehearsed, "knkrnr");
    let test = harness.test().await;
    assert!(!harness.is_known(&test, "bob@example.com").await);
    assert_eq!(summary(&take(&harness, false, &lines).await), rehearsed);
}

/// Pages contain every user once, hashes are included only on request, and the lines create the same users elsewhere.
#[tokio::test]
async fn an_export_can_be_imported_into_another_environment() {
    let harness = Harness::new().await;
    let lines: Vec<_> = (0..25)
        .map(|n| keyed(&format!("old-{n}"), &format!("u{n}@example.com")))
        .collect();
    take(&harness, false, &lines).await;
    let world = harness.world(Environment::Test);
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = harness
            .service
            .export_users(&operator(&harness.service, world).await, after, 10, true)
            .await
            .unwrap();
        all.extend(page.users);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(all.len(), 25);
    let live = harness.world(Environment::Live);
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, live).await, false)
        .await
        .unwrap();
    assert_eq!(summary(&import.take(&all).await.unwrap()), "n".repeat(25));
    let back = harness
        .service
        .export_users(&operator(&harness.service, live).await, None, 100, true)
        .await
        .unwrap()
        .users;
    assert!(back == all);
    assert_eq!(summary(&import.take(&all).await.unwrap()), "k".repeat(25));
}

fn claimed(email: &str) -> PortableUser {
    let mut line = line(email);
    line.emails[0].verified = false;
    line
}

async fn founded(harness: &Harness, is_rehearsal: bool, lines: &[PortableUser]) -> (String, u64) {
    let world = harness.world(Environment::Test);
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, world).await, is_rehearsal)
        .await
        .unwrap();
    let outcomes = import.take(lines).await.unwrap();
    (summary(&outcomes), import.founded())
}

/// CL-6: a claim does not make a line "already there", in a batch or alone, and a dry run reports the same as the import. The user has the
/// data of the line.
#[tokio::test]
async fn cl_6_an_import_founds_a_claimed_account() {
    for others in [0, 3] {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let planted = harness
            .user(&test, "victim@example.com")
            .await
            .profile
            .user
            .id;
        let session = harness.planted_session(&test, planted).await;
        let mut victim = keyed("old-1", "victim@example.com");
        victim.first_name = "Ada".to_owned();
        victim.metadata = serde_json::json!({"plan": "gold"})
            .as_object()
            .unwrap()
            .clone();
        victim.emails.push(PortableEmail {
            email: "second@example.com".to_owned(),
            verified: false,
        });
        let mut lines = vec![victim];
        lines.extend((0..others).map(|number| line(&format!("u{number}@example.com"))));
        let expected = ("n".repeat(lines.len()), 1);
        assert_eq!(founded(&harness, true, &lines).await, expected);
        assert!(harness.by_token(&test, &session).await.is_ok());
        assert_eq!(founded(&harness, false, &lines).await, expected);
        assert!(harness.by_token(&test, &session).await.is_err());
        let user = harness.service.get_user(&test, planted).await.unwrap();
        assert_eq!(user.external_key.as_deref(), Some("old-1"));
        let profile = user.profile;
        assert!(profile.user.is_owned);
        let mut emails = profile.emails.iter();
        assert!(emails.all(|row| row.verified == (row.email.address() == "victim@example.com")));
        assert_eq!(profile.user.first_name, "Ada");
        assert_eq!(profile.user.metadata.as_object()["plan"], "gold");
        let known = ("k".repeat(lines.len()), 0);
        assert_eq!(founded(&harness, false, &lines).await, known);
    }
}

/// CL-6: a user found by key or id is not skipped if nothing of the account is verified and the line vouches for it.
#[tokio::test]
async fn cl_6_an_import_founds_the_account_of_its_key() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let unproved = PortableUser {
        external_key: Some("old-1".to_owned()),
        ..claimed("victim@example.com")
    };
    let outcomes = take(&harness, false, std::slice::from_ref(&unproved)).await;
    let [Imported::New(id)] = outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!(summary(&take(&harness, false, &[unproved]).await), "k");
    let session = harness.planted_session(&test, id).await;
    let proved = keyed("old-1", "victim@example.com");
    let outcomes = take(&harness, false, std::slice::from_ref(&proved)).await;
    assert_eq!(outcomes, [Imported::New(id)]);
    assert!(harness.by_token(&test, &session).await.is_err());
    assert_eq!(
        take(&harness, false, &[proved]).await,
        [Imported::Known(id)]
    );
}

/// CL-4: a claim leaves the account it is in if that account is owned, or if another one is already owned.
#[tokio::test]
async fn cl_4_an_import_moves_the_claims_of_others() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let other = harness.sign_in(&test, "other@example.com", 60).await;
    let account = harness.service.get_user(&test, other.session.user_id).await;
    harness
        .attach(&test, &account.unwrap(), "ada@example.com")
        .await;
    let planted = harness.user(&test, "bob@example.com").await.profile.user.id;
    let second = harness.user(&test, "cyd@example.com").await.profile.user.id;
    let session = harness.planted_session(&test, second).await;
    let mut all = line("ada@example.com");
    all.emails.extend(line("bob@example.com").emails);
    all.emails.extend(line("cyd@example.com").emails);
    assert_eq!(
        take(&harness, false, &[all.clone()]).await,
        [Imported::New(planted)]
    );
    let user = harness
        .service
        .get_user(&test, planted)
        .await
        .unwrap()
        .profile;
    assert_eq!(user.emails.len(), 3);
    assert!(user.emails.iter().all(|email| email.verified));
    let left = harness
        .service
        .get_user(&test, second)
        .await
        .unwrap()
        .profile;
    assert!(left.emails.is_empty() && !left.user.is_owned);
    assert!(harness.by_token(&test, &session).await.is_err());
    assert!(harness.by_token(&test, &other.token).await.is_ok());
    let claims = harness.service.get_user(&test, other.session.user_id).await;
    assert_eq!(claims.unwrap().profile.emails.len(), 1);
    assert_eq!(summary(&take(&harness, false, &[all]).await), "k");
}

/// A line that vouches for nothing proves nothing. It is refused if a user claims its address, and skipped if a user has verified it.
#[tokio::test]
async fn cl_6_a_line_that_vouches_for_nothing_founds_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let planted = harness.user(&test, "ada@example.com").await.profile.user.id;
    let session = harness.planted_session(&test, planted).await;
    let outcomes = take(&harness, false, &[claimed("ada@example.com")]).await;
    assert!(reason(&outcomes[0]).contains("claimed by a user"));
    // Nor does a verified identifier of another line carry it along.
    let mut half = line("bob@example.com");
    half.emails.extend(claimed("ada@example.com").emails);
    let outcomes = take(&harness, false, &[half]).await;
    assert!(reason(&outcomes[0]).contains("claimed by a user"));
    assert!(!harness.is_known(&test, "bob@example.com").await);
    assert!(harness.by_token(&test, &session).await.is_ok());
    let owner = harness.sign_in(&test, "cyd@example.com", 60).await;
    let outcomes = take(&harness, false, &[claimed("cyd@example.com")]).await;
    assert_eq!(outcomes, [Imported::Known(owner.session.user_id)]);
}

/// CL-6: vouching for an identifier leaves an entry that names it; nothing else does.
#[tokio::test]
async fn cl_6_vouching_is_in_the_control_log() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let vouched = async || -> Vec<ControlEntry> {
        let mut all = written(&harness, test.world).await;
        all.retain(|entry| entry.event.action == ControlAction::UserVouch);
        all
    };
    let planted = harness.user(&test, "ada@example.com").await.profile;
    let lines = [
        line("ada@example.com"),
        line("bob@example.com"),
        claimed("cyd@example.com"),
    ];
    take(&harness, true, &lines).await;
    assert_eq!(vouched().await, []);
    let outcomes = take(&harness, false, &lines).await;
    take(&harness, false, &lines[..2]).await;
    let entries = vouched().await;
    assert_eq!(entries.len(), 2);
    for (entry, outcome) in entries.iter().zip(&outcomes) {
        let Imported::New(id) = outcome else {
            panic!("{outcomes:?}")
        };
        assert_eq!(entry.event.subject.id, id.to_string());
        assert_eq!(entry.event.actor, Actor::Cli);
        let user = harness.service.get_user(&test, *id).await.unwrap().profile;
        let expected = serde_json::json!({"emails": [user.emails[0].id.to_string()]});
        assert_eq!(detail(entry), expected);
    }
    assert_eq!(entries[0].event.subject.id, planted.user.id.to_string());
}

#[tokio::test]
async fn an_unknown_app_has_no_users() {
    let harness = Harness::new().await;
    let nowhere = World::new(AppId::new(harness.now(), [7; 16]), Environment::Test);
    let refused = harness.service.caller(Principal::cli(), nowhere).await;
    assert!(matches!(refused, Err(Refusal::NotFound("app"))));
}
