//! The parts of the OpenAPI document that no endpoint declares: its introduction and the webhooks.

mod webhooks;

use utoipa::openapi::path::Paths;
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder};

use crate::v1::shapes::{WALLET_TYPE_INPUT, wallet_type_names};

const INTRODUCTION: &str = "\
Sign-in, user management and managed wallets for an App.

**Keys.** Every call except the key sets and the probes needs `Authorization: Bearer sk_test_…` or `sk_live_…`. The key \
selects the App and one of its two environments, which share no users, sessions, wallets or keys.

**Restricted keys.** A key can be limited to scopes, operations, users, wallets, wallet types and networks, and can expire. A call \
outside its limits is 403 `key_not_allowed`, and `error.param` names the limit; users and wallets that it does not list do not exist \
for it. With `require_session`, signing needs the header `Vestry-Session` with a live session token of the wallet's owner.

**Management keys.** Calls under `/v1/manage` need `Authorization: Bearer mk_…`. With the headers `Vestry-App` and \
`Vestry-Environment`, a management key also makes those calls of an App that list it.

**Errors.** Every error has the same body; branch on `error.code`. 5xx and 429 responses that are worth retrying \
carry `Retry-After`, in seconds.

**Rate limits.** Requests are limited per App and environment. `X-RateLimit-Limit`, `X-RateLimit-Remaining` and \
`X-RateLimit-Reset` (Unix seconds) are on every response to a call with a key, unless there is no limit.

**Request ids.** `X-Request-Id` is on every response: the caller's own if it was well-formed, otherwise a generated one.

**Requests.** Bodies are JSON objects of at most 256 KiB. Unknown fields are ignored, except by calls under `/v1/manage`, and \
`null` counts as absent. \
Duplicate fields and NUL characters are rejected.

**Idempotency.** Calls that change something accept the header `Idempotency-Key`. For 24 hours, the same request with the same \
key is executed once, and its response is replayed with `Idempotent-Replayed: true`. Another request with that key returns \
409 `idempotency_key_reused`. So does the same request while it is still running, with `Retry-After`.";

/// The OpenAPI document of the App's own API, without endpoints.
pub fn description() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Vestry")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(INTRODUCTION))
        .license(Some(
            LicenseBuilder::new()
                .name(env!("CARGO_PKG_LICENSE"))
                .build(),
        ));
    let components = ComponentsBuilder::new().schema(WALLET_TYPE_INPUT, wallet_type_names());
    let components = webhooks::described(components).build();
    OpenApiBuilder::new()
        .info(info)
        .paths(Paths::new())
        .webhooks(Some(webhooks::webhooks()))
        .components(Some(components))
        .build()
}

#[cfg(test)]
mod tests;
