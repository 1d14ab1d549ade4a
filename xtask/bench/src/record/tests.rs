//! Records and their files.

use super::*;

/// A run with one operation of each kind.
pub(crate) fn example(date: &str, store: &str) -> Record {
    let cost = Cost {
        service: 90.5,
        database: 40.0,
        load: 9.5,
        voluntary: 2.25,
        involuntary: 0.125,
        of_database: 1.5,
    };
    let times = Times {
        p50: 5.25,
        p99: 9.875,
    };
    let verify = Measurement {
        operation: "session verify, cold".to_owned(),
        connections: 64,
        rates: vec![9_000.0, 11_000.0, 10_000.0],
        times,
        cost,
        baseline: Some(Baseline {
            name: "raw SELECT, cold".to_owned(),
            rates: vec![20_000.0, 20_000.0, 20_000.0],
            times: Some(times),
            cost: Cost {
                service: 20.0,
                database: 40.0,
                load: 10.0,
                ..cost
            },
        }),
    };
    let create = Measurement {
        operation: "user create (with wallet)".to_owned(),
        rates: vec![1_234.5],
        baseline: None,
        ..verify.clone()
    };
    Record {
        date: date.to_owned(),
        commit: "0123abc".to_owned(),
        profile: "dist".to_owned(),
        store: store.to_owned(),
        machine: "2 cores, 23 GiB of memory".to_owned(),
        note: "alone".to_owned(),
        users: 100_000,
        hot: 64,
        seconds: 2,
        memory: Memory {
            idle: 31.5,
            end: 88.25,
        },
        measurements: vec![verify, create],
        flood: Flood {
            at_rest: vec![1.0, 2.0],
            in_flood: vec![2.0, 8.0],
        },
    }
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = example("2026-11-24T18:30Z", "SQLite 3.50");
    assert_eq!(Record::parse(&record.to_json().unwrap()).unwrap(), record);
}

#[test]
fn a_record_without_a_field_is_refused() {
    let text = example("2026-11-24T18:30Z", "SQLite 3.50")
        .to_json()
        .unwrap();
    for field in ["\"commit\"", "\"per_second\"", "\"in_flood\"", "\"p99\""] {
        let without = text.replace(field, "\"other\"");
        assert!(Record::parse(&without).is_err(), "{field}");
    }
    assert!(Record::parse("[]").is_err());
}

#[test]
fn ratios_are_of_rates_and_of_cpu_time() {
    let record = example("2026-11-24T18:30Z", "SQLite 3.50");
    let [verify, create] = &record.measurements[..] else {
        panic!("the example has two measurements");
    };
    assert_eq!(verify.rate(), 10_000.0);
    let ratio = verify.ratio().unwrap();
    assert_eq!((ratio.least, ratio.median, ratio.most), (0.45, 0.5, 0.55));
    assert_eq!(verify.ratio_of_cost(), Some(0.5));
    assert_eq!((create.ratio(), create.ratio_of_cost()), (None, None));
}
