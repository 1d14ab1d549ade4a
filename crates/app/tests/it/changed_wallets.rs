//! A wallet that signed recently is never used in a stale state.

use vestry_app::wallets::{SignError, UnusableWallet};
use vestry_app::{Caller, Fault, Refusal, Service};
use vestry_domain::audit::AuditAction;
use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{Disabled, DisabledReason, StoredWallet, WalletType};
use vestry_ports::store::Store;

use crate::audit::{actions, entries, findings};
use crate::harness::Harness;
use crate::tamper::{store, unstored_of};
use crate::wallets::text;

async fn sign(service: &Service, caller: &Caller, wallet: WalletId) -> Result<(), SignError> {
    let signed = service.sign(caller, text(wallet, "hi")).await;
    signed.map(drop)
}

/// A change made by another process takes effect as soon as that process has responded (T6, R17).
#[tokio::test]
async fn changes_by_another_process_take_effect_at_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let other = harness.other_process();
    for _ in 0..3 {
        harness.pass(1);
        sign(&harness.service, &test, wallet).await.unwrap();
        harness.pass(1);
        other.disable_wallet(&test, wallet).await.unwrap();
        for service in [&harness.service, &other] {
            let refused = sign(service, &test, wallet).await;
            let expected = UnusableWallet::Disabled;
            assert!(
                matches!(&refused, Err(SignError::Unusable(why)) if *why == expected),
                "{refused:?}"
            );
        }
        harness.pass(1);
        other.enable_wallet(&test, wallet).await.unwrap();
    }
    use AuditAction::{Create, Disable, Enable, SignMessage};
    let thrice = [Enable, Disable, SignMessage].repeat(3);
    let noted = entries(&harness, &test, wallet).await;
    assert_eq!(actions(&noted), [thrice, vec![Create]].concat());
    assert_eq!(findings(&harness).await, []);
}

/// An edit to a wallet and its key by an attacker with write access to the database.
type Edit = fn(&mut StoredWallet, &mut WalletKey);

/// T1 to T6: rows edited after a signature are refused as if there had been no signature. `tamper` covers the other rows.
#[tokio::test]
async fn rows_edited_after_a_signature_are_refused() {
    let edits: [(&str, Edit); 4] = [
        ("keyed hash", |row, _| row.mac.tag[0] ^= 1),
        ("data key", |_, key| key.wrapped_data_key[20] ^= 1),
        ("version of the App key", |_, key| key.key_version += 1),
        ("flag", |row, _| {
            row.wallet.disabled = Some(Disabled {
                at: row.wallet.created_at,
                reason: DisabledReason::Requested,
            })
        }),
    ];
    for (what, edit) in edits {
        for wallet_type in WalletType::ALL {
            let harness = Harness::new().await;
            let test = harness.test().await;
            let row = unstored_of(&harness, &test, "ada@example.com", wallet_type).await;
            let wallet = store(&harness, &row).await;
            sign(&harness.service, &test, wallet).await.unwrap();
            let (mut stored, mut key) = row.clone();
            edit(&mut stored, &mut key);
            let mut tx = harness.fake.begin().await.unwrap();
            let wallets = tx.wallets();
            assert!(wallets.replace(&stored, &row.0.mac).await.unwrap());
            let rewrapped = wallets.rewrap(&stored, Some(&key), &stored.mac).await;
            assert!(rewrapped.unwrap());
            tx.commit().await.unwrap();
            let refused = sign(&harness.service, &test, wallet).await;
            assert!(
                matches!(
                    &refused,
                    Err(SignError::Common(Refusal::Fault(Fault::Tampered(_))))
                ),
                "{what} of {wallet_type}: {refused:?}"
            );
            let noted = actions(&entries(&harness, &test, wallet).await);
            let expected = [AuditAction::Tampered, AuditAction::SignMessage];
            assert_eq!(noted, expected, "{what} of {wallet_type}");
        }
    }
}

#[tokio::test]
async fn a_wallet_that_is_gone_is_not_found() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    sign(&harness.service, &test, wallet).await.unwrap();
    let mut tx = harness.fake.begin().await.unwrap();
    assert!(tx.wallets().delete(&test.world, wallet).await.unwrap());
    tx.commit().await.unwrap();
    let refused = sign(&harness.service, &test, wallet).await;
    assert!(
        matches!(&refused, Err(SignError::Unusable(UnusableWallet::NotFound))),
        "{refused:?}"
    );
}
