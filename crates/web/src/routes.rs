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
        SecretKey users create => Call("users.create");
        SecretKey users search reads => List("users.search", "users");
        SecretKey users get => Call("users.get");
        SecretKey users delete_totp => Call("users.totps.delete");
        SecretKey users update => Call("users.update");
        SecretKey users delete => Call("users.delete");
        SecretKey users disable => Call("users.disable");
        SecretKey users enable => Call("users.enable");
        SecretKey users unlock => Call("users.unlock");
        SecretKey users delete_email => Call("users.emails.delete");
        SecretKey users delete_phone_number => Call("users.phone_numbers.delete");
        SecretKey users delete_phone_number_alias => Skip("another spelling of users.phone_numbers.delete");
        SecretKey users delete_wallet => Call("users.wallets.delete");
        SecretKey users delete_idp_provider => Call("users.idp_providers.delete");
        SecretKey otps email_login_or_create => Call("otps.email.login_or_create");
        SecretKey otps email_send => Call("otps.email.send");
        SecretKey otps sms_login_or_create => Call("otps.sms.login_or_create");
        SecretKey otps sms_send => Call("otps.sms.send");
        SecretKey otps verify => Call("otps.verify");
        SecretKey totps create => Call("totps.create");
        SecretKey totps verify => Call("totps.verify");
        SecretKey totps recovery => Call("totps.recover");
        SecretKey totps recovery_codes reads => Call("totps.recovery_codes");
        SecretKey magic_links email_login_or_create => Call("magic_links.email.login_or_create");
        SecretKey magic_links email_invite => Call("magic_links.email.invite");
        SecretKey magic_links email_login_status => Call("magic_links.email.login_status");
        SecretKey magic_links create => Call("magic_links.create");
        SecretKey magic_links verify => Call("magic_links.verify");
        SecretKeyOrPublicToken oauth begin for_pages browsed => Call("oauth.begin");
        Public oauth callback => Skip("callback");
        Public oauth callback_form => Skip("callback");
        Public oauth test_authorize => Skip("page");
        SecretKey oauth verify => Call("oauth.verify");
        SecretKey passwords verify => Call("passwords.verify");
        SecretKey passwords session_update => Call("passwords.session.update");
        SecretKey passwords strength_check reads => Call("passwords.strength_check");
        SecretKey passwords reset_begin => Call("passwords.reset.begin");
        SecretKey passwords reset_complete => Call("passwords.reset.complete");
        SecretKey webauthn registrations_begin => Call("webauthn.registrations.begin");
        SecretKey webauthn registrations_create => Call("webauthn.registrations.create");
        SecretKey webauthn authentication_begin => Call("webauthn.authentication.begin");
        SecretKey webauthn verify => Call("webauthn.verify");
        SecretKey webauthn delete => Call("users.webauthn_credentials.delete");
        SecretKey wallet_sign_in registrations_begin => Call("wallets.registrations.begin");
        SecretKey wallet_sign_in registrations_nonce => Call("wallets.registrations.nonce");
        SecretKey wallet_sign_in verify => Call("wallets.verify");
        SecretKey wallet_sign_in siwe_verify => Call("wallets.siwe.verify");
        SecretKey sessions verify reads => Call("sessions.verify");
        SecretKey sessions list => List("sessions.list", "sessions");
        SecretKey sessions delete => Call("sessions.delete");
        SecretKey sessions delete_all => Call("sessions.delete_all");
        SecretKeyOrQuery jwks of_caller => Call("jwks.get_default");
        Public jwks of_app for_pages => Call("jwks.get");
        SecretKey wallets create => Call("wallets.create");
        SecretKey wallets list => List("wallets.list", "wallets");
        SecretKey wallets import_begin => Call("wallets.begin_import");
        SecretKey wallets import => Call("wallets.import_wallet");
        SecretKey wallets get => Call("wallets.get");
        SecretKey wallets sign_message => Call("wallets.sign_message");
        SecretKey wallets sign_transaction => Call("wallets.sign_transaction");
        SecretKey wallets rpc => Call("wallets.rpc");
        SecretKey wallets audit => List("wallets.list_audit", "entries");
        SecretKey wallets disable => Call("wallets.disable");
        SecretKey wallets enable => Call("wallets.enable");
        SecretKey wallets export => Call("wallets.export");
        SecretKey events list => Log("events.list", "events", "after", "next_after");
        SecretKey events head => Call("events.head");
        SecretKey events get => Call("events.get");
        SecretKey audit list => List("audit.list", "entries");
        TestKey test_env messages => Call("test.messages.list");
        TestKey test_env clear_messages => Call("test.messages.delete");
        TestKey test_env read_clock => Call("test.clock.get");
        TestKey test_env set_clock => Call("test.clock.set");
        TestKey test_env reset_clock => Call("test.clock.reset");
        Public health live => Skip("health");
        Public health ready => Skip("health");
        Public reference document => Skip("page");
        Public reference page => Skip("page");
        Public reference style => Skip("page");
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
