//! `vestry users import`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};
use vestry_app::identity::users::{Imported, PortableUser, UserImport};

use crate::cli::progress::Progress;
use crate::failure::{Context, Failure};
use crate::output::Output;

/// Maximum number of lines per transaction.
const BATCH: usize = 100;
/// Maximum line length in bytes; metadata alone can be 16 KiB.
const MAX_LINE: u64 = 128 * 1024;

/// The byte order mark that some programs write at the start of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The outcome of an import.
#[derive(Default)]
struct Report {
    lines: u64,
    imported: u64,
    /// Imported users whose account existed only as an unverified claim.
    founded: u64,
    known: u64,
    refused: Vec<(u64, String)>,
}

/// Lines collected for the next transaction, with their numbers.
#[derive(Default)]
struct Waiting {
    numbers: Vec<u64>,
    users: Vec<PortableUser>,
}

pub(super) async fn run(
    mut import: UserImport<'_>,
    file: &Path,
    is_rehearsal: bool,
) -> Result<Output, Failure> {
    let opened = File::open(file).context(format!("cannot read {}", file.display()))?;
    let length = opened.metadata().map_or(0, |data| data.len());
    let mut progress = Progress::of(length);
    let mut report = Report::default();
    let read = take_all(&mut import, opened, &mut report, &mut progress).await;
    progress.end();
    // The report is printed even if reading stopped early.
    report.founded = import.founded();
    let finished = import.finish().await;
    let failure = read
        .context("import interrupted; run it again to continue")
        .and(finished.context("users were imported, but the summary event could not be written"))
        .err()
        .map(|failure| failure.to_string());
    let refused = report.refused.len();
    let refused = (refused > 0).then(|| format!("{refused} lines were rejected"));
    Ok(report.output(is_rehearsal).failing(failure.or(refused)))
}

async fn take_all(
    import: &mut UserImport<'_>,
    file: File,
    report: &mut Report,
    progress: &mut Progress,
) -> Result<(), Failure> {
    let mut reader = BufReader::new(file);
    let mut waiting = Waiting::default();
    let mut done = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line);
        let read = read.context("cannot read the file")?;
        if read == 0 {
            break;
        }
        done += u64::try_from(read).unwrap_or(0);
        report.lines += 1;
        let is_cut = !line.ends_with(b"\n") && u64::try_from(read) == Ok(MAX_LINE);
        let text = match report.lines {
            1 => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line),
            _ => &line,
        };
        match parse(text, is_cut) {
            Ok(Some(user)) => {
                waiting.numbers.push(report.lines);
                waiting.users.push(user);
            }
            Ok(None) => {}
            Err(why) => report.refused.push((report.lines, why)),
        }
        if is_cut {
            done += reader
                .skip_until(b'\n')
                .map_or(0, |skipped| u64::try_from(skipped).unwrap_or(0));
        }
        if waiting.users.len() >= BATCH {
            report.take(import, std::mem::take(&mut waiting)).await?;
            progress.show(done, &format!("{} users", report.imported));
        }
    }
    report.take(import, waiting).await
}

/// Parses one line; `None` for an empty one.
fn parse(line: &[u8], is_cut: bool) -> Result<Option<PortableUser>, String> {
    if is_cut {
        return Err("line exceeds 128 KiB".to_owned());
    }
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    // serde would also accept an array of the fields in their order.
    if !line.starts_with(b"{") {
        return Err("not a JSON object".to_owned());
    }
    // Names the field and the column, never the value. serde's own messages quote values of a wrong type.
    serde_json::from_slice(line).map(Some).map_err(|error| {
        let column = error.column();
        match error.classify() {
            serde_json::error::Category::Data => {
                let text = error.to_string();
                let field = text.strip_prefix("unknown field `");
                match field.and_then(|rest| rest.split('`').next()) {
                    Some(name) => format!("unknown field {name}"),
                    None => format!("wrong type at column {column}, or missing field"),
                }
            }
            _ => format!("not a JSON object (column {column})"),
        }
    })
}

impl Report {
    async fn take(&mut self, import: &mut UserImport<'_>, waiting: Waiting) -> Result<(), Failure> {
        let outcomes = import.take(&waiting.users).await;
        let outcomes = outcomes.context("cannot store users")?;
        for (number, outcome) in waiting.numbers.into_iter().zip(outcomes) {
            match outcome {
                Imported::New(_) => self.imported += 1,
                Imported::Known(_) => self.known += 1,
                Imported::Refused(why) => self.refused.push((number, why)),
            }
        }
        self.refused.sort();
        Ok(())
    }

    fn output(&self, is_rehearsal: bool) -> Output {
        let refused: Vec<Value> = self
            .refused
            .iter()
            .map(|(line, reason)| json!({ "line": line, "reason": reason }))
            .collect();
        let document = json!({
            "dry_run": is_rehearsal,
            "lines": self.lines,
            "imported": self.imported,
            "founded": self.founded,
            "existing": self.known,
            "refused": refused,
        });
        let verb = if is_rehearsal {
            "would be imported"
        } else {
            "imported"
        };
        let mut text = format!(
            "{} users {verb}, {} already existed, {} lines rejected.",
            self.imported,
            self.known,
            self.refused.len()
        );
        if self.founded > 0 {
            text.push_str(&format!(
                "\n{} accounts already existed with an unverified address or number. Their sessions and credentials were revoked.",
                self.founded
            ));
        }
        for (line, reason) in &self.refused {
            text.push_str(&format!("\n  line {line}: {reason}"));
        }
        Output::new(document, text)
    }
}
