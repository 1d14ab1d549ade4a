//! The objects of the API that more than one endpoint answers.

mod device;
mod ids;
mod session;
mod user;
mod wallet;

pub(crate) use device::Device;
pub(crate) use ids::parse_id;
pub(crate) use session::{IssuedFields, Session, Trio};
pub(crate) use user::{User, UserStatusName};
pub(crate) use wallet::{
    SigningWalletTypeName, Wallet, optional_wallet_type_input, wallet_type_input,
};
