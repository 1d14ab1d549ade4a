//! The table of endpoints, from which both the router and the API description are built.

use vestry_edge::Endpoint;

use crate::v1::{
    audit, events, jwks, magic_links, oauth, otps, passwords, sessions, test_env, totps, users,
    wallet_sign_in, wallets, webauthn,
};
use crate::{health, reference};

/// The endpoints of the API of Apps, with the probes and the API reference.
pub fn endpoints() -> Vec<Endpoint> {
    vestry_edge::endpoints! {
        SecretKey users create;
        SecretKey users search reads;
        SecretKey users get;
        SecretKey users delete_totp;
        SecretKey users update;
        SecretKey users delete;
        SecretKey users disable;
        SecretKey users enable;
        SecretKey users unlock;
        SecretKey users delete_email;
        SecretKey users delete_phone_number;
        SecretKey users delete_phone_number_alias;
        SecretKey users delete_wallet;
        SecretKey users delete_idp_provider;
        SecretKey otps email_login_or_create;
        SecretKey otps email_send;
        SecretKey otps sms_login_or_create;
        SecretKey otps sms_send;
        SecretKey otps verify;
        SecretKey totps create;
        SecretKey totps verify;
        SecretKey totps recovery;
        SecretKey totps recovery_codes reads;
        SecretKey magic_links email_login_or_create;
        SecretKey magic_links email_invite;
        SecretKey magic_links email_login_status;
        SecretKey magic_links create;
        SecretKey magic_links verify;
        SecretKeyOrPublicToken oauth begin for_pages browsed;
        Public oauth callback;
        Public oauth callback_form;
        Public oauth test_authorize;
        SecretKey oauth verify;
        SecretKey passwords verify;
        SecretKey passwords session_update;
        SecretKey passwords strength_check reads;
        SecretKey passwords reset_begin;
        SecretKey passwords reset_complete;
        SecretKey webauthn registrations_begin;
        SecretKey webauthn registrations_create;
        SecretKey webauthn authentication_begin;
        SecretKey webauthn verify;
        SecretKey webauthn delete;
        SecretKey wallet_sign_in registrations_begin;
        SecretKey wallet_sign_in registrations_nonce;
        SecretKey wallet_sign_in verify;
        SecretKey wallet_sign_in siwe_verify;
        SecretKey sessions verify reads;
        SecretKey sessions list;
        SecretKey sessions delete;
        SecretKey sessions delete_all;
        SecretKeyOrQuery jwks of_caller;
        Public jwks of_app for_pages;
        SecretKey wallets create;
        SecretKey wallets list;
        SecretKey wallets import_begin;
        SecretKey wallets import;
        SecretKey wallets get;
        SecretKey wallets sign_message;
        SecretKey wallets sign_transaction;
        SecretKey wallets rpc;
        SecretKey wallets audit;
        SecretKey wallets disable;
        SecretKey wallets enable;
        SecretKey wallets export;
        SecretKey events list;
        SecretKey events head;
        SecretKey events get;
        SecretKey audit list;
        TestKey test_env messages;
        TestKey test_env clear_messages;
        TestKey test_env read_clock;
        TestKey test_env set_clock;
        TestKey test_env reset_clock;
        Public health live;
        Public health ready;
        Public reference document;
        Public reference page;
        Public reference style;
    }
}

/// The probes alone, for a listener of its own.
pub fn probes() -> Vec<Endpoint> {
    vestry_edge::endpoints! {
        Public health live;
        Public health ready;
    }
}

#[cfg(test)]
mod tests;
