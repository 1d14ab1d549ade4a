//! What every rate limiter promises.
//!
//! [`hits`] is for all of them. [`clock`] is for those that follow the time they are given; one that counts on the clock of
//! a shared server does not, and proves the same by its own means.

pub mod clock;
pub mod hits;

/// Runs the suite of the rate limiter as tests of their own. The builder is the name of an async function in scope that
/// answers `(Arc<dyn RateLimiter>, Guard)`, or an `Option` of it.
#[macro_export]
macro_rules! limiter_suite {
    ($build:ident) => {
        $crate::suite_tests! { $build;
            limiter::hits {
                a_window_admits_exactly_its_limit
                nothing_remains_of_a_full_window
                a_new_window_opens_in_the_end
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

/// Runs the part of the suite that moves the time, for a limiter that follows the time it is given.
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
