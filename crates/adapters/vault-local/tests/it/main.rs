//! The local vault over real files.
#![expect(
    clippy::unwrap_used,
    reason = "a panic in a test helper is the test's failure message"
)]

mod contract;
mod environment;
mod file;
mod sharing;

use std::path::PathBuf;
use std::sync::Arc;

use tempfile::TempDir;
use vestry_contract::fakes::SeededEntropy;
use vestry_ports::entropy::Entropy;
use vestry_vault_local::LocalVault;

fn entropy() -> Arc<dyn Entropy> {
    Arc::new(SeededEntropy::fresh())
}

/// A directory with a new root key file.
struct Keys {
    directory: TempDir,
    path: PathBuf,
}

impl Keys {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("root.key");
        LocalVault::create(&path, entropy().as_ref()).unwrap();
        Self { directory, path }
    }

    fn open(&self) -> LocalVault {
        LocalVault::open(&self.path, entropy()).unwrap()
    }
}
