//! In-process caches of recently read data.

mod jwt_times;
mod signing_keys;
mod test_clocks;

pub(crate) use jwt_times::{JwtTimes, WhatIsSigned};
pub(crate) use signing_keys::{Keys, SigningKeys};
pub(crate) use test_clocks::TestClocks;
