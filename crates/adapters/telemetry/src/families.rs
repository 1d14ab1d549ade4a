//! Families of metrics with labels of closed lists.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The names and values of the labels of a series.
pub(crate) type Labels<const N: usize> = [(&'static str, &'static str); N];

pub(crate) type Counter = counter::Counter;
pub(crate) type Gauge = gauge::Gauge<f64, AtomicU64>;
pub(crate) type Counters<const N: usize> = Family<Labels<N>, Counter>;
pub(crate) type Gauges<const N: usize> = Family<Labels<N>, Gauge>;
pub(crate) type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// Upper bounds of the buckets in seconds.
const BUCKETS: [f64; 14] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// A histogram of durations.
pub(crate) fn durations() -> Histogram {
    Histogram::new(BUCKETS)
}

/// Registers counters, all at zero.
pub(crate) fn counters<const N: usize>(
    registry: &mut Registry,
    (name, help): (&str, &str),
    series: impl IntoIterator<Item = Labels<N>>,
) -> Counters<N> {
    let family = Counters::default();
    for labels in series {
        drop(family.get_or_create(&labels));
    }
    registry.register(name, help, family.clone());
    family
}

/// Registers gauges. A series appears when its value is known.
pub(crate) fn gauges<const N: usize>(
    registry: &mut Registry,
    (name, help): (&str, &str),
) -> Gauges<N> {
    let family = Gauges::default();
    registry.register(name, help, family.clone());
    family
}

/// Registers histograms, all empty.
pub(crate) fn histograms<const N: usize>(
    registry: &mut Registry,
    (name, help): (&str, &str),
    series: impl IntoIterator<Item = Labels<N>>,
) -> Histograms<N> {
    let family = Histograms::new_with_constructor(durations);
    for labels in series {
        drop(family.get_or_create(&labels));
    }
    registry.register(name, help, family.clone());
    family
}
