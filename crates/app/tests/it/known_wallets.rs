//! Wallets that signed lately: not read again, and never taken for what they no longer are.

use std::sync::Arc;

use vestry_app::wallets::{SignError, UnusableWallet};
use vestry_app::{Caller, Fault, Service};
use vestry_contract::race::race;
use vestry_domain::audit::AuditAction;
use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_ports::store::Store;

use crate::audit::{actions, entries, flaws};
use crate::rig::Rig;
use crate::tamper::{store, unstored_of};
use crate::wallets::text;

async fn sign(service: &Service, caller: &Caller, wallet: WalletId) -> Result<(), SignError> {
    let signed = service.sign(caller, text(wallet, "hi")).await;
    signed.map(drop)
}

#[tokio::test]
async fn who_signed_lately_is_not_read_again() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let wallet = rig.user(&test, "ada@example.com").await.wallets[0].id;
    let cases = [
        (0, (1, 1), "for the first time"),
        (0, (0, 1), "at once"),
        (9, (0, 1), "shortly before it is read again"),
        (1, (1, 1), "after ten seconds"),
        (0, (0, 1), "having been read again"),
    ];
    for (seconds, expected, when) in cases {
        rig.pass(seconds);
        rig.store.count();
        sign(&rig.service, &test, wallet).await.unwrap();
        assert_eq!(rig.store.count(), expected, "{when}: views, transactions");
    }
    assert_eq!(entries(&rig, &test, wallet).await.len(), 6);
    assert_eq!(flaws(&rig).await, []);
}

/// What another process does to a wallet counts from the moment at which it has answered (T6, R17).
#[tokio::test]
async fn what_another_process_did_counts_at_once() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let wallet = rig.user(&test, "ada@example.com").await.wallets[0].id;
    let other = rig.other_process();
    for _ in 0..3 {
        rig.pass(1);
        sign(&rig.service, &test, wallet).await.unwrap();
        rig.pass(1);
        other.disable_wallet(&test, wallet).await.unwrap();
        for service in [&rig.service, &other] {
            let refused = sign(service, &test, wallet).await;
            let expected = UnusableWallet::Disabled;
            assert!(
                matches!(&refused, Err(SignError::Unusable(why)) if *why == expected),
                "{refused:?}"
            );
        }
        rig.pass(1);
        other.enable_wallet(&test, wallet).await.unwrap();
    }
    use AuditAction::{Create, Disable, Enable, SignMessage};
    let thrice = [Enable, Disable, SignMessage].repeat(3);
    let noted = entries(&rig, &test, wallet).await;
    assert_eq!(actions(&noted), [thrice, vec![Create]].concat());
    assert_eq!(flaws(&rig).await, []);
}

/// Whoever goes away when its signature is announced leaves nothing. Whoever does not wait for the commit of its entry leaves an
/// entry without an answer. Both leave the log to those who come after.
#[tokio::test]
async fn who_goes_away_holds_nobody_up() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let wallet = rig.user(&test, "ada@example.com").await.wallets[0].id;
    sign(&rig.service, &test, wallet).await.unwrap();
    for polls in [1, 2, 1, 2, 1, 2] {
        let command = text(wallet, "hi");
        let mut gone = Box::pin(rig.service.sign_at_once(&test, &command));
        for _ in 0..polls {
            assert!(futures_util::poll!(gone.as_mut()).is_pending());
        }
        drop(gone);
        sign(&rig.service, &test, wallet).await.unwrap();
    }
    // The creation, seven that were answered, and three that were not.
    assert_eq!(entries(&rig, &test, wallet).await.len(), 11);
    assert_eq!(flaws(&rig).await, []);
}

/// What somebody who writes the database does to a wallet and its key.
type Edit = fn(&mut StoredWallet, &mut WalletKey);

/// T1 to T6: rows that were written to after a signature are read again, and refused as if there had been none. What else can be
/// written to is in `tamper`.
#[tokio::test]
async fn rows_edited_after_a_signature_are_refused() {
    let edits: [(&str, Edit); 4] = [
        ("keyed hash", |row, _| row.mac.tag[0] ^= 1),
        ("data key", |_, key| key.wrapped_data_key[20] ^= 1),
        ("version of the App key", |_, key| key.key_version += 1),
        ("flag", |row, _| {
            row.wallet.disabled_at = Some(row.wallet.created_at)
        }),
    ];
    for (what, edit) in edits {
        for wallet_type in WalletType::ALL {
            let rig = Rig::new().await;
            let test = rig.test().await;
            let row = unstored_of(&rig, &test, "ada@example.com", wallet_type).await;
            let wallet = store(&rig, &row).await;
            sign(&rig.service, &test, wallet).await.unwrap();
            let (mut stored, mut key) = row.clone();
            edit(&mut stored, &mut key);
            let mut tx = rig.fake.begin().await.unwrap();
            let wallets = tx.wallets();
            assert!(wallets.replace(&stored, &row.0.mac).await.unwrap());
            let rewrapped = wallets.rewrap(&stored, Some(&key), &stored.mac).await;
            assert!(rewrapped.unwrap());
            tx.commit().await.unwrap();
            let refused = sign(&rig.service, &test, wallet).await;
            assert!(
                matches!(&refused, Err(SignError::Fault(Fault::Tampered(_)))),
                "{what} of {wallet_type}: {refused:?}"
            );
            let noted = actions(&entries(&rig, &test, wallet).await);
            let expected = [AuditAction::Tampered, AuditAction::SignMessage];
            assert_eq!(noted, expected, "{what} of {wallet_type}");
        }
    }
}

#[tokio::test]
async fn a_wallet_that_is_gone_is_not_found() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let wallet = rig.user(&test, "ada@example.com").await.wallets[0].id;
    sign(&rig.service, &test, wallet).await.unwrap();
    let mut tx = rig.fake.begin().await.unwrap();
    assert!(tx.wallets().delete(&test.world, wallet).await.unwrap());
    tx.commit().await.unwrap();
    let refused = sign(&rig.service, &test, wallet).await;
    assert!(
        matches!(&refused, Err(SignError::Unusable(UnusableWallet::NotFound))),
        "{refused:?}"
    );
}

/// Of those who share a commit only the one whose wallet changed is held up by it: it alone reads, and the others are written in
/// the second of two transactions.
#[tokio::test]
async fn a_changed_wallet_holds_up_no_other() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let mut wallets = Vec::new();
    for number in 0..4 {
        let email = format!("{number}@example.com");
        wallets.push(rig.user(&test, &email).await.wallets[0].id);
    }
    for wallet in &wallets {
        sign(&rig.service, &test, *wallet).await.unwrap();
    }
    let (changed, other) = (wallets[1], rig.other_process());
    other.disable_wallet(&test, changed).await.unwrap();
    rig.store.count();
    // On one thread all of them have signed before the first is written.
    let tasks = wallets.clone().into_iter().map(|wallet| {
        let (service, test) = (Arc::clone(&rig.service), Arc::clone(&test));
        async move { (wallet, sign(&service, &test, wallet).await) }
    });
    for (wallet, outcome) in race(tasks).await {
        match outcome {
            Ok(()) => assert_ne!(wallet, changed),
            Err(SignError::Unusable(UnusableWallet::Disabled)) => assert_eq!(wallet, changed),
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(rig.store.count(), (1, 2), "views, transactions");
    for wallet in wallets {
        let noted = actions(&entries(&rig, &test, wallet).await);
        let signed = noted
            .iter()
            .filter(|action| **action == AuditAction::SignMessage);
        assert_eq!(signed.count(), if wallet == changed { 1 } else { 2 });
    }
    assert_eq!(flaws(&rig).await, []);
    // It is not asked for again: the next refusal is a reading and nothing else.
    rig.store.count();
    let refused = sign(&rig.service, &test, changed).await;
    assert!(refused.is_err());
    assert_eq!(rig.store.count(), (1, 0), "views, transactions");
}
