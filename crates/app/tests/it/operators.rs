//! Operators: what each role may do in every use case (OPR-1, OPR-11), and who may make whom (MG-3).

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use vestry_app::audit::ListChanges;
use vestry_app::delivery::events::ListEvents;
use vestry_app::identity::oauth::Callback;
use vestry_app::identity::sessions::ListSessions;
use vestry_app::identity::users::{SearchUsers, UpdateUser};
use vestry_app::operators::{
    ConsoleRequest, Handover, NewManagementKeyFields, OperatorChange, OperatorSession,
    SecondFactor, SignInError,
};
use vestry_app::platform::AppChange;
use vestry_app::platform::webhooks::{EndpointChange, NewEndpoint, Replayed, Resume};
use vestry_app::wallets::ListWallets;
use vestry_app::{Caller, Principal, Refusal, Service};
use vestry_contract::race::race;
use vestry_domain::action::Action;
use vestry_domain::api_key::{ApiKeyKind, KeyField, KeyFields, Restriction};
use vestry_domain::audit::control::ControlAction;
use vestry_domain::config::Config;
use vestry_domain::event::{Actor, EventKind, kinds};
use vestry_domain::extent::Extent;
use vestry_domain::ids::{ApiKeyId, AppId, Id, UserId};
use vestry_domain::management_key::Rights;
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::operator::{Denied, Grants, Role};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::session::SessionSelector;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Secret, World, totp};
use vestry_ports::store::Store;

use crate::audit::findings;
use crate::changes::{detail, written};
use crate::harness::Harness;
use crate::totps::decoded;

/// The kinds of extents in which use cases ask for their action.
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// One environment.
    World,
    /// The App as a whole.
    App,
    /// The App, whatever its environments.
    InApp,
    /// The deployment.
    Deployment,
    /// Whatever the operator reaches.
    Somewhere,
}

/// A call, with what it needs.
struct Call {
    service: Arc<Service>,
    by: Principal,
    caller: Caller,
    world: World,
    /// A key of this environment that expires.
    key: ApiKeyId,
    later: vestry_domain::Timestamp,
}

impl Call {
    /// The id of an object that does not exist: rights are checked first.
    fn id<I: Id>(&self) -> I {
        I::new(self.later, [7; 16])
    }
}

type Outcome<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + 'a>>;

fn told<T, E: Debug>(outcome: Result<T, E>) -> Result<(), String> {
    outcome.map(drop).map_err(|error| format!("{error:?}"))
}

/// A use case, and what it asks for.
struct UseCase {
    action: Action,
    asked: Asked,
    run: for<'a> fn(&'a Call) -> Outcome<'a>,
}

macro_rules! calls {
    ($($action:ident $asked:ident |$call:ident| $body:expr;)*) => {
        vec![$(UseCase {
            action: Action::$action,
            asked: Asked::$asked,
            run: |$call| Box::pin(async move { told($body.await) }),
        },)*]
    };
}

/// One use case for each action that an operator can do. A new action without a row fails the test.
fn use_cases() -> Vec<UseCase> {
    calls! {
        ReadApps Somewhere |c| c.service.list_apps(&c.by);
        ReadApps InApp |c| c.service.show_app(&c.by, c.world.app_id);
        ReadSettings InApp |c| c.service.show_settings(&c.by, c.world.app_id);
        ReadApiKeys World |c| c.service.list_api_keys(&c.by, c.world.into());
        ReadApiKeys World |c| c.service.list_key_uses(&c.by, c.world.into());
        ReadSigningKeys World |c| c.service.list_signing_keys(&c.by, c.world);
        ReadProviders World |c| c.service.list_providers(&c.by, c.world.into());
        ReadRedirectUrls World |c| c.service.list_redirect_urls(&c.by, c.world.into());
        ReadWebhooks World |c| c.service.list_webhooks(&c.by, c.world.into());
        ReadWebhooks World |c| c.service.show_delivery(&c.by, c.world.into(), c.id(), c.id());
        ReadEvents World |c| async { c.service.list_events(&c.caller, &ListEvents::default()).await };
        ReadEvents World |c| c.service.events_head(&c.caller);
        GetUser World |c| c.service.get_user(&c.caller, c.id());
        SearchUsers World |c| c.service.search_users(&c.caller, SearchUsers::default());
        ListSessions World |c| c.service.list_sessions(&c.caller, ListSessions::of(c.id()));
        ListWallets World |c| c.service.list_wallets(&c.caller, ListWallets::default());
        GetWallet World |c| c.service.get_wallet(&c.caller, c.id());
        GetWallet World |c| c.service.get_versioned_wallet(&c.caller, c.id());
        UpdateUser World |c| c.service.update_user(&c.caller, c.id(), UpdateUser::default());
        SwitchUser World |c| c.service.disable_user(&c.caller, c.id(), "");
        SwitchUser World |c| c.service.enable_user(&c.caller, c.id());
        UnlockUser World |c| c.service.unlock_user(&c.caller, c.id());
        DeleteIdentifier World |c| c.service.delete_email(&c.caller, c.id());
        DeleteIdentifier World |c| c.service.delete_phone_number(&c.caller, c.id());
        DeleteTotp World |c| c.service.delete_totp(&c.caller, c.id());
        DeletePasskey World |c| c.service.delete_passkey(&c.caller, c.id());
        DeleteProviderLink World |c| c.service.delete_provider_link(&c.caller, c.id());
        DeleteSession World |c| c.service.delete_session(&c.caller, SessionSelector::Id(c.id()));
        DeleteSessionsOfUser World |c| c.service.delete_all_sessions(&c.caller, c.id());
        SwitchWallet World |c| c.service.disable_wallet(&c.caller, c.id());
        SwitchWallet World |c| c.service.enable_wallet(&c.caller, c.id());
        ListWalletUses World |c| c.service.list_audit(&c.caller, vestry_app::audit::ListAudit {
            wallet_id: c.id(),
            limit: None,
            starting_after: None,
        });
        UpdateApiKey World |c| c.service.update_api_key(&c.by, c.world.into(), c.key, &[], KeyFields {
            name: Some("backend".to_owned()),
            ..KeyFields::default()
        });
        WidenApiKey World |c| c.service.update_api_key(
            &c.by, c.world.into(), c.key, &[KeyField::ExpiresAt], KeyFields::default(),
        );
        RevokeApiKey World |c| c.service.revoke_api_key(&c.by, c.world.into(), c.id());
        TestWebhook World |c| c.service.try_webhook(&c.by, c.world.into(), c.id(), None);
        ControlTestEnvironment World |c| c.service.clear_captured(&c.caller);
        ControlTestEnvironment World |c| c.service.reset_test_clock(&c.caller);
        ControlTestEnvironment World |c| c.service.set_test_clock_from(&c.caller, -1, vestry_domain::test_clock::ClockChange::default());
        DeleteUser World |c| c.service.delete_user(&c.caller, c.id());
        CreateApiKey World |c| c.service.create_api_key(&c.by, c.world, ApiKeyKind::Secret, KeyFields::default());
        RotateApiKey World |c| c.service.rotate_api_key(&c.by, c.world.into(), c.id());
        RenameApp App |c| async { c.service.set_app(&c.by, c.world.app_id, &set("name", "Demo")).await };
        UpdateSettings App |c| async {
            c.service.set_app(&c.by, c.world.app_id, &set("freshness_minutes", "15")).await
        };
        SwitchApp App |c| async {
            let change = AppChange {
                disabled: Some(false),
                ..AppChange::default()
            };
            c.service.change_app(&c.by, c.world.app_id, change, &|_| true).await
        };
        ReadConfig InApp |c| c.service.show_config(&c.by, c.world.app_id);
        ApplyConfig InApp |c| async {
            c.service.plan_config(&c.by, c.world.app_id, &Config::default(), &|_| true).await
        };
        CheckProvider World |c| async {
            c.service.check_provider_connection(&c.by, c.world, &"github".parse().unwrap()).await
        };
        SendTestMessage World |c| c.service.send_test_mail(&c.caller);
        TryProvider World |c| async {
            c.service.begin_provider_trial(&c.caller, c.id(), &"github".parse().unwrap()).await
        };
        TryProvider World |c| async {
            let name = "github".parse().unwrap();
            c.service.finish_provider_trial(&c.caller, c.id(), &name, Callback::default()).await
        };
        ReadStatus Deployment |c| c.service.deployment_status(&c.by);
        WeakenSettings App |c| async {
            let set_to = |value| c.service.set_app(&c.by, c.world.app_id, value);
            let (on, off) = (set("wallet_export", "true"), set("wallet_export", "false"));
            set_to(&on).await?;
            set_to(&off).await
        };
        RotateSigningKey World |c| c.service.rotate_signing_key(&c.by, c.world);
        RevokeSigningKey World |c| c.service.revoke_signing_key(&c.by, c.world.into(), c.id());
        SetProvider World |c| async {
            let name = "google".parse().unwrap();
            let secret = Secret::new("s3cr3t-value".to_owned());
            let settings = Default::default();
            c.service.set_provider(&c.by, c.world, name, "id", &secret, settings).await
        };
        RemoveProvider World |c| async {
            c.service.remove_provider(&c.by, c.world, &"google".parse().unwrap()).await
        };
        AddRedirectUrl World |c| c.service.add_redirect_url(
            &c.by, c.world, RedirectKind::Login, "https://shop.example/in", false,
        );
        UpdateRedirectUrl World |c| c.service.make_redirect_url_default(&c.by, c.world.into(), c.id());
        RemoveRedirectUrl World |c| c.service.remove_redirect_url(&c.by, c.world.into(), c.id());
        AddWebhook World |c| c.service.add_webhook(&c.by, c.world, NewEndpoint {
            url: "https://shop.example/hook".to_owned(),
            name: None,
            types: vec!["*".to_owned()],
            enabled: false,
        });
        UpdateWebhook World |c| c.service.change_webhook(&c.by, c.world.into(), c.id(), EndpointChange::default());
        RotateWebhookSecret World |c| c.service.rotate_webhook_secret(&c.by, c.world.into(), c.id(), 60);
        SwitchWebhook World |c| c.service.enable_webhook(&c.by, c.world.into(), c.id(), Resume::All);
        SwitchWebhook World |c| c.service.disable_webhook(&c.by, c.world.into(), c.id());
        RemoveWebhook World |c| c.service.remove_webhook(&c.by, c.world.into(), c.id());
        ReplayDeliveries World |c| c.service.replay_webhook(
            &c.by, c.world.into(), c.id(), Replayed::Event(c.id()),
        );
        DeleteEverySession World |c| c.service.delete_every_session(&c.caller);
        ReadAuditLog World |c| c.service.list_changes(&c.caller, ListChanges::default());
        ReadOperators Somewhere |c| c.service.list_operators(&c.by);
        ReadOperators Somewhere |c| c.service.list_invitations(&c.by);
        ManageOperators App |c| c.service.invite_operator(
            &c.by, "new@example.com", grants(Role::Viewer, Some(c.world.app_id)), Handover::Shown,
        );
        ManageOwners Deployment |c| c.service.invite_operator(
            &c.by, "new@example.com", grants(Role::Owner, None), Handover::Shown,
        );
        ManageOwners Deployment |c| c.service.reset_operator(&c.by, c.id(), Handover::Shown);
        ManageOwners Deployment |c| async {
            let secret = Secret::new("s3cr3t-value".to_owned());
            c.service.set_company_sign_in(&c.by, "https://id.acme.example", "id", &secret).await
        };
        ManageOwners Deployment |c| c.service.show_company_sign_in(&c.by);
        ManageOwners Deployment |c| c.service.remove_company_sign_in(&c.by);
        CreateApp Deployment |c| c.service.create_app(&c.by, "Another");
        ReadDeploymentEvents Deployment |c| async {
            c.service.list_deployment_events(&c.by, &ListEvents::default()).await
        };
        ReadManagementKeys Deployment |c| c.service.list_management_keys(&c.by);
        CreateManagementKey Deployment |c| c.service.create_management_key(&c.by, NewManagementKeyFields {
            name: "terraform".to_owned(),
            rights: Rights::new(None, vec![Environment::Test], vec![ManagementScope::AppsRead], None).unwrap(),
            expires_at: c.later,
        });
        RevokeManagementKey Deployment |c| c.service.revoke_management_key(&c.by, c.id());
    }
}

fn set(name: &str, value: &str) -> [(String, String); 1] {
    [(name.to_owned(), value.to_owned())]
}

fn grants(role: Role, app: Option<AppId>) -> Grants {
    Grants::new(role, app.map(|app| vec![app])).unwrap()
}

fn request() -> ConsoleRequest {
    ConsoleRequest {
        id: "req_test".into(),
        client: Some("192.0.2.7".parse().unwrap()),
        user_agent: "Browser/1".to_owned(),
    }
}

/// An operator with an authenticator app, and the token of the session.
pub(crate) async fn joined(
    harness: &Harness,
    email: &str,
    grants: Grants,
) -> (UserId, Secret<String>) {
    let (user, token, _) = enrolled(harness, email, grants).await;
    (user, token)
}

/// The same, with the seed of the app.
async fn enrolled(
    harness: &Harness,
    email: &str,
    grants: Grants,
) -> (UserId, Secret<String>, Vec<u8>) {
    let service = &harness.service;
    let link = service
        .invite_operator(Principal::cli(), email, grants, Handover::Shown)
        .await
        .unwrap();
    let link = link.url.expose().split_once("token=").unwrap().1.to_owned();
    let link = Secret::new(link);
    let new = service.use_operator_link(&request(), &link).await.unwrap();
    let session = service
        .operator_session(&request(), &new.token)
        .await
        .unwrap();
    assert!(session.principal().is_none(), "OPR-5");
    let created = service
        .create_operator_totp(&request(), &session)
        .await
        .unwrap();
    let seed = decoded(created.secret.expose());
    let step = harness.now().unix().div_euclid(30);
    let code = SecondFactor::Totp(totp::code_at(&seed, step));
    let proved = service
        .prove_second_factor(&request(), &session, new.token, code)
        .await
        .unwrap();
    (proved.user_id, proved.token, seed)
}

pub(crate) async fn principal(harness: &Harness, token: &Secret<String>) -> Principal {
    let session = harness
        .service
        .operator_session(&request(), token)
        .await
        .unwrap();
    session.principal().unwrap()
}

/// OPR-1, OPR-11: every use case, as every role, in both environments, with a second factor proved lately and before.
#[tokio::test]
async fn cn_m1_each_role_does_what_the_table_says() {
    let harness = Harness::new().await;
    let service = &harness.service;
    harness.pass(1);
    let other = service.create_app(Principal::cli(), "Other").await.unwrap();
    let mine = harness.app.id;
    let rows = use_cases();
    let missing: Vec<_> = Action::ALL
        .iter()
        .filter(|action| action.right().is_some())
        .filter(|action| !rows.iter().any(|row| row.action == **action))
        .collect();
    assert!(missing.is_empty(), "actions without a row: {missing:?}");

    let mut tokens = Vec::new();
    for role in Role::ALL {
        let app = (role != Role::Owner).then_some(mine);
        let grants = grants(role, app);
        let email = format!("{role}@example.com");
        let (_, token) = joined(&harness, &email, grants.clone()).await;
        tokens.push((role, grants, token));
    }
    for is_fresh in [true, false] {
        if !is_fresh {
            harness.pass(10 * 60);
        }
        for (role, grants, token) in &tokens {
            let by = principal(&harness, token).await;
            for environment in Environment::ALL {
                let world = World::new(mine, environment);
                let caller = service.caller(&by, world).await.unwrap();
                let key = expiring_key(&harness, world).await;
                let call = Call {
                    service: Arc::clone(service),
                    by: by.clone(),
                    caller,
                    world,
                    key,
                    later: harness.now() + Seconds(3_600),
                };
                for UseCase { action, asked, run } in &rows {
                    let right = action.right().unwrap();
                    let expected = match asked {
                        Asked::World => grants.permit(right, Extent::World(world), is_fresh),
                        Asked::App => grants.permit(right, Extent::App(mine), is_fresh),
                        Asked::InApp => grants.permit_in_app(right, mine),
                        Asked::Deployment => grants.permit(right, Extent::Deployment, is_fresh),
                        Asked::Somewhere => match grants.permit_somewhere(right) {
                            true => Ok(()),
                            false => Err(Denied::Role),
                        },
                    };
                    let outcome = run(&call).await;
                    let told = outcome.as_ref().err().map_or("", String::as_str);
                    // Live environments have nothing to control.
                    let exists = *action != Action::ControlTestEnvironment
                        || environment == Environment::Test;
                    let is_as_expected = match expected {
                        _ if !exists => told.contains("NotFound"),
                        Ok(()) => {
                            !told.contains("RoleNotAllowed") && !told.contains("StepUpRequired")
                        }
                        Err(Denied::Role) => told.contains("RoleNotAllowed"),
                        Err(Denied::StepUp) => told.contains("StepUpRequired"),
                        Err(Denied::App) => told.contains("NotFound(\"app\")"),
                    };
                    assert!(
                        is_as_expected,
                        "{role} {action:?} {asked:?} in {environment}, fresh: {is_fresh}: expected {expected:?}, got {outcome:?}"
                    );
                }
            }
            // Another App does not exist for an operator without a role in it.
            if *role != Role::Owner {
                let elsewhere = World::new(other.id, Environment::Test);
                let entered = service.caller(&by, elsewhere).await;
                assert!(matches!(entered, Err(Refusal::NotFound("app"))), "{role}");
                let shown = service.show_app(&by, other.id).await;
                assert!(matches!(shown, Err(Refusal::NotFound("app"))), "{role}");
            }
            // Nor does the built-in App, for any (OPR-2).
            let entered = service.caller(&by, World::DEPLOYMENT).await;
            assert!(matches!(entered, Err(Refusal::NotFound("app"))), "{role}");
        }
    }
}

async fn expiring_key(harness: &Harness, world: World) -> ApiKeyId {
    let fields = KeyFields {
        expires_at: Some(harness.now() + Seconds(86_400)),
        ..KeyFields::default()
    };
    let made = harness
        .service
        .create_api_key(Principal::cli(), world, ApiKeyKind::Secret, fields);
    made.await.unwrap().record.id
}

/// No role signs, exports, imports, or sends or verifies a credential.
#[tokio::test]
async fn no_role_acts_for_a_user() {
    let harness = Harness::new().await;
    let (_, token) = joined(&harness, "owner@example.com", grants(Role::Owner, None)).await;
    let by = principal(&harness, &token).await;
    for environment in Environment::ALL {
        let caller = harness
            .service
            .caller(&by, harness.world(environment))
            .await
            .unwrap();
        let never = Action::ALL.iter().filter(|action| action.right().is_none());
        for action in never {
            let outcome = caller.authorize(*action);
            assert!(
                matches!(outcome, Err(Refusal::RoleNotAllowed)),
                "{action:?}"
            );
        }
    }
}

/// MG-3: an admin makes and manages developers and viewers of the own Apps, and no others.
#[tokio::test]
async fn an_admin_manages_the_roles_below() {
    let harness = Harness::new().await;
    let service = &harness.service;
    harness.pass(1);
    let (mine, other) = (
        harness.app.id,
        service
            .create_app(Principal::cli(), "Other")
            .await
            .unwrap()
            .id,
    );
    let (admin, token) = joined(
        &harness,
        "admin@example.com",
        grants(Role::Admin, Some(mine)),
    )
    .await;
    let by = principal(&harness, &token).await;
    let invite = async |role, app| {
        let grants = grants(role, app);
        let made = service.invite_operator(&by, "new@example.com", grants, Handover::Shown);
        made.await.map(drop)
    };
    for role in [Role::Viewer, Role::Developer] {
        invite(role, Some(mine)).await.unwrap();
        let refused = invite(role, Some(other)).await;
        assert!(
            matches!(refused, Err(Refusal::NotFound("app"))),
            "{refused:?}"
        );
        let refused = invite(role, None).await;
        assert!(
            matches!(refused, Err(Refusal::RoleNotAllowed)),
            "{refused:?}"
        );
    }
    for (role, app) in [
        (Role::Admin, Some(mine)),
        (Role::Admin, None),
        (Role::Owner, None),
    ] {
        let refused = invite(role, app).await;
        assert!(
            matches!(refused, Err(Refusal::RoleNotAllowed)),
            "{role}: {refused:?}"
        );
    }
    let seen = service.list_invitations(&by).await.unwrap();
    assert_eq!(seen.len(), 2);

    let peers = [
        ("peer@example.com", grants(Role::Admin, Some(mine))),
        ("owner@example.com", grants(Role::Owner, None)),
    ];
    for (email, grants) in peers {
        let (peer, _) = joined(&harness, email, grants).await;
        for change in [
            OperatorChange::Disable,
            OperatorChange::Remove,
            OperatorChange::Role(Some(Role::Viewer), Some(vec![mine])),
        ] {
            let refused = service.change_operator(&by, peer, change).await;
            assert!(
                matches!(refused, Err(Refusal::RoleNotAllowed)),
                "{email}: {refused:?}"
            );
        }
    }
    // An operator of another App does not exist for the admin; one of both is managed in the own App only.
    let (stranger, _) = joined(
        &harness,
        "eve@example.com",
        grants(Role::Viewer, Some(other)),
    )
    .await;
    let refused = service
        .change_operator(&by, stranger, OperatorChange::Disable)
        .await;
    assert!(
        matches!(refused, Err(Refusal::NotFound("operator"))),
        "{refused:?}"
    );
    let both = Grants::new(Role::Viewer, Some(vec![mine, other])).unwrap();
    let (both, _) = joined(&harness, "both@example.com", both).await;
    let refused = service
        .change_operator(&by, both, OperatorChange::Disable)
        .await;
    assert!(
        matches!(refused, Err(Refusal::RoleNotAllowed)),
        "{refused:?}"
    );
    let raise = OperatorChange::Role(Some(Role::Developer), Some(vec![mine]));
    service.change_operator(&by, both, raise).await.unwrap();
    let take = OperatorChange::Role(None, Some(vec![mine]));
    service.change_operator(&by, both, take).await.unwrap();
    // The admin's own role cannot be raised, but left.
    let raise = OperatorChange::Role(Some(Role::Owner), None);
    let refused = service.change_operator(&by, admin, raise).await;
    assert!(
        matches!(refused, Err(Refusal::RoleNotAllowed)),
        "{refused:?}"
    );
}

/// A management key makes viewers of its Apps only (OPR-2).
#[tokio::test]
async fn a_management_key_makes_viewers() {
    let harness = Harness::new().await;
    let service = &harness.service;
    let fields = NewManagementKeyFields {
        name: "terraform".to_owned(),
        rights: Rights::new(
            Some(vec![harness.app.id]),
            Environment::ALL.to_vec(),
            ManagementScope::ALL.to_vec(),
            None,
        )
        .unwrap(),
        expires_at: harness.now() + Seconds(86_400),
    };
    let key = service
        .create_management_key(Principal::cli(), fields)
        .await
        .unwrap();
    let by = service
        .authenticate_management_key(key.key.expose())
        .await
        .unwrap();
    for (role, app, expected) in [
        (Role::Viewer, Some(harness.app.id), "made"),
        (Role::Developer, Some(harness.app.id), "role"),
        (Role::Admin, Some(harness.app.id), "role"),
        (
            Role::Viewer,
            Some(AppId::new(harness.now(), [9; 16])),
            "app",
        ),
        (Role::Viewer, None, "apps"),
        (Role::Owner, None, "scope"),
    ] {
        let invited = service
            .invite_operator(&by, "new@example.com", grants(role, app), Handover::Shown)
            .await;
        let outcome = match &invited {
            Ok(_) => "made",
            Err(Refusal::NotFound(what)) => what,
            Err(Refusal::Restricted(restriction)) => Restriction::param(*restriction),
            other => panic!("{other:?}"),
        };
        assert_eq!(outcome, expected, "{role} {app:?}");
    }
}

/// What an operator does and is recorded.
#[derive(Debug, Clone, Copy)]
enum Act {
    SignIn,
    StepUp,
    AddApp,
    RemoveApp,
    SignOut,
}

impl Act {
    const ALL: [Self; 5] = [
        Self::SignIn,
        Self::StepUp,
        Self::AddApp,
        Self::RemoveApp,
        Self::SignOut,
    ];

    const fn action(self) -> ControlAction {
        match self {
            Self::SignIn => ControlAction::OperatorSignIn,
            Self::StepUp => ControlAction::OperatorStepUp,
            Self::AddApp | Self::RemoveApp => ControlAction::OperatorFactor,
            Self::SignOut => ControlAction::OperatorSignOut,
        }
    }
}

const ANN: &str = "ann@example.com";
const PASSWORD: &str = "violet-harbour-77-lantern";

/// An operator with a password and two authenticator apps.
struct Ann<'a> {
    harness: &'a Harness,
    user: UserId,
    token: Secret<String>,
    seed: Vec<u8>,
}

impl<'a> Ann<'a> {
    async fn of(harness: &'a Harness) -> Self {
        let (user, token, _) = enrolled(harness, ANN, grants(Role::Owner, None)).await;
        let service = &harness.service;
        let session = service.operator_session(&request(), &token).await.unwrap();
        let password = Secret::new(PASSWORD.to_owned());
        service
            .set_operator_password(&request(), &session, token.clone(), password, None)
            .await
            .unwrap();
        let made = service.create_operator_totp(&request(), &session).await;
        let mut ann = Self {
            harness,
            user,
            token,
            seed: decoded(made.unwrap().secret.expose()),
        };
        ann.token = ann.prove(&session).await.unwrap();
        harness.pass(30);
        ann
    }

    async fn prove(&self, session: &OperatorSession) -> Result<Secret<String>, SignInError> {
        let step = self.harness.now().unix().div_euclid(30);
        let code = SecondFactor::Totp(totp::code_at(&self.seed, step));
        let service = &self.harness.service;
        let proved = service
            .prove_second_factor(&request(), session, self.token.clone(), code)
            .await;
        Ok(proved?.token)
    }

    async fn does(&self, act: Act) -> Result<(), String> {
        let service = &self.harness.service;
        if let Act::SignIn = act {
            let password = Secret::new(PASSWORD.to_owned());
            let signed_in = service
                .sign_operator_in_by_password(&request(), ANN, password)
                .await;
            return told(signed_in);
        }
        let session = service.operator_session(&request(), &self.token).await;
        let session = session.map_err(|refusal| format!("{refusal:?}"))?;
        match act {
            Act::SignIn | Act::StepUp => told(self.prove(&session).await),
            Act::AddApp => told(service.create_operator_totp(&request(), &session).await),
            Act::RemoveApp => {
                let factors = service.factors_of_operator(&session).await;
                let factors = factors.map_err(|fault| format!("{fault:?}"))?;
                let id = factors.totps[0].0;
                told(service.delete_operator_totp(&request(), &session, id).await)
            }
            Act::SignOut => {
                let id = session.session.id;
                told(service.end_operator_session(&request(), &session, id).await)
            }
        }
    }

    /// What the acts change: sessions with their proofs, and authenticator apps.
    async fn state(&self) -> String {
        let sessions = self.harness.service.sessions_of_operator(self.user).await;
        let sessions = sessions.unwrap().into_iter();
        let sessions: Vec<_> = sessions.map(|one| (one.id, one.factors)).collect();
        let mut read = self.harness.fake.read().await.unwrap();
        let apps = read.totps().of_user(&World::DEPLOYMENT, self.user).await;
        let apps: Vec<_> = apps.unwrap().into_iter().map(|app| app.id).collect();
        format!("{sessions:?} {apps:?}")
    }
}

/// OPR-7, AUD-1: an act and its entry are both stored or both missing, at whatever step the database fails.
#[tokio::test]
async fn opr_7_an_act_and_its_entry_are_one_commit() {
    for act in Act::ALL {
        for operations in 0.. {
            let harness = Harness::new().await;
            let ann = Ann::of(&harness).await;
            let (before, state) = (
                written(&harness, World::DEPLOYMENT).await.len(),
                ann.state().await,
            );
            harness.fake.fail_after(operations);
            let done = ann.does(act).await;
            let is_over = harness.fake.has_yet_to_fail();
            harness.fake.fail_after(None);
            let entries = written(&harness, World::DEPLOYMENT).await;
            let new: Vec<_> = entries[before..]
                .iter()
                .map(|entry| (entry.event.action, entry.event.actor))
                .collect();
            let is_changed = ann.state().await != state;
            let expected = is_changed.then_some((act.action(), Actor::Operator(ann.user)));
            let expected: Vec<_> = expected.into_iter().collect();
            assert_eq!(new, expected, "{act:?} after {operations} operations");
            assert_eq!(findings(&harness).await, []);
            if is_over {
                assert!(is_changed, "{act:?}: {done:?}");
                break;
            }
        }
    }
}

/// What the log of the built-in App says about operators and management keys: type, actor and data.
pub(crate) async fn deployment_log(harness: &Harness) -> Vec<(String, Actor, Value)> {
    harness.service.sequence_all().await.unwrap();
    let query = ListEvents {
        kinds: kinds(["operator.*", "management_key.*"]).unwrap(),
        ..ListEvents::default()
    };
    let log = harness
        .service
        .list_deployment_events(Principal::cli(), &query);
    let events = log.await.unwrap().events.into_iter();
    let events = events.map(|event| {
        assert_eq!(event.event.world, World::DEPLOYMENT);
        let data = serde_json::from_str(&event.event.data).unwrap();
        (event.event.kind.to_string(), event.event.actor, data)
    });
    events.collect()
}

/// E-1: each change of an operator emits its event with the change, and a change that is refused or changes nothing emits none.
#[tokio::test]
async fn e_1_changes_of_operators_emit_events() {
    let harness = Harness::new().await;
    let service = &harness.service;
    let app = harness.app.id;
    let (owner, token) = joined(&harness, "ann@example.com", grants(Role::Owner, None)).await;
    let viewer = grants(Role::Viewer, Some(app));
    let (ben, ben_token) = joined(&harness, "ben@example.com", viewer).await;
    let password = Secret::new("correct horse battery staple".to_owned());
    let request = request();
    let session = service.operator_session(&request, &ben_token).await;
    let (session, new) = (session.unwrap(), Secret::new(password.expose().clone()));
    service
        .set_operator_password(&request, &session, ben_token, new, None)
        .await
        .unwrap();
    let wrong = Secret::new("incorrect horse".to_owned());
    let refused = service.sign_operator_in_by_password(&request, "ben@example.com", wrong);
    refused.await.unwrap_err();
    service
        .sign_operator_in_by_password(&request, "ben@example.com", password)
        .await
        .unwrap();
    let by = principal(&harness, &token).await;
    let refused = service.change_operator(&by, owner, OperatorChange::Remove);
    assert!(matches!(refused.await, Err(Refusal::LastOwner)));
    for change in [
        OperatorChange::Role(Some(Role::Admin), Some(vec![app])),
        OperatorChange::Role(Some(Role::Admin), Some(vec![app])),
        OperatorChange::Disable,
        OperatorChange::Disable,
        OperatorChange::Enable,
        OperatorChange::Role(None, Some(vec![app])),
    ] {
        service.change_operator(&by, ben, change).await.unwrap();
    }
    let mut log = deployment_log(&harness).await;
    let mut invited = Vec::new();
    for (kind, _, data) in &mut log {
        match kind.as_str() {
            "operator.invited" => invited.push(data["operator_link_id"].take()),
            "operator.signed_in" => data["session_id"] = json!(null),
            _ => {}
        }
    }
    assert!(
        invited
            .iter()
            .all(|id| id.as_str().unwrap().starts_with("inv_"))
    );
    let (ann, ben_id, app) = (owner.to_string(), ben.to_string(), app.to_string());
    let (ann_did, ben_did) = (Actor::Operator(owner), Actor::Operator(ben));
    let row = |kind: &str, actor: Actor, data: Value| (format!("operator.{kind}"), actor, data);
    let one = |kind: &str, actor: Actor| row(kind, actor, json!({"user_id": ben_id}));
    let factor = json!({"type": "password", "delivery_channel": "password"});
    let changed = |role| json!({"user_id": ben_id, "role": role, "app_ids": [app]});
    let expected = [
        row(
            "invited",
            Actor::Cli,
            json!({"operator_link_id": null, "role": "owner", "app_ids": null}),
        ),
        row(
            "joined",
            ann_did,
            json!({"user_id": ann, "role": "owner", "app_ids": null}),
        ),
        row(
            "invited",
            Actor::Cli,
            json!({"operator_link_id": null, "role": "viewer", "app_ids": [app]}),
        ),
        row("joined", ben_did, changed(Some("viewer"))),
        row(
            "sign_in_failed",
            Actor::System,
            json!({"user_id": ben_id, "method": "password", "reason": "wrong", "count": null}),
        ),
        row(
            "signed_in",
            ben_did,
            json!({"user_id": ben_id, "session_id": null, "factor": factor}),
        ),
        row("role_changed", ann_did, changed(Some("admin"))),
        one("disabled", ann_did),
        one("enabled", ann_did),
        one("removed", ann_did),
    ];
    for (found, expected) in log.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(log.len(), expected.len());
    // The failure is not told a second time under the name that Apps know.
    let query = ListEvents::default();
    let all = service.list_deployment_events(Principal::cli(), &query);
    let all = all.await.unwrap().events;
    assert!(
        !all.iter()
            .any(|event| event.event.kind == EventKind::SignInFailed)
    );
}

/// AUD-1, OPR-7: an operator's view of a live user has one entry an hour, for each operator and user; any other read has none.
#[tokio::test]
async fn aud_1_opr_7_a_view_of_a_user_is_recorded_once_an_hour() {
    let harness = Harness::new().await;
    let service = &harness.service;
    let live = harness.live().await;
    let [ada, bob] = ["ada@example.com", "bob@example.com"];
    let (ada, bob) = (
        harness.walletless(&live, ada).await,
        harness.walletless(&live, bob).await,
    );
    let world = harness.world(Environment::Live);
    let before = written(&harness, world).await.len();
    let seen = async || {
        let new = written(&harness, world).await.split_off(before);
        let seen = new.into_iter().map(|entry| {
            assert_eq!(entry.event.action, ControlAction::UserView);
            assert_eq!(detail(&entry), json!({"ip": "192.0.2.7"}));
            assert_eq!(entry.event.request_id.as_deref(), Some("req_test"));
            (entry.event.actor, entry.event.subject)
        });
        seen.collect::<Vec<_>>()
    };
    let developer = grants(Role::Developer, Some(harness.app.id));
    let (ann, token) = joined(&harness, "ann@example.com", grants(Role::Owner, None)).await;
    let (ben, ben_token) = joined(&harness, "ben@example.com", developer).await;
    let caller = async |token, world| {
        let by = principal(&harness, token).await;
        service.caller(&by, world).await.unwrap()
    };
    let in_test = caller(&token, harness.world(Environment::Test)).await;
    let (by_ann, by_ben) = (caller(&token, world).await, caller(&ben_token, world).await);
    // The App's own key is no operator, and an unknown user is not seen.
    service.get_user(&live, ada).await.unwrap();
    let unknown = UserId::new(harness.now(), [9; 16]);
    let missing = service.get_user(&by_ann, unknown).await;
    assert!(matches!(missing, Err(Refusal::NotFound("user"))));
    assert_eq!(seen().await, []);

    // Parallel reads in two processes are one view.
    let processes = [Arc::clone(service), harness.other_process()];
    let reads = (0..10).map(|number| {
        let (service, by) = (Arc::clone(&processes[number % 2]), by_ann.clone());
        async move { service.get_user(&by, ada).await }
    });
    let reads = race(reads).await;
    assert!(reads.iter().all(Result::is_ok), "{reads:?}");
    let ann_saw = |user: UserId| (Actor::Operator(ann), user.into());
    assert_eq!(seen().await, [ann_saw(ada)]);
    service.get_user(&by_ann, bob).await.unwrap();
    service.get_user(&by_ben, bob).await.unwrap();
    let all = [
        ann_saw(ada),
        ann_saw(bob),
        (Actor::Operator(ben), bob.into()),
    ];
    assert_eq!(seen().await, all);
    harness.pass(59 * 60);
    service.get_user(&by_ann, ada).await.unwrap();
    assert_eq!(seen().await, all);
    harness.pass(60);
    service.get_user(&by_ann, ada).await.unwrap();
    assert_eq!(seen().await.len(), 4);

    // A test environment has no real users.
    let test = harness.test().await;
    let eve = harness.walletless(&test, "eve@example.com").await;
    let world = harness.world(Environment::Test);
    let before = written(&harness, world).await.len();
    service.get_user(&in_test, eve).await.unwrap();
    assert_eq!(written(&harness, world).await.len(), before);
}
