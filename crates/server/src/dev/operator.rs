//! The operator of `vestry dev`: an owner without a second factor, and a link that signs in.

use vestry_app::Service;
use vestry_domain::Secret;
use vestry_domain::random::alphanumeric;
use vestry_ports::entropy::Bytes;

use super::record::{Operator, Record};
use crate::entropy::SystemEntropy;
use crate::failure::{Context, Failure};

const EMAIL: &str = "owner@example.com";

/// How a developer signs in to the console; nothing if the database is not the one of `vestry dev`.
#[derive(Default)]
pub(super) struct DevOperator {
    /// Signs in once.
    pub(super) console_url: String,
    pub(super) login: Operator,
}

/// Creates the operator on the first start, and a new link on each.
pub(super) async fn prepare(
    service: &Service,
    earlier: Option<&Record>,
) -> Result<DevOperator, Failure> {
    let password = earlier.map(|record| record.operator.password.clone());
    let password = password.filter(|password| !password.is_empty());
    let is_known = password.is_some();
    let password = password.unwrap_or_else(|| {
        let random = alphanumeric(&mut Bytes(&SystemEntropy::new()), 24);
        random.expose().clone()
    });
    let made = service
        .prepare_dev_owner(EMAIL, &Secret::new(password.clone()), is_known)
        .await
        .context("cannot create the operator")?;
    Ok(DevOperator {
        console_url: made.expose().clone(),
        login: Operator {
            email: EMAIL.to_owned(),
            password,
        },
    })
}
