//! The journal in a directory.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Arc;

use futures_util::future::join_all;
use tempfile::TempDir;
use vestry_checkpoint_sinks::{FileJournal, FileSink};
use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;
use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::journal::Journal;

use crate::NOTE;

const AT: Timestamp = Timestamp::from_unix(1_800_000_000);
const DAY: Seconds = Seconds(86_400);

fn texts(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

async fn all(journal: &FileJournal, from: Timestamp) -> Vec<String> {
    let mut all = Vec::new();
    for part in journal.parts(from).await.unwrap() {
        all.extend(journal.lines(&part).await.unwrap());
    }
    all
}

#[tokio::test]
async fn lines_are_read_back_in_order_by_another_process() {
    let directory = TempDir::new().unwrap();
    let journal = FileJournal::new(directory.path());
    journal.append(AT, &texts(&["a", "b"])).await.unwrap();
    journal.append(AT, &texts(&["c"])).await.unwrap();
    // Checkpoints lie beside it.
    FileSink::new(directory.path()).put(1, NOTE).await.unwrap();
    let other = FileJournal::new(directory.path());
    assert_eq!(all(&other, AT).await, ["a", "b", "c"]);
    other.append(AT, &texts(&["d"])).await.unwrap();
    assert_eq!(journal.parts(AT).await.unwrap().len(), 2);
    assert_eq!(all(&journal, AT).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn old_parts_are_left_out_and_a_part_lasts_for_a_day() {
    let directory = TempDir::new().unwrap();
    let journal = FileJournal::new(directory.path());
    for day in 0..4 {
        let at = AT + Seconds(day * DAY.0);
        journal.append(at, &texts(&["morning"])).await.unwrap();
        let later = at + Seconds(3_600);
        journal.append(later, &texts(&["noon"])).await.unwrap();
    }
    assert_eq!(all(&journal, AT).await.len(), 8);
    // The part of the day before can contain lines of this moment.
    let from = AT + Seconds(3 * DAY.0);
    assert_eq!(journal.parts(from).await.unwrap().len(), 2);
}

/// A process that was killed leaves half a line, which is neither read nor continued.
#[tokio::test]
async fn an_incomplete_line_is_left_out() {
    let directory = TempDir::new().unwrap();
    let journal = FileJournal::new(directory.path());
    journal.append(AT, &texts(&["whole"])).await.unwrap();
    let part = journal.parts(AT).await.unwrap().remove(0);
    let path = directory.path().join(&part);
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(b"ha").unwrap();
    assert_eq!(all(&journal, AT).await, ["whole"]);
    let next = FileJournal::new(directory.path());
    next.append(AT, &texts(&["next"])).await.unwrap();
    assert_eq!(all(&next, AT).await, ["whole", "next"]);
}

#[tokio::test]
async fn without_its_directory_nothing_is_stored() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("not-mounted");
    let journal = FileJournal::new(&missing);
    let refused = journal.append(AT, &texts(&["a"])).await.unwrap_err();
    assert!(matches!(refused, SinkError::Unavailable(_)), "{refused}");
    let refused = journal.parts(AT).await.unwrap_err();
    assert!(matches!(refused, SinkError::Unavailable(_)), "{refused}");
    assert!(!missing.exists());
    fs::create_dir(&missing).unwrap();
    journal.append(AT, &texts(&["a"])).await.unwrap();
    assert_eq!(all(&journal, AT).await, ["a"]);
}

#[tokio::test]
async fn only_parts_of_the_journal_are_read() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("other"), "secret\n").unwrap();
    let journal = FileJournal::new(directory.path());
    for part in [
        "other",
        "../other",
        "journal-1-0.jsonl",
        "checkpoint-000000000001.txt",
    ] {
        let refused = journal.lines(part).await.unwrap_err();
        assert!(
            matches!(refused, SinkError::Refused(_)),
            "{part}: {refused}"
        );
    }
    let refused = journal.append(AT, &texts(&["a\nb"])).await.unwrap_err();
    assert!(matches!(refused, SinkError::Refused(_)), "{refused}");
}

#[tokio::test]
async fn parallel_lines_are_all_stored() {
    let directory = TempDir::new().unwrap();
    let journal = Arc::new(FileJournal::new(directory.path()));
    let writes = (0..50).map(|number| {
        let journal = Arc::clone(&journal);
        async move { journal.append(AT, &[number.to_string()]).await }
    });
    for written in join_all(writes).await {
        written.unwrap();
    }
    let mut stored = all(&journal, AT).await;
    stored.sort_by_key(|line| line.parse::<u32>().unwrap());
    let expected: Vec<_> = (0..50).map(|number| number.to_string()).collect();
    assert_eq!(stored, expected);
}
