//! The `Meter` port: metrics of one process, rendered in the OpenMetrics text format.
//!
//! [`Telemetry`] keeps the values and [`Telemetry::render`] writes them. Rendering reads memory and `/proc` only, so a scrape never waits for
//! the database (PR-33). Every label is a closed list, except the route, which is one of the patterns of the router.

mod families;
mod process;
mod telemetry;

pub use process::DroppedLines;
pub use telemetry::{Build, Telemetry};
