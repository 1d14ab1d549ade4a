use std::fs;
use std::time::Duration;

use super::*;
use crate::{temporary, wait};

/// A server that does nothing until it is stopped.
fn idle() -> Command {
    let mut command = Command::new("tail");
    command.args(["-f", "/dev/null"]);
    command
}

fn log(directory: &Path) -> File {
    File::create(directory.join("log")).unwrap()
}

#[test]
fn stop_ends_the_server_and_deletes_its_directory() {
    let directory = temporary::directory("child-guard").unwrap();
    let mut guard = ChildGuard::start(&idle(), "TERM", log(&directory), Some(&directory)).unwrap();
    assert!(guard.ended().unwrap().is_none());
    let status = guard.stop().unwrap();
    // What a shell says of a process that TERM ended.
    assert_eq!(status.code(), Some(128 + 15));
    assert!(!directory.exists());
}

#[test]
fn a_dropped_guard_stops_its_server() {
    let directory = temporary::directory("child-guard").unwrap();
    drop(ChildGuard::start(&idle(), "TERM", log(&directory), Some(&directory)).unwrap());
    assert!(!directory.exists());
}

#[test]
fn the_exit_of_a_server_is_noticed() {
    let directory = temporary::directory("child-guard").unwrap();
    let mut server = Command::new("sh");
    server
        .args(["-c", "echo \"$GREETING\" \"$1\"; exit 3", "sh", "two words"])
        .env("GREETING", "hello");
    let mut guard = ChildGuard::start(&server, "TERM", log(&directory), None).unwrap();
    let status = wait::until("the end", Duration::from_secs(10), || guard.ended()).unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(
        fs::read_to_string(directory.join("log")).unwrap(),
        "hello two words\n"
    );
    fs::remove_dir_all(directory).unwrap();
}
