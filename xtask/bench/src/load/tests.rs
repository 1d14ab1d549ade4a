//! Reports of wrk.

use super::*;

const REPORT: &str = "\
Running 1s test @ http://127.0.0.1:1
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.23ms    0.40ms   9.00ms   88.00%
    Req/Sec    51.20k     1.10k   52.00k    90.00%
  Latency Distribution
     50%  612.00us
     75%    1.40ms
     90%    1.80ms
     99%    1.10s
  51234 requests in 1.00s, 6.00MB read
Requests/sec:  51200.50
Transfer/sec:      6.00MB
";

#[test]
fn rates_and_latencies_are_parsed_in_every_unit() {
    let Counted { measured, requests } = parse(REPORT).unwrap();
    assert_eq!(requests, 51_234);
    assert_eq!(measured.per_second, 51_200.5);
    assert!((measured.p50 - 0.612).abs() < 1e-9);
    assert!((measured.p99 - 1_100.0).abs() < 1e-9);
}

#[test]
fn a_run_with_failed_requests_is_no_measurement() {
    for line in [
        "  Non-2xx or 3xx responses: 3\n",
        "  Socket errors: connect 0, read 1, write 0, timeout 0\n",
    ] {
        assert!(parse(&format!("{REPORT}{line}")).is_none());
    }
    assert!(parse("").is_none());
}
