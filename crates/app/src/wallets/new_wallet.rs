//! Key generation for new wallets.

use vestry_domain::envelope::WalletKey;
use vestry_domain::ids::UserId;
use vestry_domain::wallet::{AddressForm, StoredWallet, WalletType};
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::{CustodyError, WalletOrder};

use crate::Ports;
use crate::kernel::mint;

/// Creates a key and its wallet, not stored yet. Slow: call it before a transaction.
pub(crate) async fn new_wallet(
    ports: &Ports,
    world: &World,
    user_id: UserId,
    wallet_type: WalletType,
    address_form: AddressForm,
    now: Timestamp,
) -> Result<(StoredWallet, WalletKey), CustodyError> {
    let order = WalletOrder {
        wallet_id: mint::id(&*ports.entropy, now),
        key_id: mint::id(&*ports.entropy, now),
        world: *world,
        user_id,
        wallet_type,
        address_form,
        created_at: now,
    };
    ports.custodian.create_wallet(order).await
}
