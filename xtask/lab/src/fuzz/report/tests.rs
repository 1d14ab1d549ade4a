use super::*;

const GOOD: &str = "\
INFO: Running with entropic power schedule (0xFF, 100).
#8192\tpulse  cov: 1234 ft: 4567 corp: 89/10Kb lim: 4096 exec/s: 4096 rss: 64Mb
Done 16411 runs in 3 second(s)
stat::number_of_executed_units: 16411
stat::average_exec_per_sec:     5470
stat::new_units_added:          12
stat::slowest_unit_time_sec:    1
stat::peak_rss_mb:              65
";

#[test]
fn a_run_to_the_end_is_read() {
    let report = Report::read(GOOD);
    let expected = Report {
        runs: 16411,
        seconds: 3,
        slowest: 1,
        findings: 0,
    };
    assert_eq!(report, expected);
    assert_eq!(
        report.to_string(),
        "runs=16411 seconds=3 slowest=1s findings=0"
    );
}

#[test]
fn a_run_that_ended_early_has_what_was_printed() {
    let report = Report::read("thread panicked\nstat::number_of_executed_units: 7\n");
    assert_eq!((report.runs, report.seconds), (7, 0));
    assert_eq!(Report::read(""), Report::default());
}

#[test]
fn only_inputs_are_counted() {
    let directory = xtask_harness::temporary::directory("fuzz-report").unwrap();
    for name in ["log", "crash-0a", "timeout-0b", "oom-0c", "slow-unit-0d"] {
        fs::write(directory.join(name), "").unwrap();
    }
    assert_eq!(inputs(&directory).unwrap(), 3);
    fs::remove_dir_all(&directory).unwrap();
}
