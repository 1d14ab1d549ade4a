//! Objects of the API that more than one endpoint returns.

mod deleted;
mod device;
mod event;
mod idp_provider;
mod ids;
mod passkey;
mod session;
mod user;
mod wallet;

pub(crate) use deleted::Deleted;
pub(crate) use device::Device;
pub(crate) use event::{Actor, Event, schema_name};
pub(crate) use idp_provider::IdpProvider;
pub(crate) use ids::{optional_id, parse_id};
pub(crate) use passkey::WebauthnCredential;
pub(crate) use session::{
    IssuedFields, Session, request_with_session, response_with_session, session_fields,
    session_named,
};
pub(crate) use user::{Email, FoundUser, PhoneNumber, User, UserStatusName};
pub(crate) use wallet::{
    ImportedWallet, SigningWalletTypeName, WALLET_TYPE_INPUT, Wallet, WalletSummary,
    optional_wallet_type_input, wallet_type_input, wallet_type_names,
};
