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
    let directory = temporary::directory("keeper").unwrap();
    let mut keeper = Keeper::start(&idle(), "TERM", log(&directory), Some(&directory)).unwrap();
    assert!(keeper.ended().unwrap().is_none());
    let status = keeper.stop().unwrap();
    // What a shell says of a process that TERM ended.
    assert_eq!(status.code(), Some(128 + 15));
    assert!(!directory.exists());
}

#[test]
fn a_keeper_that_is_dropped_stops_its_server_too() {
    let directory = temporary::directory("keeper").unwrap();
    drop(Keeper::start(&idle(), "TERM", log(&directory), Some(&directory)).unwrap());
    assert!(!directory.exists());
}

#[test]
fn a_server_that_ends_by_itself_is_seen() {
    let directory = temporary::directory("keeper").unwrap();
    let mut server = Command::new("sh");
    server
        .args(["-c", "echo \"$GREETING\" \"$1\"; exit 3", "sh", "two words"])
        .env("GREETING", "hello");
    let mut keeper = Keeper::start(&server, "TERM", log(&directory), None).unwrap();
    let status = wait::until("the end", Duration::from_secs(10), || keeper.ended()).unwrap();
    assert_eq!(status.code(), Some(3));
    assert_eq!(
        fs::read_to_string(directory.join("log")).unwrap(),
        "hello two words\n"
    );
    fs::remove_dir_all(directory).unwrap();
}
