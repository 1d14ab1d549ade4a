use vestry_domain::Timestamp;
use vestry_domain::action::Action;
use vestry_domain::api_key::Scope;
use vestry_domain::ids::{AppId, Id, UserId, WalletId};
use vestry_domain::wallet::WalletType;

use super::{read, written};
use crate::kernel::replay_guard::{CredentialKind, ReplayGuard};

/// M-9: a stored response round-trips with any content, and bytes in another format are not read as a response without conditions.
#[test]
fn m_9_a_response_is_stored_with_its_preconditions() {
    let user = UserId::new(Timestamp::from_unix(1_800_000_000), [7; 16]);
    let wallet = WalletId::new(Timestamp::from_unix(1_800_000_000), [8; 16]);
    let conditions = vec![
        ReplayGuard::Permitted(Action::ExportWallet),
        ReplayGuard::PermittedInApp(Action::ManageOperators, AppId::BUILT_IN),
        ReplayGuard::PermittedInDeployment(Action::CreateApp),
        ReplayGuard::Grants(Scope::AuditRead),
        ReplayGuard::User(user),
        ReplayGuard::NotUser(user),
        ReplayGuard::Wallet(wallet, user),
        ReplayGuard::NotWallet(wallet, user),
        ReplayGuard::NoUser,
        ReplayGuard::NoOwner,
        ReplayGuard::WalletType(WalletType::Polkadot),
        ReplayGuard::Present(user),
        ReplayGuard::Export,
        ReplayGuard::Usable(wallet),
        ReplayGuard::MaySignIn(user, CredentialKind::Code),
        ReplayGuard::MaySignIn(user, CredentialKind::Origin),
    ];
    for conditions in [conditions, Vec::new()] {
        for answer in [b"".as_slice(), b"\0\xC8{}", b"\n\n\n"] {
            let kept =
                read(written(&conditions, answer).expose()).expect("output of `written` parses");
            assert_eq!(kept.conditions, conditions);
            assert_eq!(kept.answer.expose(), answer);
        }
    }
    for wrong in [
        b"".as_slice(),
        b"\0\xC8{}",
        b"permitted Fly\n\n",
        b"export \n\n",
    ] {
        assert!(read(wrong).is_none());
    }
}
