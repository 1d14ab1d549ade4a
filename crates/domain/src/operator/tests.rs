use super::*;
use crate::World;
use crate::ids::{EmailId, Id, SessionId, TotpId, WebauthnCredentialId};
use crate::session::{DeviceFingerprint, SessionLimits, SignIn};

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

fn app(number: u8) -> AppId {
    AppId::new(NOW, [number; 16])
}

fn world(environment: Environment) -> Extent {
    Extent::World(World::new(app(1), environment))
}

/// OPR-1: table 2.1 of the contract, read cell by cell in both environments and for the App as a whole.
#[test]
fn roles_have_the_rights_of_the_table() {
    use Right::*;
    // Owner, Admin, Developer, Viewer; each in test, in live, and in the App as a whole.
    // `y` yes, `n` no, `s` with a second factor that was proved lately.
    let table = [
        (ReadConfiguration, "yyy yyy yyy yyy"),
        (ReadUsers, "yyy yyy yyy nnn"),
        (Support, "yyy yyy ynn nnn"),
        (DeleteAndIssue, "yss yss ynn nnn"),
        (Configure, "yyy yyy nnn nnn"),
        (Weaken, "sss sss nnn nnn"),
        (ReadOperators, "yyy yyy nnn nnn"),
        (ManageOperators, "sss sss nnn nnn"),
        (Deploy, "yyy nnn nnn nnn"),
        (Own, "sss nnn nnn nnn"),
    ];
    let listed: Vec<Right> = table.iter().map(|(right, _)| *right).collect();
    assert_eq!(listed, Right::ALL, "each right has a row");
    let extents = [
        world(Environment::Test),
        world(Environment::Live),
        Extent::App(app(1)),
    ];
    for (right, row) in table {
        let roles = Role::ALL.into_iter().rev();
        for (role, cells) in roles.zip(row.split(' ')) {
            let apps = (role != Role::Owner).then(|| vec![app(1)]);
            let grants = Grants::new(role, apps).unwrap();
            for (extent, cell) in extents.into_iter().zip(cells.chars()) {
                let stale = grants.permit(right, extent, false);
                let fresh = grants.permit(right, extent, true);
                let expected = match cell {
                    'y' => (Ok(()), Ok(())),
                    's' => (Err(Denied::StepUp), Ok(())),
                    _ => (Err(Denied::Role), Err(Denied::Role)),
                };
                assert_eq!((stale, fresh), expected, "{role} {right:?} {extent:?}");
            }
            // OPR-11: a role in one App is none in another, nor in the deployment, nor in the built-in App.
            for (extent, denied) in [
                (Extent::App(app(2)), Denied::App),
                (
                    Extent::World(World::new(app(2), Environment::Test)),
                    Denied::App,
                ),
                (Extent::Deployment, Denied::Role),
            ] {
                let elsewhere = grants.permit(right, extent, true);
                if role != Role::Owner {
                    assert_eq!(elsewhere, Err(denied), "{role} {right:?} {extent:?}");
                }
            }
            let built_in = Extent::World(World::DEPLOYMENT);
            assert_eq!(grants.permit(right, built_in, true), Err(Denied::App));
        }
    }
}

/// MG-3: an admin gives the roles below the own one in the same Apps, an owner gives any, and the others none.
#[test]
fn roles_are_granted_downwards_only() {
    let all: Vec<Grants> = Role::ALL
        .into_iter()
        .flat_map(|role| {
            let of = |apps: Option<Vec<AppId>>| Grants::new(role, apps).ok();
            [
                of(None),
                of(Some(vec![app(1)])),
                of(Some(vec![app(1), app(2)])),
            ]
        })
        .flatten()
        .collect();
    for maker in &all {
        for wanted in &all {
            let permitted = maker.may_grant(wanted);
            let is_below = |app: AppId| {
                let (own, given) = (maker.role_in(app), wanted.role_in(app));
                given.is_none() || (own == Some(Role::Admin) && given < Some(Role::Admin))
            };
            let reaches = wanted.all.is_none() || maker.all.is_some();
            let expected =
                maker.is_owner() || (reaches && [1, 2, 3].map(app).into_iter().all(is_below));
            assert_eq!(permitted, expected, "{maker:?} gives {wanted:?}");
        }
    }
}

/// The stored form is read back as it was, and nothing unknown is.
#[test]
fn grants_are_read_strictly() {
    for (role, apps) in [
        (Role::Owner, None),
        (Role::Viewer, None),
        (Role::Admin, Some(vec![app(1), app(2)])),
    ] {
        let grants = Grants::new(role, apps).unwrap();
        let stored = serde_json::to_string(&grants).unwrap();
        assert_eq!(Grants::from_stored(&stored).unwrap(), grants, "{stored}");
    }
    let own = format!(r#"{{"apps":{{"{}":"owner"}}}}"#, app(1));
    for text in [
        r#"{"all":"king"}"#,
        r#"{"all":"owner","more":1}"#,
        r#"["owner",{}]"#,
        r#"{"apps":{"app_x":"viewer"}}"#,
        own.as_str(),
        "",
    ] {
        assert!(Grants::from_stored(text).is_err(), "{text}");
    }
}

/// Roles are replaced and removed App by App.
#[test]
fn grants_change_app_by_app() {
    let mut grants = Grants::new(Role::Admin, Some(vec![app(1), app(2)])).unwrap();
    grants.set(Some(Role::Developer), Some(&[app(1)]));
    assert_eq!(grants.role_in(app(1)), Some(Role::Developer));
    grants.set(None, Some(&[app(1), app(2)]));
    assert!(grants.is_empty());
    grants.set(Some(Role::Owner), None);
    assert!(grants.is_owner());
    assert_eq!(
        grants.within(Some(&[app(1)])),
        grants,
        "an owner's role is one"
    );
    grants.set(Some(Role::Viewer), Some(&[app(1), app(2)]));
    assert_eq!(grants.role_in(app(3)), None, "no longer an owner");
    let one = Grants::new(Role::Viewer, Some(vec![app(2)])).unwrap();
    assert_eq!(grants.within(Some(&[app(2), app(3)])), one);
    assert_eq!(grants.within(None), grants);
}

/// The lists of Apps that a role can be given in.
#[test]
fn apps_of_a_role_are_checked() {
    let many = |count: u8| Some((0..count).map(app).collect::<Vec<_>>());
    for (role, apps, is_allowed) in [
        (Role::Owner, None, true),
        (Role::Owner, many(1), false),
        (Role::Viewer, many(0), false),
        (Role::Viewer, many(1), true),
        (Role::Viewer, many(100), true),
        (Role::Viewer, many(101), false),
    ] {
        let made = Grants::new(role, apps);
        assert_eq!(made.is_ok(), is_allowed, "{role}");
        if let Err(invalid) = made {
            assert_eq!(invalid.param, "apps");
        }
    }
}

fn session(proofs: Vec<(Proof, i64)>) -> Session {
    let mut factors = proofs.into_iter().map(|(proof, at)| Factor {
        proof,
        last_verified_at: Timestamp::from_unix(at),
    });
    let sign_in = SignIn {
        user_id: UserId::new(NOW, [1; 16]),
        factor: factors.next().unwrap(),
        device_fingerprint: DeviceFingerprint::default(),
    };
    let id = SessionId::new(NOW, [1; 16]);
    let limits = SessionLimits {
        absolute: Seconds(3600),
        idle: None,
    };
    let mut session = Session::start(id, World::DEPLOYMENT, sign_in, Seconds(3600), limits, NOW);
    session.factors.extend(factors);
    session
}

/// OPR-5: what counts as a second factor.
#[test]
fn two_factors_are_two_kinds() {
    let totp = || Proof::Totp {
        totp_id: TotpId::new(NOW, [1; 16]),
    };
    let recovery = || Proof::RecoveryCode {
        totp_id: TotpId::new(NOW, [1; 16]),
    };
    let passkey = || Proof::Passkey {
        webauthn_credential_id: WebauthnCredentialId::new(NOW, [1; 16]),
    };
    let link = || Proof::EmailLink {
        email_id: EmailId::new(NOW, [1; 16]),
        email: "ann@example.com".to_owned(),
    };
    for (proofs, expected) in [
        (vec![(Proof::Password, 1)], None),
        (vec![(link(), 1)], None),
        (vec![(link(), 1), (Proof::Password, 2)], None),
        (vec![(totp(), 1)], None),
        (vec![(totp(), 1), (recovery(), 2)], None),
        (vec![(Proof::Password, 1), (totp(), 2)], Some(2)),
        (vec![(totp(), 5), (Proof::Password, 9)], Some(5)),
        (vec![(link(), 1), (recovery(), 3)], Some(3)),
        (vec![(passkey(), 4)], Some(4)),
        (
            vec![(Proof::Password, 9), (totp(), 2), (passkey(), 4)],
            Some(4),
        ),
    ] {
        let shown = format!("{proofs:?}");
        let proved = second_factor(&session(proofs));
        assert_eq!(proved, expected.map(Timestamp::from_unix), "{shown}");
    }
}

#[test]
fn tokens_have_their_form() {
    let mut next = 0_u8;
    let mut source = |buffer: &mut [u8]| {
        for byte in buffer {
            *byte = next;
            next = next.wrapping_add(7);
        }
    };
    let token = link_token(&mut source);
    assert!(is_link_token(token.expose()));
    for text in [
        "",
        "a",
        &token.expose()[1..],
        &format!("{}!", &token.expose()[1..]),
    ] {
        assert!(!is_link_token(text), "{text}");
    }
}
