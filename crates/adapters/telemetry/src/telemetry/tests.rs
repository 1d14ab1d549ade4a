use std::collections::BTreeSet;

use vestry_domain::metric::{Job, PoolState};

use super::*;

const BUILD: Build = Build {
    version: "1.2.3",
    commit: "abc",
};

fn telemetry() -> Telemetry {
    Telemetry::new(BUILD, Timestamp::from_unix(1_764_509_000), || [3, 0])
}

/// The value of a series.
fn value<'a>(text: &'a str, series: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))
}

#[test]
fn pr_13_to_31_what_is_measured_is_rendered() {
    let telemetry = telemetry();
    for _ in 0..3 {
        let took = Duration::from_millis(3);
        telemetry.request("/v1/x/{id}", WorkClass::Session, StatusClass::TooMany, took);
    }
    telemetry.count(Counted::SignIn(AttemptMethod::Code, AttemptResult::Wrong));
    telemetry.count(Counted::Refusal("rate_limited"));
    telemetry.count(Counted::PasswordRefused);
    telemetry.time(Timed::PasswordWait, Duration::from_secs(11));
    telemetry.set(meter::Gauge::Ready, 1.0);
    telemetry.set(meter::Gauge::JobSucceeded(Job::Sweep), 1_764_509_000.0);
    telemetry.set(
        meter::Gauge::PoolConnections(PoolName::Main, PoolState::Busy),
        7.0,
    );
    let text = telemetry.render();
    for (series, expected) in [
        (r#"vestry_build_info{version="1.2.3",commit="abc"}"#, "1.0"),
        (
            r#"vestry_http_requests_total{route="/v1/x/{id}",status="429"}"#,
            "3",
        ),
        (
            r#"vestry_http_request_seconds_bucket{le="0.0025",class="session"}"#,
            "0",
        ),
        (
            r#"vestry_http_request_seconds_bucket{le="0.005",class="session"}"#,
            "3",
        ),
        (r#"vestry_http_request_seconds_count{class="sign"}"#, "0"),
        (r#"vestry_sign_in_total{method="code",result="wrong"}"#, "1"),
        (r#"vestry_sign_in_total{method="code",result="ok"}"#, "0"),
        (r#"vestry_refusals_total{code="rate_limited"}"#, "1"),
        ("vestry_password_refused_total", "1"),
        (r#"vestry_password_wait_seconds_bucket{le="+Inf"}"#, "1"),
        (r#"vestry_password_wait_seconds_bucket{le="10.0"}"#, "0"),
        ("vestry_ready{}", "1.0"),
        (
            r#"vestry_job_last_success_timestamp_seconds{job="sweep"}"#,
            "1764509000.0",
        ),
        (
            r#"vestry_db_pool_connections{pool="main",state="busy"}"#,
            "7.0",
        ),
        (r#"vestry_log_lines_dropped_total{level="info"}"#, "3"),
    ] {
        assert_eq!(value(&text, series), Some(expected), "{series}\n{text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
}

/// PR-31: the kernel's numbers about this process are plausible.
#[test]
fn pr_31_the_process_is_measured() {
    let text = telemetry().render();
    let number = |name: &str| -> f64 { value(&text, name).unwrap().parse().unwrap() };
    assert!(number("process_resident_memory_bytes") > 1_000_000.0);
    assert!(number("process_open_fds") >= 3.0);
    assert!(number("process_max_fds") >= number("process_open_fds"));
    assert!(number("process_start_time_seconds") > 1_700_000_000.0);
    assert!(number("process_cpu_seconds_total") < 10_000.0);
}

/// PR-33: with every series that there can be, for 400 routes.
#[test]
fn pr_33_a_scrape_is_bounded() {
    let telemetry = telemetry();
    let took = Duration::from_millis(1);
    for route in 0..400 {
        for status in [
            StatusClass::Success,
            StatusClass::Refused,
            StatusClass::Unauthorized,
            StatusClass::Failed,
        ] {
            let route = format!("/v1/manage/apps/{{app_id}}/environments/{route}");
            telemetry.request(&route, WorkClass::Admin, status, took);
        }
    }
    for kind in TransactionKind::ALL {
        for outcome in TransactionOutcome::ALL {
            telemetry.time(Timed::Transaction(*kind, *outcome), took);
        }
    }
    for pool in PoolName::ALL {
        telemetry.time(Timed::PoolWait(*pool), took);
    }
    let text = telemetry.render();
    let series: BTreeSet<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(series.len() <= 6_000, "{}", series.len());
    assert!(text.len() <= 1_000_000, "{}", text.len());
}
