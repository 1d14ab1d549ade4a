use super::*;

/// As libtest prints it.
const OUTPUT: &str = "\
running 3 tests
test first ... FAILED
test second ... ok
test third ... FAILED

failures:

---- first stdout ----
seed 7

thread 'first' panicked at a.rs:1:2:
left is not right
stack backtrace:
   0: somewhere
---- third stdout ----
thread 'third' panicked at b.rs:3:4:
nothing came


failures:
    first
    third

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
";

#[test]
fn each_failed_test_is_told_with_its_panic() {
    let mut failed = Failed::default();
    OUTPUT.lines().for_each(|line| failed.read(line));
    let expected = "

failed: first
thread 'first' panicked at a.rs:1:2:
left is not right

failed: third
thread 'third' panicked at b.rs:3:4:
nothing came

";
    assert_eq!(failed.text().trim_end(), expected.trim_end());
}

#[test]
fn long_output_is_cut() {
    let mut failed = Failed::default();
    failed.read("---- one stdout ----");
    failed.read("thread 'one' panicked at a.rs:1:2:");
    for _ in 0..100 {
        failed.read("a line");
    }
    let [test] = failed.tests.as_slice() else {
        panic!("{failed:?}");
    };
    assert_eq!(test.panic.len(), MAX_LINES);
}

#[test]
fn a_failed_command_is_a_failure_with_its_tests() {
    let script = r#"printf "%s" "$OUTPUT"; exit 101"#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("OUTPUT", OUTPUT);
    let mut shown = Vec::new();
    let Err(Failure::Failed(message)) = run_showing(&mut command, &mut shown) else {
        panic!("it succeeded");
    };
    assert!(message.contains("failed: third"), "{message}");
    assert_eq!(String::from_utf8(shown).unwrap(), OUTPUT);
    assert!(run_showing(Command::new("true").arg("-"), &mut Vec::new()).is_ok());
}
