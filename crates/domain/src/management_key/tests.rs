use super::*;
use crate::World;
use crate::ids::Id;

fn app(number: u8) -> AppId {
    AppId::new(Timestamp::from_unix(1_700_000_000), [number; 16])
}

fn rights(apps: Option<Vec<AppId>>, environments: &[Environment]) -> Rights {
    Rights::new(
        apps,
        environments.to_vec(),
        vec![ManagementScope::KeysWrite, ManagementScope::AuditRead],
        None,
    )
    .unwrap()
}

#[test]
fn scopes_have_unique_names_that_can_be_read_back() {
    for scope in ManagementScope::ALL {
        assert_eq!(scope.as_str().parse(), Ok(*scope));
    }
    for unknown in [
        "",
        "keys",
        "keys:Write",
        "wallets:sign",
        "wallets:export",
        "auth:write",
    ] {
        assert!(unknown.parse::<ManagementScope>().is_err(), "{unknown}");
    }
}

/// A write scope of an area includes its read scope; those of objects include nothing.
#[test]
fn a_scope_covers_itself_and_what_it_includes() {
    for scope in ManagementScope::ALL {
        for needed in ManagementScope::ALL {
            let area = scope.as_str().strip_suffix(":write");
            let is_object = matches!(area, Some("users" | "wallets" | "sessions"));
            let includes = area.is_some_and(|area| {
                !is_object && needed.as_str().strip_suffix(":read") == Some(area)
            });
            assert_eq!(
                scope.covers(*needed),
                scope == needed || includes,
                "{scope} {needed}"
            );
        }
    }
}

#[test]
fn rights_cover_their_apps_and_environments_only() {
    let (mine, other) = (app(1), app(2));
    let world = |app, environment| Extent::from(World::new(app, environment));
    let listed = rights(Some(vec![mine]), &[Environment::Test]);
    let all = rights(None, &Environment::ALL);
    let of_test = rights(None, &[Environment::Test]);
    for (rights, extent, missing) in [
        (&listed, world(mine, Environment::Test), None),
        (
            &listed,
            world(mine, Environment::Live),
            Some(Missing::Environment(Environment::Live)),
        ),
        (
            &listed,
            Extent::App(mine),
            Some(Missing::Environment(Environment::Live)),
        ),
        (&listed, world(other, Environment::Test), Some(Missing::App)),
        (&listed, Extent::App(other), Some(Missing::App)),
        (&listed, Extent::Deployment, Some(Missing::AllApps)),
        (&all, Extent::App(other), None),
        (&all, Extent::Deployment, None),
        (&all, Extent::App(AppId::BUILT_IN), Some(Missing::App)),
        (&all, Extent::from(World::DEPLOYMENT), Some(Missing::App)),
        (
            &of_test,
            Extent::Deployment,
            Some(Missing::Environment(Environment::Live)),
        ),
        (
            &all,
            world(AppId::BUILT_IN, Environment::Test),
            Some(Missing::App),
        ),
    ] {
        assert_eq!(rights.miss(extent), missing, "{rights:?} {extent:?}");
    }
}

/// The stored form comes back, and nothing else is accepted.
#[test]
fn rights_are_stored_as_json() {
    for rights in [
        rights(None, &Environment::ALL),
        rights(Some(vec![app(1), app(2)]), &[Environment::Live]),
    ] {
        let stored = serde_json::to_string(&rights).unwrap();
        assert_eq!(Rights::from_stored(&stored).unwrap(), rights);
    }
    for damaged in [
        r#"{"apps":"all","environments":["test"],"scopes":[]}"#,
        r#"{"apps":"any","environments":["test"],"scopes":["keys:read"]}"#,
        r#"{"apps":[],"environments":["test"],"scopes":["keys:read"]}"#,
        r#"{"apps":"all","environments":["prod"],"scopes":["keys:read"]}"#,
        r#"{"apps":"all","environments":["test"],"scopes":["keys:sign"]}"#,
        r#"{"apps":"all","environments":["test"],"scopes":["keys:read"],"more":1}"#,
        r#"{"apps":"all","scopes":["keys:read"]}"#,
        r#"{"apps":"all","environments":["test"],"scopes":["keys:read"],"ip_allow":null}"#,
        r#"["all",["test"],["keys:read"],null]"#,
    ] {
        assert!(Rights::from_stored(damaged).is_err(), "{damaged}");
    }
}

#[test]
fn a_key_expires_within_a_year() {
    let now = Timestamp::from_unix(1_800_000_000);
    for (seconds, is_good) in [
        (-1, false),
        (0, false),
        (1, true),
        (31_536_000, true),
        (31_536_001, false),
    ] {
        assert_eq!(
            expires_at(now + Seconds(seconds), now).is_ok(),
            is_good,
            "{seconds}"
        );
    }
}

#[test]
fn only_keys_have_the_form_of_one() {
    let random = "a1B2".repeat(12);
    assert!(has_form(&format!("mk_{random}")));
    for other in [
        String::new(),
        "mk_".to_owned(),
        format!("sk_live_{random}"),
        format!("mk_{random}x"),
        format!("MK_{random}"),
        format!("mk_{}é", "a".repeat(46)),
    ] {
        assert!(!has_form(&other), "{other}");
    }
}
