//! Reading directories of notes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use vestry_checkpoint_sinks::{FileSink, notes_in};
use vestry_domain::audit::checkpoint::SignedNote;
use vestry_ports::anchors::{CheckpointSink, SinkError};

#[test]
fn notes_are_sorted_by_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = |number: u64| {
        let name = format!("checkpoint-{number:012}.txt");
        directory.path().join(name)
    };
    let numbers = [1_000_000_000_000, 2, 10, 1, 999_999_999_999];
    for number in numbers {
        fs::write(path(number), number.to_string()).unwrap();
    }
    let notes = notes_in(directory.path()).unwrap();
    let expected = [1, 2, 10, 999_999_999_999, 1_000_000_000_000];
    let expected = expected.map(|number| (path(number), number.to_string()));
    assert_eq!(notes, expected);
}

#[test]
fn other_files_are_skipped() {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        "README",
        "checkpoint-1.txt",
        "checkpoint-000000000000.txt",
        "checkpoint--00000000001.txt",
        "checkpoint-+00000000001.txt",
        "checkpoint-0000000000001.txt",
        "checkpoint-000000000001.txt.gz",
        "checkpoint-000000000001.tx",
        "Checkpoint-000000000001.txt",
        "checkpoint-\u{661}00000000001.txt",
        "checkpoint-99999999999999999999.txt",
        ".checkpoint-000000000001.txt.0.new",
    ] {
        fs::write(directory.path().join(name), [0xff]).unwrap();
    }
    assert_eq!(notes_in(directory.path()).unwrap(), []);
}

/// Asserts that reading fails, with an error that names the file.
async fn is_unreadable(directory: &Path) {
    let error = notes_in(directory).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let said = error.to_string();
    assert!(said.contains("checkpoint-000000000002.txt"), "{said}");
    let newest = FileSink::new(directory).newest().await;
    assert!(matches!(newest, Err(SinkError::Unavailable(_))));
}

#[tokio::test]
async fn invalid_notes_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("checkpoint-000000000001.txt"), "1").unwrap();
    let file = directory.path().join("checkpoint-000000000002.txt");

    let larger = u64::try_from(SignedNote::LARGEST).unwrap() + 1;
    File::create(&file).unwrap().set_len(larger).unwrap();
    is_unreadable(directory.path()).await;
    // Files that are far too large are not read to their end.
    File::create(&file).unwrap().set_len(1 << 40).unwrap();
    is_unreadable(directory.path()).await;
    fs::write(&file, [b'x', 0xff]).unwrap();
    is_unreadable(directory.path()).await;
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    is_unreadable(directory.path()).await;
    fs::remove_dir(&file).unwrap();
    // Nothing is ever written to it.
    assert!(
        Command::new("mkfifo")
            .arg(&file)
            .status()
            .unwrap()
            .success()
    );
    is_unreadable(directory.path()).await;
}

#[test]
fn a_missing_directory_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let missing = notes_in(&directory.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}
