//! `users/wallets/{wallet_id}/delete`: wallets whose key Vestry does not hold.

use std::sync::Arc;

use vestry_app::Refusal;
use vestry_app::identity::users::DeleteWalletError;
use vestry_domain::envelope::{AppKey, KeyPurpose, WalletKey};
use vestry_domain::ids::{AppId, UserId};
use vestry_domain::key_transfer::{ExportedKey, ImportKey};
use vestry_domain::signing::{Signed, SigningRequest};
use vestry_domain::wallet::{StoredWallet, Wallet, WalletType};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::{
    AddressOrder, Custodian, CustodyError, ExportError, ImportError, ImportKeyOrder, ImportOrder,
    ImportedWallet, WalletChange, WalletOrder,
};
use vestry_ports::port;
use vestry_ports::store::{Created, Store};

use crate::harness::{Harness, with_custodian};

/// Custody that trusts every row, so a test can write rows that nothing in this release creates.
struct Trusting(Arc<dyn Custodian>);

#[port]
impl Custodian for Trusting {
    async fn mint_app_keys(&self, app: AppId, now: Timestamp) -> Result<Vec<AppKey>, CustodyError> {
        self.0.mint_app_keys(app, now).await
    }

    async fn mint_app_key(
        &self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
        now: Timestamp,
    ) -> Result<AppKey, CustodyError> {
        self.0.mint_app_key(world, purpose, version, now).await
    }

    async fn narrow_app_key(
        &self,
        key: &AppKey,
        purpose: KeyPurpose,
    ) -> Result<AppKey, CustodyError> {
        self.0.narrow_app_key(key, purpose).await
    }

    async fn change_wallet(
        &self,
        stored: StoredWallet,
        change: WalletChange,
    ) -> Result<StoredWallet, CustodyError> {
        self.0.change_wallet(stored, change).await
    }

    async fn rewrap_wallet(
        &self,
        stored: StoredWallet,
        key: Option<WalletKey>,
        version: u32,
    ) -> Result<(StoredWallet, Option<WalletKey>), CustodyError> {
        self.0.rewrap_wallet(stored, key, version).await
    }

    async fn create_wallet(
        &self,
        order: WalletOrder,
    ) -> Result<(StoredWallet, WalletKey), CustodyError> {
        self.0.create_wallet(order).await
    }

    async fn adopt_address(&self, order: AddressOrder) -> Result<StoredWallet, CustodyError> {
        self.0.adopt_address(order).await
    }

    async fn authenticate(&self, stored: StoredWallet) -> Result<Wallet, CustodyError> {
        Ok(stored.wallet)
    }

    async fn sign(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        request: &SigningRequest,
    ) -> Result<(Wallet, Signed), CustodyError> {
        self.0.sign(stored, key, request).await
    }

    async fn verify_wallet(
        &self,
        stored: StoredWallet,
        key: WalletKey,
    ) -> Result<(), CustodyError> {
        self.0.verify_wallet(stored, key).await
    }

    fn wallet_address(&self, world: &World, wallet_type: WalletType, text: &str) -> Option<String> {
        self.0.wallet_address(world, wallet_type, text)
    }

    async fn begin_import(&self, order: ImportKeyOrder) -> Result<ImportKey, CustodyError> {
        self.0.begin_import(order).await
    }

    async fn import(
        &self,
        order: ImportOrder,
        keys: Vec<ImportKey>,
    ) -> Result<ImportedWallet, ImportError> {
        self.0.import(order, keys).await
    }

    async fn export(
        &self,
        stored: StoredWallet,
        key: WalletKey,
        recipient: &[u8],
    ) -> Result<(Wallet, ExportedKey), ExportError> {
        self.0.export(stored, key, recipient).await
    }

    async fn opens_app_key(&self, key: &AppKey) -> Result<bool, CustodyError> {
        self.0.opens_app_key(key).await
    }

    async fn rewrap_app_key(&self, key: &AppKey) -> Result<AppKey, CustodyError> {
        self.0.rewrap_app_key(key).await
    }
}

/// Stores a wallet of the user whose key is held elsewhere.
async fn read_only(harness: &Harness, world: World, user: UserId, verified: bool) -> Wallet {
    let order = WalletOrder {
        user_id: user,
        ..harness.order(&*harness.test().await)
    };
    let (mut stored, key) = harness.ports.custodian.create_wallet(order).await.unwrap();
    stored.wallet = Wallet {
        world,
        key_id: None,
        verified,
        is_default: false,
        is_read_only: true,
        is_imported: true,
        ..stored.wallet
    };
    let mut tx = harness.fake.begin().await.unwrap();
    let created = tx.wallets().insert(&stored, &key).await.unwrap();
    assert_eq!(created, Created::Yes);
    tx.commit().await.unwrap();
    stored.wallet
}

/// A read-only wallet can be removed. If it signs its user in, it is a sign-in method: its removal ends sessions, and it may be the last
/// one.
#[tokio::test]
async fn a_read_only_wallet_is_removed() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let service = with_custodian(
        &harness,
        Arc::new(Trusting(harness.ports.custodian.clone())),
    );
    let issued = harness.sign_in(&test, "ada@example.com", 60).await;
    let user = issued.session.user_id;
    let watched = read_only(&harness, test.world, user, false).await;
    assert_eq!(
        service.delete_wallet(&test, watched.id).await.unwrap(),
        user
    );
    assert!(harness.by_token(&test, &issued.token).await.is_ok());
    let signs_in = read_only(&harness, test.world, user, true).await;
    let other = harness.stranger().await;
    let foreign = service.delete_wallet(&other, signs_in.id).await;
    assert!(matches!(
        foreign,
        Err(DeleteWalletError::Common(Refusal::NotFound("wallet")))
    ));
    assert_eq!(
        service.delete_wallet(&test, signs_in.id).await.unwrap(),
        user
    );
    assert!(harness.by_token(&test, &issued.token).await.is_err());
    let again = service.delete_wallet(&test, signs_in.id).await;
    assert!(matches!(
        again,
        Err(DeleteWalletError::Common(Refusal::NotFound("wallet")))
    ));
    // With a wallet left, the address is not the last method; afterwards the wallet is.
    let last = read_only(&harness, test.world, user, true).await;
    let profile = harness.service.get_user(&test, user).await;
    assert!(profile.is_err(), "real custody does not trust the row");
    let email = harness.login(&test, "ada@example.com").await.email.id;
    harness.service.delete_email(&test, email).await.unwrap();
    let refused = service.delete_wallet(&test, last.id).await;
    assert!(matches!(
        refused,
        Err(DeleteWalletError::Common(Refusal::LastSignInMethod))
    ));
}

/// A wallet whose key Vestry holds is deleted only with its user, whatever its other attributes say.
#[tokio::test]
async fn a_wallet_with_a_key_stays() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let wallet = user.wallets[0].id;
    let refused = harness.service.delete_wallet(&test, wallet).await;
    assert!(matches!(refused, Err(DeleteWalletError::Managed)));
    assert_eq!(harness.wallets().await, 1);
}
