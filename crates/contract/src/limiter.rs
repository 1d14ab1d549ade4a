//! The contract of every rate limiter.
//!
//! [`hits`] applies to all of them. [`clock`] applies to those that follow the time passed to them. A limiter that counts on the clock of a
//! shared server tests the same in its own way.

pub mod clock;
pub mod hits;

/// Runs the rate limiter suite, with each function as a test of its own.
///
/// The builder is the name of an async function in scope that returns `(Arc<dyn RateLimiter>, Guard)`, or an `Option` of it.
#[macro_export]
macro_rules! limiter_suite {
    ($build:ident) => {
        $crate::suite_tests! { $build;
            limiter::hits {
                a_window_admits_exactly_its_limit
                a_full_window_has_nothing_remaining
                a_full_window_reopens
                worlds_are_counted_apart
                a_limit_that_is_off_admits_everything
                a_limit_that_is_off_counts_nothing
                a_limit_may_change_within_a_window
                parallel_hits_are_exact
                parallel_hits_of_two_worlds_are_exact
            }
        }
    };
}

/// Runs the tests that move the time, for a limiter that follows the time passed to it.
#[macro_export]
macro_rules! limiter_clock_suite {
    ($build:ident) => {
        $crate::suite_tests! { $build;
            limiter::clock {
                the_reset_is_fixed_in_the_window
                a_new_window_opens_at_the_reset
                windows_of_two_worlds_open_apart
            }
        }
    };
}
