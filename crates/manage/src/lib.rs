//! The management API: what operators set up for an App, for programs with a management key (`mk_…`).
//!
//! Each endpoint has its own file. It parses a request, calls the use case that the command line calls too, and renders the object with
//! its `ETag`. Objects are those of `vestry_edge::views`.

mod apps;
mod call;
mod config;
mod etag;
mod fields;
mod invitations;
mod keys;
mod operators;
mod place;
mod providers;
mod redirect_urls;
mod sessions;
mod settings;
mod signing_keys;
mod status;
mod webhook_endpoints;

use vestry_edge::{Endpoint, endpoints};

/// All endpoints.
pub fn endpoints() -> Vec<Endpoint> {
    endpoints! {
        ManagementKey apps list;
        ManagementKey apps create;
        ManagementKey apps get;
        ManagementKey apps update;
        ManagementKey settings get;
        ManagementKey settings put;
        ManagementKey settings patch;
        ManagementKey config get;
        ManagementKey config put;
        ManagementKey keys list;
        ManagementKey keys create;
        ManagementKey keys update;
        ManagementKey keys revoke;
        ManagementKey keys rotate;
        ManagementKey redirect_urls list;
        ManagementKey redirect_urls create;
        ManagementKey redirect_urls update;
        ManagementKey redirect_urls delete;
        ManagementKey providers list;
        ManagementKey providers get;
        ManagementKey providers put;
        ManagementKey providers delete;
        ManagementKey providers check reads;
        ManagementKey signing_keys list;
        ManagementKey signing_keys rotate;
        ManagementKey signing_keys revoke;
        ManagementKey sessions end_all;
        ManagementKey operators list;
        ManagementKey invitations list;
        ManagementKey invitations create;
        ManagementKey invitations withdraw;
        ManagementKey operators update;
        ManagementKey operators delete;
        ManagementKey status get;
        ManagementKey webhook_endpoints list;
        ManagementKey webhook_endpoints create;
        ManagementKey webhook_endpoints get;
        ManagementKey webhook_endpoints update;
        ManagementKey webhook_endpoints delete;
        ManagementKey webhook_endpoints enable;
        ManagementKey webhook_endpoints disable;
        ManagementKey webhook_endpoints rotate_secret;
        ManagementKey webhook_endpoints test;
        ManagementKey webhook_endpoints deliveries;
        ManagementKey webhook_endpoints delivery;
        ManagementKey webhook_endpoints replay;
        ManagementKey webhook_endpoints replays;
    }
}
