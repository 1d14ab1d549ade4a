//! `vestry audit prune`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use aws_lc_rs::digest::{Context as Hash, SHA256};
use serde_json::{Value, json};
use vestry_app::audit::Exported;
use vestry_app::{Principal, Service};
use vestry_domain::Timestamp;
use vestry_domain::audit::control::ControlEntry;
use vestry_domain::audit::{AuditEntry, Format};

use crate::failure::{Context, Failure};
use crate::output::Output;
use crate::private_file;

pub(super) async fn run(
    service: &Service,
    before: Timestamp,
    path: &Path,
) -> Result<Output, Failure> {
    let progress = |looked_at| tracing::info!(looked_at, "audit log entries exported");
    let mut export = Export::new(path)?;
    let exported = service
        .export_audit_log(
            Principal::cli(),
            before,
            &mut |entry| export.write(entry),
            &progress,
        )
        .await
        .map_err(|error| Failure::of(error, "export failed; no entries were removed"));
    let exported = match exported {
        Ok(exported) if exported.entries() > 0 => exported,
        nothing => {
            fs::remove_file(path).context(format!("cannot delete {}", path.display()))?;
            nothing?;
            return Ok(output(0, None));
        }
    };
    let hash = export.finish(path)?;
    let progress = |removed| tracing::info!(removed, "audit log entries removed");
    let removed = service
        .prune_audit_log(Principal::cli(), &exported, &hash, &progress)
        .await;
    removed.map_err(|error| {
        Failure::of(error, "some exported entries could not be removed; keep the file, and run the command again with a new one")
    })?;
    Ok(output(exported.entries(), Some((path, &hash))))
}

fn output(entries: u64, file: Option<(&Path, &str)>) -> Output {
    let file = file.map(|(path, hash)| (path.display().to_string(), hash));
    let text = match &file {
        Some((path, hash)) => format!("Moved {entries} entries to {path} (SHA-256 {hash})."),
        None => "No entries to remove.".to_owned(),
    };
    let (path, hash) = file.unzip();
    Output::new(
        json!({ "entries": entries, "file": path, "sha256": hash }),
        text,
    )
}

/// A file of JSON lines, and the running hash of its content.
struct Export {
    file: BufWriter<File>,
    hash: Hash,
}

impl Export {
    fn new(path: &Path) -> Result<Self, Failure> {
        let file = private_file::open_new(path);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::usage(format!(
                "{} already exists; choose a new file",
                path.display()
            )),
            _ => Failure::new(format!("cannot create {}", path.display())).because(error),
        })?;
        Ok(Self {
            file: BufWriter::new(file),
            hash: Hash::new(&SHA256),
        })
    }

    fn write(&mut self, entry: Exported<'_>) -> io::Result<()> {
        let line = match entry {
            Exported::Use(entry) => of_use(entry),
            Exported::Change(entry) => of_change(entry),
        };
        let line = format!("{line}\n");
        self.hash.update(line.as_bytes());
        self.file.write_all(line.as_bytes())
    }

    /// Syncs the file and its directory entry to disk.
    fn finish(self, path: &Path) -> Result<String, Failure> {
        let on_disk = || -> io::Result<()> {
            self.file
                .into_inner()
                .map_err(io::Error::from)?
                .sync_all()?;
            let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
            File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
        };
        on_disk().context(format!("cannot write {}", path.display()))?;
        Ok(hex::encode(self.hash.finish()))
    }
}

/// Every field that the hash of an entry covers, under the names of docs/audit.md.
fn of_use(entry: &AuditEntry) -> Value {
    let event = &entry.event;
    let is_first_format = entry.format == Format::V1;
    json!({
        "format": entry.format.number(),
        "app_id": event.world.app_id,
        "environment": event.world.environment.as_str(),
        "chain": entry.chain,
        "sequence": entry.sequence,
        "id": entry.id,
        "actor": { "type": event.actor.kind(), "id": event.actor.id() },
        "action": event.action.as_str(),
        "subject": { "type": "wallet", "id": event.wallet_id },
        "detail": event.detail,
        "payload_sha256": event.payload.map(|hash| hex::encode(hash.0)),
        "result_sha256": event.result.map(|hash| hex::encode(hash.0)),
        "outcome": (!is_first_format).then(|| event.action.outcome().as_str()),
        "created_at": event.at,
        "request_id": event.request_id,
        "previous": hex::encode(entry.previous),
        "hash": hex::encode(entry.hash),
    })
}

fn of_change(entry: &ControlEntry) -> Value {
    let event = &entry.event;
    json!({
        "format": Format::V2.number(),
        "app_id": event.world.app_id,
        "environment": event.world.environment.as_str(),
        "chain": entry.chain,
        "sequence": entry.sequence,
        "id": entry.id,
        "actor": { "type": event.actor.kind(), "id": event.actor.id() },
        "action": event.action.as_str(),
        "subject": { "type": event.subject.kind.as_str(), "id": event.subject.id },
        "detail": event.detail,
        "payload_sha256": null,
        "result_sha256": null,
        "outcome": event.outcome.as_str(),
        "created_at": event.at,
        "request_id": event.request_id,
        "previous": hex::encode(entry.previous),
        "hash": hex::encode(entry.hash),
    })
}
