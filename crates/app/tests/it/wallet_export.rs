//! Exports: off by default, and sealed to one recipient.

use vestry_app::Refusal;
use vestry_app::wallets::{ExportWallet, ExportWalletError, UnusableWallet};
use vestry_contract::sealing::Recipient;
use vestry_domain::api_key::Scope;
use vestry_domain::ids::{Id, WalletId};
use vestry_domain::key_transfer::EntropyType;
use vestry_domain::wallet::WalletType;
use vestry_ports::custody::AddressOrder;
use vestry_ports::store::Store;

use crate::harness::{Harness, START};
use crate::wallet_import::KEYS;

pub(crate) fn to(recipient: &Recipient, wallet_id: WalletId) -> ExportWallet {
    ExportWallet {
        wallet_id,
        recipient_public_key: recipient.public_key.clone(),
        entropy_type: EntropyType::PrivateKey,
    }
}

/// IMP-7.
#[tokio::test]
async fn a_key_is_exported_to_its_recipient_if_the_app_allows_it() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let wallet = harness.import(&test, user, 0).await.unwrap();
    let recipient = Recipient::fresh();
    let exporter = harness.scoped(vec![Scope::WalletsExport]).await;
    let off = harness
        .service
        .export_wallet(&exporter, to(&recipient, wallet.id))
        .await;
    assert!(matches!(off, Err(ExportWalletError::Disabled)));
    harness.set(&[("wallet_export", "true")]).await;
    let exporter = harness.scoped(vec![Scope::WalletsExport]).await;
    let exported = harness
        .service
        .export_wallet(&exporter, to(&recipient, wallet.id))
        .await
        .unwrap();
    let key = recipient.open(&exported).unwrap();
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digits, KEYS[0].0);
    assert!(Recipient::fresh().open(&exported).is_none());
    // The wallet is unchanged.
    assert!(harness.service.get_wallet(&test, wallet.id).await.unwrap() == wallet);
    harness.set(&[("wallet_export", "false")]).await;
    let exporter = harness.scoped(vec![Scope::WalletsExport]).await;
    let off = harness
        .service
        .export_wallet(&exporter, to(&recipient, wallet.id))
        .await;
    assert!(matches!(off, Err(ExportWalletError::Disabled)));
}

#[tokio::test]
async fn an_export_names_what_it_refuses() {
    let harness = Harness::new().await;
    harness.set(&[("wallet_export", "true")]).await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let wallet = harness.import(&test, user, 0).await.unwrap();
    let recipient = Recipient::fresh();
    let right = to(&recipient, wallet.id);
    let everything_else = harness.service.export_wallet(&test, right.clone()).await;
    assert!(matches!(
        everything_else,
        Err(ExportWalletError::Common(Refusal::NotAllowed(_)))
    ));
    let exporter = harness.scoped(vec![Scope::WalletsExport]).await;
    let refused = async |command| match harness.service.export_wallet(&exporter, command).await {
        Err(ExportWalletError::Common(Refusal::Invalid(invalid))) => invalid.param,
        other => panic!("{other:?}"),
    };
    let phrase = ExportWallet {
        entropy_type: EntropyType::Hd,
        ..right.clone()
    };
    assert_eq!(refused(phrase).await, "entropy_type");
    for bad in [vec![], vec![9; 31], vec![9; 65], vec![0; 32]] {
        let command = ExportWallet {
            recipient_public_key: bad,
            ..right.clone()
        };
        assert_eq!(refused(command).await, "recipient_public_key");
    }
    let absent = to(&recipient, WalletId::new(START, [7; 16]));
    let refused = harness.service.export_wallet(&exporter, absent).await;
    assert!(matches!(
        refused,
        Err(ExportWalletError::Unusable(UnusableWallet::NotFound))
    ));
    let stranger = harness.stranger().await;
    let other_user = harness.walletless(&stranger, "eve@example.com").await;
    let foreign = harness.import(&stranger, other_user, 0).await.unwrap();
    let refused = harness
        .service
        .export_wallet(&exporter, to(&recipient, foreign.id))
        .await;
    assert!(matches!(
        refused,
        Err(ExportWalletError::Unusable(UnusableWallet::NotFound))
    ));
}

#[tokio::test]
async fn a_wallet_without_a_local_key_exports_nothing() {
    let harness = Harness::new().await;
    harness.set(&[("wallet_export", "true")]).await;
    let exporter = harness.scoped(vec![Scope::WalletsExport]).await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let order = harness.order(&test);
    let adopted = harness
        .ports
        .custodian
        .adopt_address(AddressOrder {
            wallet_id: order.wallet_id,
            world: test.world,
            user_id: user,
            wallet_type: WalletType::Ethereum,
            public_address: KEYS[0].1.to_owned(),
            created_at: harness.now(),
        })
        .await
        .unwrap();
    let mut tx = harness.fake.begin().await.unwrap();
    tx.wallets().insert_keyless(&adopted).await.unwrap();
    tx.commit().await.unwrap();
    let recipient = Recipient::fresh();
    let refused = harness
        .service
        .export_wallet(&exporter, to(&recipient, order.wallet_id))
        .await;
    assert!(matches!(
        refused,
        Err(ExportWalletError::Unusable(UnusableWallet::ReadOnly))
    ));
}
