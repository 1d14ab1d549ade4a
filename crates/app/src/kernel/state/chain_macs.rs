//! Keyed hashes of audit entries, chain heads, prune markers and sink progress.

use vestry_domain::audit::control::{ControlEntry, ControlHead};
use vestry_domain::audit::{AuditHead, AuditMarker};
use vestry_domain::envelope::{Mac, SecretKind};
use vestry_domain::ids::AuditChainId;
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::store::SinkProgress;

/// Domain separation: the keyed hash of an entry is never valid for a head.
const ENTRY: &[u8] = b"entry";
const HEAD: &[u8] = b"head";
const CONTROL_HEAD: &[u8] = b"control head";
const MARKER: &[u8] = b"marker";
const SINK_PROGRESS: &[u8] = b"sink progress";

/// Maps a keyed hash whose key is missing or does not open to a mismatch. `vault verify` reports the key.
pub(crate) fn held(matches: Result<bool, CustodyError>) -> Result<bool, CustodyError> {
    match matches {
        Err(CustodyError::Tampered { .. }) => Ok(false),
        other => other,
    }
}

pub(crate) async fn entry_mac(
    sealer: &dyn Sealer,
    world: &World,
    hash: &[u8; 32],
) -> Result<Mac, CustodyError> {
    sealer.mac(world, SecretKind::Audit, &[ENTRY, hash]).await
}

pub(crate) async fn entry_matches(
    sealer: &dyn Sealer,
    world: &World,
    hash: &[u8; 32],
    mac: &Mac,
) -> Result<bool, CustodyError> {
    let parts: [&[u8]; 2] = [ENTRY, hash];
    sealer
        .mac_matches(world, SecretKind::Audit, &parts, mac)
        .await
}

pub(crate) async fn new_head(
    sealer: &dyn Sealer,
    world: &World,
    chain: AuditChainId,
    sequence: i64,
    hash: [u8; 32],
) -> Result<AuditHead, CustodyError> {
    let [a, b, c] = AuditHead::sealed_parts(chain, sequence, &hash);
    let mac = sealer
        .mac(world, SecretKind::Audit, &[HEAD, &a, &b, &c])
        .await?;
    Ok(AuditHead {
        world: *world,
        chain,
        sequence,
        hash,
        mac,
    })
}

pub(crate) async fn head_matches(
    sealer: &dyn Sealer,
    head: &AuditHead,
) -> Result<bool, CustodyError> {
    let [a, b, c] = AuditHead::sealed_parts(head.chain, head.sequence, &head.hash);
    let parts: [&[u8]; 4] = [HEAD, &a, &b, &c];
    sealer
        .mac_matches(&head.world, SecretKind::Audit, &parts, &head.mac)
        .await
}

pub(crate) async fn new_control_head(
    sealer: &dyn Sealer,
    number: i64,
    last: &ControlEntry,
) -> Result<ControlHead, CustodyError> {
    let (world, chain, sequence) = (last.event.world, last.chain, last.sequence);
    let [a, b, c, d] = ControlHead::sealed_parts(number, chain, sequence, &last.hash);
    let parts: [&[u8]; 5] = [CONTROL_HEAD, &a, &b, &c, &d];
    Ok(ControlHead {
        world,
        number,
        chain,
        sequence,
        hash: last.hash,
        mac: sealer.mac(&world, SecretKind::Audit, &parts).await?,
    })
}

pub(crate) async fn control_head_matches(
    sealer: &dyn Sealer,
    head: &ControlHead,
) -> Result<bool, CustodyError> {
    let [a, b, c, d] =
        ControlHead::sealed_parts(head.number, head.chain, head.sequence, &head.hash);
    let parts: [&[u8]; 5] = [CONTROL_HEAD, &a, &b, &c, &d];
    sealer
        .mac_matches(&head.world, SecretKind::Audit, &parts, &head.mac)
        .await
}

pub(crate) async fn new_marker(
    sealer: &dyn Sealer,
    world: &World,
    chain: AuditChainId,
    sequence: i64,
    hash: [u8; 32],
) -> Result<AuditMarker, CustodyError> {
    let [a, b, c] = AuditHead::sealed_parts(chain, sequence, &hash);
    let parts: [&[u8]; 4] = [MARKER, &a, &b, &c];
    Ok(AuditMarker {
        world: *world,
        chain,
        sequence,
        hash,
        mac: sealer.mac(world, SecretKind::Audit, &parts).await?,
    })
}

pub(crate) async fn marker_matches(
    sealer: &dyn Sealer,
    marker: &AuditMarker,
) -> Result<bool, CustodyError> {
    let [a, b, c] = AuditHead::sealed_parts(marker.chain, marker.sequence, &marker.hash);
    let parts: [&[u8]; 4] = [MARKER, &a, &b, &c];
    sealer
        .mac_matches(&marker.world, SecretKind::Audit, &parts, &marker.mac)
        .await
}

/// Creates the progress record of a sink, with a keyed hash under the deployment's key.
pub(crate) async fn new_progress(
    sealer: &dyn Sealer,
    sink: &str,
    number: i64,
    at: Timestamp,
) -> Result<SinkProgress, CustodyError> {
    let [a, b] = progress_parts(number, at);
    let parts: [&[u8]; 4] = [SINK_PROGRESS, sink.as_bytes(), &a, &b];
    Ok(SinkProgress {
        sink: sink.to_owned(),
        number,
        at,
        mac: sealer
            .mac(&World::DEPLOYMENT, SecretKind::Audit, &parts)
            .await?,
    })
}

pub(crate) async fn progress_matches(
    sealer: &dyn Sealer,
    progress: &SinkProgress,
) -> Result<bool, CustodyError> {
    let [a, b] = progress_parts(progress.number, progress.at);
    let parts: [&[u8]; 4] = [SINK_PROGRESS, progress.sink.as_bytes(), &a, &b];
    sealer
        .mac_matches(&World::DEPLOYMENT, SecretKind::Audit, &parts, &progress.mac)
        .await
}

const fn progress_parts(number: i64, at: Timestamp) -> [[u8; 8]; 2] {
    [number.to_be_bytes(), at.unix().to_be_bytes()]
}
