//! Writing notes to a directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tempfile::TempDir;
use vestry_checkpoint_sinks::{FileSink, notes_in};
use vestry_domain::audit::checkpoint::SignedNote;
use vestry_ports::anchors::{CheckpointSink, SinkError};

use crate::NOTE;

const FIRST: &str = "checkpoint-000000000001.txt";

fn sink() -> (TempDir, FileSink) {
    let directory = tempfile::tempdir().unwrap();
    let sink = FileSink::new(directory.path());
    (directory, sink)
}

/// Returns all names in the directory, including hidden files.
fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

fn text(directory: &TempDir, name: &str) -> String {
    fs::read_to_string(directory.path().join(name)).unwrap()
}

#[tokio::test]
async fn each_note_has_its_own_file() {
    let (directory, sink) = sink();
    for (number, name) in [
        (1, FIRST),
        (42, "checkpoint-000000000042.txt"),
        (i64::MAX, "checkpoint-9223372036854775807.txt"),
    ] {
        let note = format!("{number}\n");
        sink.put(number, &note).await.unwrap();
        assert_eq!(text(&directory, name), note);
        let mode = fs::metadata(directory.path().join(name)).unwrap();
        assert_eq!(mode.permissions().mode() & 0o137, 0, "{name}");
    }
    assert_eq!(names(&directory).len(), 3);
    assert_eq!(sink.name(), format!("file:{}", directory.path().display()));
}

/// Neither a complete note, nor a partial one, nor any other file of that name is overwritten.
#[tokio::test]
async fn aud_8_a_note_is_never_overwritten() {
    let (directory, sink) = sink();
    sink.put(1, NOTE).await.unwrap();
    let file = directory.path().join(FIRST);
    let longer = format!("{NOTE}more");
    let half = &NOTE[..20];
    let as_long = NOTE.replace("localhost", "localh0st");
    for there in [NOTE, &longer, &as_long, half, "", "another\n"] {
        fs::write(&file, there).unwrap();
        for note in [NOTE, &longer, &as_long, half, "", "another\n"] {
            let outcome = sink.put(1, note).await;
            let as_expected = match &outcome {
                Ok(()) => note == there,
                Err(SinkError::Differs { number: 1 }) => note != there,
                Err(_) => false,
            };
            assert!(as_expected, "{there:?} {note:?} {outcome:?}");
            assert_eq!(text(&directory, FIRST), there);
        }
    }
    assert_eq!(names(&directory), [FIRST]);
}

#[tokio::test]
async fn any_object_with_the_name_of_a_note_is_kept() {
    let (directory, sink) = sink();
    let file = directory.path().join(FIRST);
    fs::write(&file, [0xff, 0]).unwrap();
    let outcome = sink.put(1, NOTE).await;
    assert!(matches!(outcome, Err(SinkError::Differs { number: 1 })));
    fs::remove_file(&file).unwrap();

    // A link counts as an existing object, wherever it leads.
    let elsewhere = directory.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    let outcome = sink.put(1, NOTE).await;
    assert!(matches!(outcome, Err(SinkError::Unavailable(_))));
    assert!(!elsewhere.exists());
    fs::remove_file(&file).unwrap();

    fs::create_dir(&file).unwrap();
    let outcome = sink.put(1, NOTE).await;
    assert!(matches!(outcome, Err(SinkError::Unavailable(_))));
    assert_eq!(names(&directory), [FIRST]);
}

/// Leftovers of a crash at each step: half of the note in the temporary file; the complete note there; the note under its name, with the
/// temporary file still present.
#[tokio::test]
async fn a_note_is_resumed_after_a_crash() {
    for (beside, in_place) in [
        ("", false),
        (&NOTE[..20], false),
        (NOTE, false),
        (NOTE, true),
    ] {
        let (directory, sink) = sink();
        for attempt in 0..3 {
            let left = format!(".{FIRST}.{attempt}.new");
            fs::write(directory.path().join(left), beside).unwrap();
        }
        if in_place {
            fs::hard_link(
                directory.path().join(format!(".{FIRST}.0.new")),
                directory.path().join(FIRST),
            )
            .unwrap();
        } else {
            assert_eq!(sink.newest().await.unwrap(), None);
            assert_eq!(notes_in(directory.path()).unwrap(), []);
        }
        for _ in 0..2 {
            sink.put(1, NOTE).await.unwrap();
            assert_eq!(names(&directory), [FIRST], "{beside:?} {in_place}");
            assert_eq!(text(&directory, FIRST), NOTE);
        }
    }
}

/// Temporary files of other numbers may be in use.
#[tokio::test]
async fn leftovers_of_other_numbers_stay() {
    let (directory, sink) = sink();
    let other = ".checkpoint-000000000002.txt.0.new";
    fs::write(directory.path().join(other), "half").unwrap();
    sink.put(1, NOTE).await.unwrap();
    assert_eq!(names(&directory), [other, FIRST]);
}

/// That many crashes for one number point to another problem, and the directory must not fill up.
#[tokio::test]
async fn too_many_leftovers_are_an_error() {
    let (directory, sink) = sink();
    for attempt in 0..1000 {
        let left = format!(".{FIRST}.{attempt}.new");
        fs::write(directory.path().join(left), "half").unwrap();
    }
    let outcome = sink.put(1, NOTE).await;
    assert!(matches!(outcome, Err(SinkError::Unavailable(_))));
    assert_eq!(names(&directory).len(), 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn aud_8_of_notes_that_race_for_a_number_one_is_stored() {
    for round in 1..=20 {
        let (directory, sink) = sink();
        // Each note twice.
        let notes: Vec<_> = (0..16)
            .map(|n| format!("{}\n", n / 2).repeat(999))
            .collect();
        let outcomes = join_all(notes.iter().map(|note| sink.put(round, note))).await;
        let stayed = sink.newest().await.unwrap().unwrap();
        for (note, outcome) in notes.iter().zip(outcomes) {
            match outcome {
                Ok(()) => assert_eq!(*note, stayed),
                Err(SinkError::Differs { number }) => {
                    assert_eq!(number, round);
                    assert_ne!(*note, stayed);
                }
                Err(error) => panic!("{}", crate::said(&error)),
            }
        }
        assert_eq!(names(&directory).len(), 1, "{:?}", names(&directory));
    }
}

/// A concurrent reader sees either no note or all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn readers_never_see_a_partial_note() {
    let (directory, sink) = sink();
    let note = "x".repeat(4 * 1024 * 1024);
    let ended = Arc::new(AtomicBool::new(false));
    let reading = {
        let (path, note, ended) = (directory.path().to_owned(), note.clone(), ended.clone());
        tokio::task::spawn_blocking(move || {
            let mut looks = 0;
            while !ended.load(Ordering::Relaxed) {
                for (path, seen) in notes_in(&path).unwrap() {
                    assert!(seen == note, "{path:?}: {} bytes", seen.len());
                }
                looks += 1;
            }
            looks
        })
    };
    for number in 1..=5 {
        sink.put(number, &note).await.unwrap();
    }
    ended.store(true, Ordering::Relaxed);
    assert!(reading.await.unwrap() > 0);
}

/// A disk that is not mounted is no sink, and must not look like one.
#[tokio::test]
async fn a_missing_directory_is_not_created() {
    let (directory, _) = sink();
    let missing = directory.path().join("not-mounted");
    let sink = FileSink::new(&missing);
    assert!(matches!(
        sink.put(1, NOTE).await,
        Err(SinkError::Unavailable(_))
    ));
    assert!(matches!(
        sink.newest().await,
        Err(SinkError::Unavailable(_))
    ));
    assert!(!missing.exists());
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let outcome = FileSink::new(&file).put(1, NOTE).await;
    assert!(matches!(outcome, Err(SinkError::Unavailable(_))));
}

#[tokio::test]
async fn notes_that_could_not_be_read_back_are_refused() {
    let (directory, sink) = sink();
    for number in [0, -1, i64::MIN] {
        let outcome = sink.put(number, NOTE).await;
        assert!(matches!(outcome, Err(SinkError::Refused(_))), "{number}");
    }
    let largest = "x".repeat(SignedNote::LARGEST);
    let outcome = sink.put(1, &format!("{largest}x")).await;
    assert!(matches!(outcome, Err(SinkError::Refused(_))));
    assert_eq!(names(&directory), [""; 0]);
    sink.put(1, &largest).await.unwrap();
    assert!(sink.newest().await.unwrap().unwrap() == largest);
}

/// The highest number is not the last name in alphabetical order.
#[tokio::test]
async fn the_newest_has_the_highest_number() {
    let (_directory, sink) = sink();
    assert_eq!(sink.newest().await.unwrap(), None);
    for (number, newest) in [
        (9, "9"),
        (10, "10"),
        (1_000_000_000_000, "1000000000000"),
        (999_999_999_999, "1000000000000"),
    ] {
        sink.put(number, &number.to_string()).await.unwrap();
        assert_eq!(sink.newest().await.unwrap().as_deref(), Some(newest));
    }
}

/// A note is complete even if its writer stops waiting.
#[tokio::test]
async fn an_abandoned_write_is_completed() {
    let (_directory, sink) = sink();
    let note = "x".repeat(4 * 1024 * 1024);
    // Polled only once.
    let given_up = tokio::time::timeout(Duration::ZERO, sink.put(1, &note)).await;
    drop(given_up);
    let appears = async {
        loop {
            if let Some(seen) = sink.newest().await.unwrap() {
                return seen;
            }
        }
    };
    let seen = tokio::time::timeout(Duration::from_secs(30), appears).await;
    assert!(seen.unwrap() == note);
}
