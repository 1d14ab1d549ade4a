//! Lines of `/proc`.

use super::*;

const STAT: &str =
    "4711 (odd ) name) S 42 4711 4711 0 -1 4194560 900 0 0 0 150 50 7 3 20 0 4 0 100 1 2\n";

#[test]
fn cpu_time_includes_exited_children() {
    let process = Process::parse(STAT).unwrap();
    let expected = Process {
        id: 4711,
        parent: 42,
        ticks: 210,
        of_children: 10,
    };
    assert_eq!(process, expected);
    assert_eq!(Process::parse("4711 (short) S 42"), None);
}

#[test]
fn switches_are_parsed_by_kind() {
    let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
    assert_eq!(switches(status), Some((12, 3)));
    assert_eq!(switches("Name:\tx\n"), None);
}

#[test]
fn usage_is_the_difference_of_two_snapshots_by_thread() {
    let before = Usage {
        ticks: 100,
        switches: Switches::from([((1, 1), (10, 5)), ((1, 2), (1_000, 1_000))]),
    };
    // One thread has exited, one has started.
    let after = Usage {
        ticks: 103,
        switches: Switches::from([((1, 1), (17, 6)), ((1, 3), (4, 2))]),
    };
    let taken = after.since(&before);
    let read = (taken.microseconds, taken.voluntary, taken.involuntary);
    assert_eq!(read, (30_000.0, 11.0, 3.0));
}

#[test]
fn this_process_is_a_descendant_of_its_parent() {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let this = Process::parse(&stat).unwrap();
    let below = processes_below(this.parent).unwrap();
    assert!(below.iter().any(|process| process.id == this.id));
    assert!(resident(this.parent).unwrap() > 0.0 && peak(this.parent).unwrap() > 0.0);
}
