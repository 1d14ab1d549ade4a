//! `vestry users import`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Value, json};
use vestry_app::users::{Imported, PortableUser, UserImport};

use crate::admin::progress::Progress;
use crate::failure::{Context, Failure};
use crate::output::Format;

/// Lines that go into one transaction at most.
const BATCH: usize = 100;
/// Longest line, in bytes; metadata has at most 16 KiB.
const LONGEST_LINE: u64 = 128 * 1024;

/// What some programs begin a file in UTF-8 with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What became of all lines.
#[derive(Default)]
struct Report {
    lines: u64,
    imported: u64,
    /// Those of the imported whose account was there as a claim only.
    founded: u64,
    known: u64,
    refused: Vec<(u64, String)>,
}

/// Lines that wait for their transaction, with their numbers.
#[derive(Default)]
struct Waiting {
    numbers: Vec<u64>,
    users: Vec<PortableUser>,
}

pub(super) async fn run(
    mut import: UserImport<'_>,
    file: &Path,
    is_rehearsal: bool,
    format: Format,
) -> Result<(), Failure> {
    let opened = File::open(file).context(format!("{} cannot be read", file.display()))?;
    let length = opened.metadata().map_or(0, |data| data.len());
    let mut progress = Progress::of(length);
    let mut report = Report::default();
    let read = take_all(&mut import, opened, &mut report, &mut progress).await;
    progress.end();
    // What was done until then is told even when the rest could not be.
    report.founded = import.founded();
    let finished = import.finish().await;
    report.print(format, is_rehearsal)?;
    read.context("the import stopped; run it again to go on")?;
    finished
        .context("the users are there, but the event with their number could not be written")?;
    if report.refused.is_empty() {
        Ok(())
    } else {
        Err(Failure::answered(format!(
            "{} lines were refused",
            report.refused.len()
        )))
    }
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
        let read = (&mut reader)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line);
        let read = read.context("the file cannot be read")?;
        if read == 0 {
            break;
        }
        done += u64::try_from(read).unwrap_or(0);
        report.lines += 1;
        let is_cut = !line.ends_with(b"\n") && u64::try_from(read) == Ok(LONGEST_LINE);
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

/// A user; `None` for an empty line.
fn parse(line: &[u8], is_cut: bool) -> Result<Option<PortableUser>, String> {
    if is_cut {
        return Err("the line is longer than 128 KiB".to_owned());
    }
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    // The library would take an array of the fields in their order for an object.
    if !line.starts_with(b"{") {
        return Err("this is no JSON object".to_owned());
    }
    // Says which field and where, never what stands there: serde quotes values of a wrong type.
    serde_json::from_slice(line).map(Some).map_err(|error| {
        let column = error.column();
        match error.classify() {
            serde_json::error::Category::Data => {
                let text = error.to_string();
                let field = text.strip_prefix("unknown field `");
                match field.and_then(|rest| rest.split('`').next()) {
                    Some(name) => format!("there is no field {name}"),
                    None => format!("a value at column {column} is not of the kind that its field takes, or a field is missing"),
                }
            }
            _ => format!("this is no JSON object (column {column})"),
        }
    })
}

impl Report {
    async fn take(&mut self, import: &mut UserImport<'_>, waiting: Waiting) -> Result<(), Failure> {
        let outcomes = import.take(&waiting.users).await;
        let outcomes = outcomes.context("users cannot be stored")?;
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

    fn print(&self, format: Format, is_rehearsal: bool) -> Result<(), Failure> {
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
        format.print(&document, || {
            let verb = if is_rehearsal {
                "would be made"
            } else {
                "made"
            };
            let mut text = format!(
                "{} users {verb}, {} were there already, {} lines refused.",
                self.imported,
                self.known,
                self.refused.len()
            );
            if self.founded > 0 {
                text.push_str(&format!(
                    "\n{} of the accounts existed with an unverified address or number. Their sessions and credentials ended.",
                    self.founded
                ));
            }
            for (line, reason) in &self.refused {
                text.push_str(&format!("\n  line {line}: {reason}"));
            }
            text
        })
    }
}
