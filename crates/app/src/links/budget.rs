//! Links are sent out of the same budgets as codes: whoever is written to does not care what the mail holds (OTP-10,
//! attack 8).

use vestry_domain::email::EmailIdentity;
use vestry_domain::limits::{self, Limit};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Repositories, StoreError};

/// Counts one send. Answers the wait when a budget is used up; the transaction must be dropped then.
pub(super) async fn spend(
    tx: &mut dyn Repositories,
    world: &World,
    to: &EmailIdentity,
    device: Option<&DeviceFingerprint>,
    now: Timestamp,
) -> Result<Option<Seconds>, StoreError> {
    // As for codes: sends to different addresses rarely wait for one another's commit.
    const SHARDS: u8 = 16;
    let identity = to.as_str();
    let shard = TokenHash::of(identity)
        .0
        .first()
        .map_or(0, |byte| byte % SHARDS)
        .to_string();
    let per_shard = Limit {
        most: limits::codes::SENDS_PER_APP.most / u32::from(SHARDS),
        ..limits::codes::SENDS_PER_APP
    };
    let ip = device
        .map(|device| device.ip.as_str())
        .filter(|ip| !ip.is_empty());
    let per_day = limits::codes::SENDS_PER_IDENTIFIER_AND_DAY;
    let mut budgets = vec![
        (
            "otp_send_identifier",
            identity,
            limits::codes::SENDS_PER_IDENTIFIER,
        ),
        ("otp_send_identifier_day", identity, per_day),
    ];
    budgets.extend(ip.map(|ip| ("otp_send_ip", ip, limits::codes::SENDS_PER_IP)));
    budgets.push(("otp_send_app", &shard, per_shard));
    for (name, subject, limit) in budgets {
        let verdict = tx.budgets().spend(world, name, subject, limit, now).await?;
        if !verdict.admitted {
            return Ok(Some(verdict.reset - now));
        }
    }
    Ok(None)
}
