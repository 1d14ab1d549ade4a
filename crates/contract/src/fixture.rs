//! What a builder passes to a suite, and how one test of a suite runs.

use std::time::Duration;

/// The time limit of one test: a lock that is never released fails loudly instead of hanging.
const MAX_RUN: Duration = Duration::from_secs(120);

/// What a builder may return: the object under test with a guard for its environment, or nothing if its server is missing, which it then
/// reports.
pub trait Fixture {
    /// The object under test.
    type Port;
    /// The guard that cleans up on drop.
    type Guard;

    /// The object and its guard, if any.
    fn parts(self) -> Option<(Self::Port, Self::Guard)>;
}

impl<P, G> Fixture for (P, G) {
    type Port = P;
    type Guard = G;

    fn parts(self) -> Option<(P, G)> {
        Some(self)
    }
}

impl<P, G> Fixture for Option<(P, G)> {
    type Port = P;
    type Guard = G;

    fn parts(self) -> Option<(P, G)> {
        self
    }
}

/// Builds the object, runs one function of a suite on it, and cleans up even if the function fails.
///
/// # Panics
/// If the function panics, or after two minutes.
pub async fn run<F: Fixture>(build: impl Future<Output = F>, suite: impl AsyncFnOnce(F::Port)) {
    let Some((port, guard)) = build.await.parts() else {
        return;
    };
    let finished = tokio::time::timeout(MAX_RUN, suite(port)).await;
    drop(guard);
    assert!(
        finished.is_ok(),
        "not finished after {MAX_RUN:?}; possible deadlock"
    );
}

/// Generates one test for each named function, in a module for each group. The builder is the name of a function in scope.
#[doc(hidden)]
#[macro_export]
macro_rules! suite_tests {
    ($build:ident; $($($path:ident)::+ { $($name:ident)* })*) => {
        $($crate::suite_tests! { @group $build; [$($path)::+] [$($path)+] { $($name)* } })*
    };
    (@group $build:ident; [$path:path] [$first:ident $second:ident] { $($name:ident)* }) => {
        mod $second {
            use super::*;
            $(
                #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    $crate::fixture::run($build(), $crate::$first::$second::$name).await;
                }
            )*
        }
    };
}
