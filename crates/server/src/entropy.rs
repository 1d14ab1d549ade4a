//! Randomness of the operating system.

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use vestry_ports::entropy::Entropy;

/// The generator of aws-lc, seeded by the operating system.
pub(crate) struct SystemEntropy(SystemRandom);

impl SystemEntropy {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter that draws from the generator"
    )]
    pub(crate) fn new() -> Self {
        Self(SystemRandom::new())
    }
}

impl Entropy for SystemEntropy {
    /// Fills `buffer`. The process aborts if the generator fails: no caller may continue with bytes that are not random.
    fn fill(&self, buffer: &mut [u8]) {
        if self.0.fill(buffer).is_err() {
            tracing::error!("random number generator failed; aborting");
            std::process::abort();
        }
    }
}
