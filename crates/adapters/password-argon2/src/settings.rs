//! Parameters of new hashes, and limits on running and waiting ones.

use std::num::NonZeroUsize;

use argon2::Params;

/// The operator's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Memory of one hash in KiB (`m`).
    pub memory_kib: u32,
    /// Passes over it (`t`).
    pub iterations: u32,
    /// Lanes (`p`); they are computed sequentially.
    pub parallelism: u32,
    /// Number of hashes that run at the same time, each on its own thread.
    pub threads: NonZeroUsize,
    /// Maximum number of hashes that wait for a thread; further ones are refused.
    pub waiting: usize,
}

/// Why a hasher cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// Argon2 does not allow the parameters.
    #[error("invalid Argon2 parameters: {0}")]
    Parameters(argon2::Error),
    /// No thread could be started.
    #[error("the hashing threads could not be started")]
    Threads(#[from] std::io::Error),
}

/// 19 MiB, two passes, one lane (P-4: the low-memory choice of OWASP and RFC 9106), and one thread fewer than there are cores.
///
/// One core is kept free of hashing, because a lower priority alone does not keep hashes out of the way. A thread that wakes up still waits
/// for the end of a hash's time slice, and a request wakes several (attack 22; docs/measurements.md).
impl Default for Settings {
    fn default() -> Self {
        Self {
            memory_kib: 19_456,
            iterations: 2,
            parallelism: 1,
            threads: cores_but_one(),
            waiting: 64,
        }
    }
}

fn cores_but_one() -> NonZeroUsize {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new(cores.saturating_sub(1)).unwrap_or(NonZeroUsize::MIN)
}

impl Settings {
    /// Returns the weakest parameters that Argon2 supports, for tests that do not depend on strength. No setting of the service reaches it.
    pub fn weakest() -> Self {
        Self {
            memory_kib: Params::MIN_M_COST,
            iterations: Params::MIN_T_COST,
            waiting: 10_000,
            ..Self::default()
        }
    }

    /// Whether the parameters are at least as strong as the weakest of those that OWASP considers equivalent and P-4 adopts: less memory
    /// requires more passes.
    pub fn is_strong_enough(&self) -> bool {
        [
            (47_104, 1),
            (19_456, 2),
            (12_288, 3),
            (9_216, 4),
            (7_168, 5),
        ]
        .into_iter()
        .any(|(memory_kib, iterations)| {
            self.memory_kib >= memory_kib && self.iterations >= iterations
        })
    }

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        Params::new(self.memory_kib, self.iterations, self.parallelism, None)
            .map(drop)
            .map_err(SettingsError::Parameters)
    }
}
