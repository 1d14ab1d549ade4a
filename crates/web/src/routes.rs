//! The table of all endpoints, from which both the router and the API description are built.

use actix_web::web;

use crate::http::endpoint::Endpoint;
use crate::http::gate::Auth::{
    self, Public, SecretKey, SecretKeyOrPublicToken, SecretKeyOrQuery, TestKey,
};
use crate::v1::{
    audit, events, jwks, magic_links, oauth, otps, passwords, sessions, test_env, totps, users,
    wallet_sign_in, wallets, webauthn,
};
use crate::{health, reference};

/// Unit tests read the table and call no handler. Without handlers they compile in half the time.
macro_rules! endpoints {
    ($($auth:ident $group:ident $name:ident $($kind:ident)*;)*) => {
        vec![$(Endpoint::new::<$group::$name::__path_handle>(
            $auth,
            $group::$name::ERRORS,
            if cfg!(test) { web::route } else { || web::route().to($group::$name::handle) },
        )$(.$kind())*,)*]
    };
}

/// All endpoints. Within a group ([`by_prefix`]) the router tries them in this order, so a fixed segment comes before an id in the same
/// position.
/// - `reads`: the method could change something, but the call does not. It accepts no `Idempotency-Key`, and its response reflects the
///   current state.
/// - `for_pages`: pages of any origin may make the call ([`crate::http::cors`]).
/// - `browsed`: browsers that follow a link with `redirect=true` get errors as a page.
pub(crate) fn endpoints() -> Vec<Endpoint> {
    endpoints! {
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

/// The path of each endpoint, in table order.
pub(crate) fn paths() -> Vec<String> {
    let endpoints = endpoints().into_iter();
    endpoints.map(|endpoint| endpoint.path).collect()
}

/// The endpoints of each path, in table order.
pub(crate) fn by_path() -> Vec<Vec<Endpoint>> {
    let mut paths: Vec<Vec<Endpoint>> = Vec::new();
    for endpoint in endpoints() {
        let known = paths.iter_mut().find(|group| {
            group
                .first()
                .is_some_and(|first| first.path == endpoint.path)
        });
        match known {
            Some(group) => group.push(endpoint),
            None => paths.push(vec![endpoint]),
        }
    }
    paths
}

/// The endpoints of each path, grouped by the fixed segments with which their paths begin. Paths without a group come first.
///
/// The router compares these segments as text and then tries the patterns of one group only. Otherwise it would try a request against every
/// earlier pattern.
pub(crate) fn by_prefix() -> Vec<(String, Vec<Vec<Endpoint>>)> {
    let mut groups: Vec<(String, Vec<Vec<Endpoint>>)> = vec![(String::new(), Vec::new())];
    for endpoints in by_path() {
        let Some(first) = endpoints.first() else {
            continue;
        };
        let its_own = prefix(&first.path);
        match groups.iter_mut().find(|(prefix, _)| prefix == its_own) {
            Some((_, paths)) => paths.push(endpoints),
            None => groups.push((its_own.to_owned(), vec![endpoints])),
        }
    }
    groups
}

/// The prefix `/v1/auth/<group>` or `/v1/<group>` of a path; empty for paths without a version.
fn prefix(path: &str) -> &str {
    let version = ["/v1/auth/", "/v1/"]
        .into_iter()
        .find(|version| path.starts_with(version));
    version
        .and_then(|version| {
            let what = path.get(version.len()..)?;
            Some(version.len() + what.find('/').unwrap_or(what.len()))
        })
        .and_then(|end| path.get(..end))
        .unwrap_or_default()
}

/// Whether an endpoint requires a key.
pub(crate) const fn is_keyed(auth: Auth) -> bool {
    match auth {
        Public => false,
        SecretKey | SecretKeyOrQuery | SecretKeyOrPublicToken | TestKey => true,
    }
}

#[cfg(test)]
mod tests;
