//! Rows modified directly in the database.

use serde_json::json;
use vestry_app::Fault;
use vestry_app::wallets::{ListWallets, SignError, SignTransaction};
use vestry_app::{Caller, Refusal};
use vestry_domain::audit::AuditAction;
use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{Disabled, DisabledReason, StoredWallet, WalletType};
use vestry_ports::custody::WalletOrder;
use vestry_ports::store::{Created, Store, StoreError};

use crate::audit::{actions, entries};
use crate::harness::Harness;
use crate::wallets::text;

type Row = (StoredWallet, WalletKey);
/// Changes a stored row; the other row is a source of values.
type Edit = fn(&mut StoredWallet, &Row);
/// Makes two rows swap something.
type Swap = fn(&mut Row, &mut Row);

/// An Ethereum wallet with its key as custody makes them, for a new user; not stored yet.
pub(crate) async fn unstored(harness: &Harness, caller: &Caller, email: &str) -> Row {
    unstored_of(harness, caller, email, WalletType::Ethereum).await
}

/// The same for any type.
pub(crate) async fn unstored_of(
    harness: &Harness,
    caller: &Caller,
    email: &str,
    wallet_type: WalletType,
) -> Row {
    let order = WalletOrder {
        user_id: harness.walletless(caller, email).await,
        wallet_type,
        ..harness.order(caller)
    };
    harness.ports.custodian.create_wallet(order).await.unwrap()
}

/// Stores the row as the service would.
pub(crate) async fn store(harness: &Harness, (wallet, key): &Row) -> WalletId {
    let mut tx = harness.fake.begin().await.unwrap();
    assert_eq!(
        tx.wallets().insert(wallet, key).await.unwrap(),
        Created::Yes
    );
    tx.commit().await.unwrap();
    wallet.wallet.id
}

fn is_tampered(fault: &Fault) -> bool {
    matches!(fault, Fault::Tampered(_))
}

/// Control: without an alteration these tests' detour yields a working wallet.
#[tokio::test]
async fn an_unaltered_row_works() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for wallet_type in WalletType::ALL {
        let email = format!("{wallet_type:?}@example.com");
        let row = unstored_of(&harness, &test, &email, wallet_type).await;
        let id = store(&harness, &row).await;
        harness.service.get_wallet(&test, id).await.unwrap();
        harness.service.sign(&test, text(id, "hi")).await.unwrap();
    }
}

/// T5, T6: whatever is changed in the row, `GET`, signing and the list calls refuse it.
///
/// The attempt to sign is in the log, even if the changed value alone would have been a reason to refuse.
#[tokio::test]
async fn t5_t6_an_edited_row_is_refused_everywhere() {
    for wallet_type in WalletType::ALL {
        an_edited_row_is_refused(wallet_type).await;
    }
}

async fn an_edited_row_is_refused(wallet_type: WalletType) {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let other = unstored_of(&harness, &test, "other@example.com", wallet_type).await;
    let edits: [(&str, Edit); 9] = [
        ("public_address", |row, other| {
            row.wallet
                .public_address
                .clone_from(&other.0.wallet.public_address)
        }),
        ("user_id", |row, other| {
            row.wallet.user_id = other.0.wallet.user_id
        }),
        ("is_read_only", |row, _| row.wallet.is_read_only = true),
        ("disabled_at", |row, _| {
            row.wallet.disabled = Some(Disabled {
                at: row.wallet.created_at,
                reason: DisabledReason::Requested,
            })
        }),
        ("is_imported", |row, _| row.wallet.is_imported = true),
        ("account_index", |row, _| row.wallet.account_index = Some(0)),
        ("created_at", |row, _| {
            row.wallet.created_at = row.wallet.created_at + vestry_domain::timestamp::Seconds(1)
        }),
        ("wallet_type", |row, _| {
            row.wallet.wallet_type = match row.wallet.wallet_type {
                WalletType::Solana => WalletType::Stellar,
                _ => WalletType::Solana,
            }
        }),
        ("mac", |row, _| row.mac.tag[0] ^= 1),
    ];
    for (field, edit) in edits {
        let email = format!("{field}@example.com");
        let mut row = unstored_of(&harness, &test, &email, wallet_type).await;
        edit(&mut row.0, &other);
        let owner = row.0.wallet.user_id;
        let id = store(&harness, &row).await;
        let read = harness.service.get_wallet(&test, id).await;
        assert!(
            matches!(&read, Err(Refusal::Fault(fault)) if is_tampered(fault)),
            "{field}: {read:?}"
        );
        let signed = harness.service.sign(&test, text(id, "hi")).await;
        assert!(
            matches!(&signed, Err(SignError::Common(Refusal::Fault(fault))) if is_tampered(fault)),
            "{field}: {signed:?}"
        );
        let transaction = SignTransaction {
            wallet_id: id,
            transactions: vec![(wallet_type, json!({}))],
        };
        let signed = harness.service.sign(&test, transaction).await;
        assert!(
            matches!(&signed, Err(SignError::Common(Refusal::Fault(fault))) if is_tampered(fault)),
            "{field}: {signed:?}"
        );
        let noted = actions(&entries(&harness, &test, id).await);
        assert_eq!(noted, [AuditAction::Tampered; 2], "{field}");
        let user = harness.service.get_user(&test, owner).await;
        assert!(
            matches!(&user, Err(Refusal::Fault(fault)) if is_tampered(fault)),
            "{field}: {user:?}"
        );
        let query = ListWallets {
            user_id: Some(owner),
            ..ListWallets::default()
        };
        let listed = harness.service.list_wallets(&test, query).await;
        assert!(
            matches!(&listed, Err(Refusal::Fault(fault)) if is_tampered(fault)),
            "{field}: {listed:?}"
        );
    }
}

/// T5: a removed key, and a value that the service never writes, are recorded like any other change.
#[tokio::test]
async fn a_missing_key_and_an_unreadable_row_are_recorded() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (lost, _key) = unstored(&harness, &test, "ada@example.com").await;
    let mut tx = harness.fake.begin().await.unwrap();
    let created = tx.wallets().insert_keyless(&lost).await.unwrap();
    assert_eq!(created, Created::Yes);
    tx.commit().await.unwrap();
    let id = lost.wallet.id;
    let signed = harness.service.sign(&test, text(id, "hi")).await;
    assert!(
        matches!(&signed, Err(SignError::Common(Refusal::Fault(fault))) if is_tampered(fault)),
        "{signed:?}"
    );
    // Once for all callers that read together, and once for each that reads alone.
    harness
        .store
        .refuse_views([(); 2].map(|()| StoreError::Corrupt {
            table: "wallets",
            column: "wallet_type",
        }));
    let signed = harness.service.sign(&test, text(id, "hi")).await;
    assert!(
        matches!(
            &signed,
            Err(SignError::Common(Refusal::Fault(Fault::Internal(_))))
        ),
        "{signed:?}"
    );
    let noted = entries(&harness, &test, id).await;
    assert_eq!(actions(&noted), [AuditAction::Tampered; 2]);
    let mut details: Vec<_> = noted.iter().map(|entry| &*entry.event.detail).collect();
    details.sort_unstable();
    assert_eq!(details, ["wallet key", "wallets"]);
}

/// T1, T3: swapped keys open nowhere, and `GET` refuses as well as signing.
#[tokio::test]
async fn t1_t3_swapped_keys_are_refused_by_get_and_sign() {
    for wallet_type in WalletType::ALL {
        swapped_keys_are_refused(wallet_type).await;
    }
}

async fn swapped_keys_are_refused(wallet_type: WalletType) {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let swaps: [(&str, Swap); 4] = [
        ("ciphertext", |a, b| {
            std::mem::swap(&mut a.1.ciphertext, &mut b.1.ciphertext)
        }),
        ("data key", |a, b| {
            std::mem::swap(&mut a.1.wrapped_data_key, &mut b.1.wrapped_data_key)
        }),
        ("both", |a, b| {
            std::mem::swap(&mut a.1.ciphertext, &mut b.1.ciphertext);
            std::mem::swap(&mut a.1.wrapped_data_key, &mut b.1.wrapped_data_key);
        }),
        ("all but the ids", |a, b| {
            std::mem::swap(&mut a.1.ciphertext, &mut b.1.ciphertext);
            std::mem::swap(&mut a.1.wrapped_data_key, &mut b.1.wrapped_data_key);
            std::mem::swap(&mut a.1.public_key, &mut b.1.public_key);
        }),
    ];
    for (with, caller) in [("another user", &test), ("the live environment", &live)] {
        for (what, swap) in swaps {
            let name = format!("{what}.{with}").replace(' ', "-");
            let email = |whose| format!("{name}.{whose}@example.com");
            let mut a = unstored_of(&harness, &test, &email("a"), wallet_type).await;
            let mut b = unstored_of(&harness, caller, &email("b"), wallet_type).await;
            swap(&mut a, &mut b);
            for (caller, row) in [(&test, &a), (caller, &b)] {
                let id = store(&harness, row).await;
                let read = harness.service.get_wallet(caller, id).await;
                assert!(
                    matches!(&read, Err(Refusal::Fault(fault)) if is_tampered(fault)),
                    "{name}: {read:?}"
                );
                let signed = harness.service.sign(caller, text(id, "hi")).await;
                assert!(
                    matches!(&signed, Err(SignError::Common(Refusal::Fault(fault))) if is_tampered(fault)),
                    "{name}: {signed:?}"
                );
            }
        }
    }
}
