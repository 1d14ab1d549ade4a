//! API keys with scopes: a call outside them is refused before anything else happens (403 `key_not_allowed`).

use vestry_app::audit::ListChanges;
use vestry_app::identity::codes::VerifyCodeError;
use vestry_app::identity::links::{
    CreateLink, LoginStatusError, LoginStatusQuery, VerifyLinkError,
};
use vestry_app::identity::sessions::{ListSessions, SessionFields, VerifySession};
use vestry_app::identity::totps::{CreateTotp, PresentedTotp, VerifyTotp, VerifyTotpError};
use vestry_app::identity::users::{
    CreateUser, DeleteWalletError, SearchUsers, SearchUsersError, UpdateUser,
};
use vestry_app::identity::wallet_sign_in::{BeginWalletSignIn, SignedText, VerifyWallet};
use vestry_app::wallets::{
    BeginImport, ExportWallet, ExportWalletError, ImportWallet, ImportWalletError, ListWallets,
    SignError,
};
use vestry_app::{Caller, Refusal};
use vestry_domain::Secret;
use vestry_domain::action::{Action, Requirement};
use vestry_domain::api_key::{Restriction, Scope};
use vestry_domain::ids::{EmailId, Id, PhoneNumberId, SessionId, TotpId, UserId, WalletId};
use vestry_domain::key_transfer::{EntropyType, Kem, SealedMessage};
use vestry_domain::session::{DeviceFingerprint, SessionSelector};
use vestry_domain::wallet::{AddressForm, WalletType};

use crate::harness::{Harness, START, login, proof};
use crate::links::{invitation, link_for, opened};
use crate::send::send;
use crate::wallets::text;

/// The missing scope for which a call was refused, if that is the reason.
macro_rules! lacking {
    ($outcome:expr) => {
        match $outcome {
            Err(Refusal::NotAllowed(scope)) => scope,
            Err(Refusal::Restricted(Restriction::Scope(scope))) => Some(scope),
            _ => None,
        }
    };
    ($outcome:expr, $error:ident) => {
        match $outcome {
            Err($error::Common(Refusal::NotAllowed(scope))) => scope,
            Err($error::Common(Refusal::Restricted(Restriction::Scope(scope)))) => Some(scope),
            _ => None,
        }
    };
}

fn new_challenge() -> BeginWalletSignIn {
    BeginWalletSignIn {
        wallet_type: WalletType::Ethereum,
        public_address: format!("0x{}", "0".repeat(40)),
        user_id: None,
    }
}

fn signature() -> VerifyWallet {
    VerifyWallet {
        wallet_type: WalletType::Ethereum,
        public_address: format!("0x{}", "0".repeat(40)),
        signature: String::new(),
        text: SignedText::Challenge,
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

fn new_import() -> BeginImport {
    BeginImport {
        wallet_type: WalletType::Ethereum,
        public_address: format!("0x{}", "0".repeat(40)),
        entropy_type: EntropyType::PrivateKey,
        account_index: None,
        kem: Kem::X25519,
        user_id: None,
    }
}

fn sealed_key(user_id: UserId) -> ImportWallet {
    ImportWallet {
        user_id,
        wallet_type: WalletType::Ethereum,
        public_address: format!("0x{}", "0".repeat(40)),
        entropy_type: EntropyType::PrivateKey,
        account_index: None,
        message: SealedMessage {
            encapsulated_key: vec![9; 32],
            ciphertext: vec![0; 48],
            aead: None,
            info: Vec::new(),
            aad: Vec::new(),
        },
    }
}

fn export(wallet_id: WalletId) -> ExportWallet {
    ExportWallet {
        wallet_id,
        recipient_public_key: vec![9; 32],
        entropy_type: EntropyType::PrivateKey,
    }
}

const fn new_totp(user_id: UserId) -> CreateTotp {
    CreateTotp {
        user_id,
        expires_in: None,
    }
}

fn totp_proof(user_id: UserId) -> VerifyTotp {
    VerifyTotp {
        user_id,
        presented: PresentedTotp::Code(Secret::new("123456".to_owned())),
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

/// Every use case of the API that needs a scope: its name, the scope, and the missing scope if it was refused.
async fn refusals(harness: &Harness, caller: &Caller) -> Vec<(&'static str, Scope, Option<Scope>)> {
    let service = &harness.service;
    let user = UserId::new(START, [7; 16]);
    let wallet = WalletId::new(START, [7; 16]);
    let code = proof(EmailId::new(START, [7; 16]), "123456");
    let status = LoginStatusQuery {
        email_id: EmailId::new(START, [7; 16]),
        origin_token: Secret::new("x".to_owned()),
    };
    let session = SessionSelector::Id(SessionId::new(START, [7; 16]));
    let create = CreateUser::default();
    let ethereum = WalletType::Ethereum;
    let verify = VerifySession::default();
    vec![
        (
            "users/create",
            Scope::UsersWrite,
            lacking!(service.create_user(caller, create).await),
        ),
        (
            "users/get",
            Scope::UsersRead,
            lacking!(service.get_user(caller, user).await),
        ),
        (
            "users/totps/delete",
            Scope::UsersWrite,
            lacking!(
                service
                    .delete_totp(caller, TotpId::new(START, [7; 16]))
                    .await
            ),
        ),
        (
            "totps/create",
            Scope::AuthWrite,
            lacking!(service.create_totp(caller, new_totp(user)).await),
        ),
        (
            "totps/verify",
            Scope::AuthWrite,
            lacking!(
                service.verify_totp(caller, totp_proof(user)).await,
                VerifyTotpError
            ),
        ),
        (
            "totps/recovery_codes",
            Scope::AuthWrite,
            lacking!(service.recovery_codes(caller, user).await),
        ),
        (
            "users/update",
            Scope::UsersWrite,
            lacking!(
                service
                    .update_user(caller, user, UpdateUser::default())
                    .await
            ),
        ),
        (
            "users/search",
            Scope::UsersRead,
            lacking!(
                service.search_users(caller, SearchUsers::default()).await,
                SearchUsersError
            ),
        ),
        (
            "users/delete",
            Scope::UsersWrite,
            lacking!(service.delete_user(caller, user).await),
        ),
        (
            "users/disable",
            Scope::UsersWrite,
            lacking!(service.disable_user(caller, user, "").await),
        ),
        (
            "users/enable",
            Scope::UsersWrite,
            lacking!(service.enable_user(caller, user).await),
        ),
        (
            "users/unlock",
            Scope::UsersWrite,
            lacking!(service.unlock_user(caller, user).await),
        ),
        (
            "users/emails/delete",
            Scope::UsersWrite,
            lacking!(
                service
                    .delete_email(caller, EmailId::new(START, [7; 16]))
                    .await
            ),
        ),
        (
            "users/phone_numbers/delete",
            Scope::UsersWrite,
            lacking!(
                service
                    .delete_phone_number(caller, PhoneNumberId::new(START, [7; 16]))
                    .await
            ),
        ),
        (
            "users/wallets/delete",
            Scope::UsersWrite,
            lacking!(
                service.delete_wallet(caller, wallet).await,
                DeleteWalletError
            ),
        ),
        (
            "wallets/registrations/begin",
            Scope::AuthWrite,
            lacking!(service.begin_wallet_sign_in(caller, new_challenge()).await),
        ),
        (
            "wallets/verify",
            Scope::AuthWrite,
            lacking!(service.verify_wallet_sign_in(caller, signature()).await),
        ),
        (
            "wallets/create",
            Scope::WalletsWrite,
            lacking!(
                service
                    .create_wallet(caller, user, ethereum, AddressForm::Usual)
                    .await
            ),
        ),
        (
            "wallets/get",
            Scope::WalletsRead,
            lacking!(service.get_wallet(caller, wallet).await),
        ),
        (
            "wallets/list",
            Scope::WalletsRead,
            lacking!(service.list_wallets(caller, ListWallets::default()).await),
        ),
        (
            "sign_message",
            Scope::WalletsSign,
            lacking!(service.sign(caller, text(wallet, "hi")).await, SignError),
        ),
        (
            "wallets/import/begin",
            Scope::WalletsWrite,
            lacking!(service.begin_import(caller, new_import()).await),
        ),
        (
            "wallets/import",
            Scope::WalletsWrite,
            lacking!(
                service.import_wallet(caller, sealed_key(user)).await,
                ImportWalletError
            ),
        ),
        (
            "wallets/export",
            Scope::WalletsExport,
            lacking!(
                service.export_wallet(caller, export(wallet)).await,
                ExportWalletError
            ),
        ),
        (
            "login_or_create",
            Scope::AuthWrite,
            lacking!(service.login_or_create_by_email(caller, login("x")).await),
        ),
        (
            "send",
            Scope::AuthWrite,
            lacking!(service.send_code_by_email(caller, send("x")).await),
        ),
        (
            "otps/verify",
            Scope::AuthWrite,
            lacking!(service.verify_code(caller, code).await, VerifyCodeError),
        ),
        (
            "magic_links/login_or_create",
            Scope::AuthWrite,
            lacking!(service.login_or_create_by_link(caller, link_for("x")).await),
        ),
        (
            "magic_links/invite",
            Scope::AuthWrite,
            lacking!(service.invite_by_link(caller, invitation("x")).await),
        ),
        (
            "magic_links/create",
            Scope::AuthWrite,
            lacking!(service.create_link(caller, CreateLink::default()).await),
        ),
        (
            "magic_links/verify",
            Scope::AuthWrite,
            lacking!(
                service.verify_link(caller, opened("x")).await,
                VerifyLinkError
            ),
        ),
        (
            "magic_links/login_status",
            Scope::AuthWrite,
            lacking!(service.login_status(caller, status).await, LoginStatusError),
        ),
        (
            "sessions/verify",
            Scope::SessionsWrite,
            lacking!(service.verify_session(caller, verify).await),
        ),
        (
            "sessions/list",
            Scope::SessionsWrite,
            lacking!(service.list_sessions(caller, ListSessions::of(user)).await),
        ),
        (
            "sessions/delete",
            Scope::SessionsWrite,
            lacking!(service.delete_session(caller, session).await),
        ),
        (
            "sessions/delete_all",
            Scope::SessionsWrite,
            lacking!(service.delete_all_sessions(caller, user).await),
        ),
        (
            "sessions/delete_all with all",
            Scope::SessionsWrite,
            lacking!(service.delete_every_session(caller).await),
        ),
        (
            "audit",
            Scope::AuditRead,
            lacking!(service.list_changes(caller, ListChanges::default()).await),
        ),
    ]
}

/// For each scope, a key with all the others is refused exactly where that scope is needed.
#[tokio::test]
async fn a_missing_scope_refuses_its_calls_and_no_others() {
    let harness = Harness::new().await;
    for missing in Scope::ALL {
        let others = Scope::ALL
            .into_iter()
            .filter(|scope| *scope != missing)
            .collect();
        let caller = harness.scoped(others).await;
        for (call, needed, refused) in refusals(&harness, &caller).await {
            let expected = (needed == missing).then_some(missing);
            assert_eq!(refused, expected, "{call} without {missing}");
        }
    }
}

/// For each scope, a key with that scope alone.
#[tokio::test]
async fn a_single_scope_opens_its_calls_and_no_others() {
    let harness = Harness::new().await;
    for only in Scope::ALL {
        let caller = harness.scoped(vec![only]).await;
        for (call, needed, refused) in refusals(&harness, &caller).await {
            let expected = (needed != only).then_some(needed);
            assert_eq!(refused, expected, "{call} with {only} alone");
        }
    }
}

/// A key created without scopes has all but those that must be named.
#[tokio::test]
async fn no_scopes_mean_all_but_export_and_the_audit_log() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let named = [Scope::WalletsExport, Scope::AuditRead];
    for (call, needed, refused) in refusals(&harness, &test).await {
        assert_eq!(refused.is_some(), named.contains(&needed), "{call}");
    }
    for scope in Scope::ALL {
        let action = needing(scope);
        assert_eq!(test.authorize(action).is_ok(), !named.contains(&scope));
    }
    assert!(
        harness
            .scoped(vec![Scope::WalletsExport])
            .await
            .authorize(Action::ExportWallet)
            .is_ok()
    );
}

/// API keys cannot act as operators, whatever their scopes.
#[tokio::test]
async fn api_keys_cannot_act_as_operators() {
    let harness = Harness::new().await;
    let all = harness.scoped(Scope::ALL.to_vec()).await;
    for action in Action::ALL {
        let outcome = all.authorize(*action);
        match action.requirement() {
            Requirement::Scope(_) | Requirement::AnyKey => assert!(outcome.is_ok(), "{action:?}"),
            Requirement::Management(_) | Requirement::Cli => assert!(
                matches!(outcome, Err(Refusal::NotAllowed(None))),
                "{action:?}"
            ),
        }
    }
    let exported = harness.service.export_users(&all, None, 10, false).await;
    assert!(matches!(exported.err(), Some(Refusal::NotAllowed(None))));
}

fn needing(scope: Scope) -> Action {
    let mut actions = Action::ALL.iter();
    *actions
        .find(|action| action.requirement() == Requirement::Scope(scope))
        .unwrap()
}
