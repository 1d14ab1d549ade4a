//! An in-memory key provider that can fail, be rotated, and count its calls.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use vestry_domain::envelope::{WrappedKey, join_with_lengths};
use vestry_ports::port;
use vestry_ports::vault::{VaultError, VaultStatus};

use super::*;
use crate::aead::Aead;

pub(super) struct TestVault {
    roots: Mutex<BTreeMap<u32, [u8; 32]>>,
    entropy: SeededEntropy,
    is_down: AtomicBool,
    unwraps: AtomicUsize,
}

impl TestVault {
    pub(super) fn new() -> Self {
        let vault = Self {
            roots: Mutex::default(),
            entropy: SeededEntropy::fresh(),
            is_down: AtomicBool::new(false),
            unwraps: AtomicUsize::new(0),
        };
        vault.add();
        vault
    }

    pub(super) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Returns how many keys have been unwrapped.
    pub(super) fn unwraps(&self) -> usize {
        self.unwraps.load(Ordering::SeqCst)
    }

    fn add(&self) -> u32 {
        let mut roots = self.roots.lock().unwrap();
        let version = roots.keys().next_back().unwrap_or(&0) + 1;
        let mut key = [0; 32];
        self.entropy.fill(&mut key);
        roots.insert(version, key);
        version
    }

    fn reach(&self) -> Result<(), VaultError> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(VaultError::Unavailable("switched off".into()));
        }
        Ok(())
    }

    fn root(&self, version: u32) -> Result<Aead, VaultError> {
        let roots = self.roots.lock().unwrap();
        let root = roots
            .get(&version)
            .ok_or(VaultError::UnknownVersion(version))?;
        Ok(Aead::new(root).unwrap())
    }

    fn versions(&self) -> Vec<u32> {
        self.roots.lock().unwrap().keys().copied().collect()
    }
}

fn bound(context: &[u8], version: u32) -> Vec<u8> {
    join_with_lengths([context, &version.to_be_bytes()])
}

#[port]
impl KeyVault for TestVault {
    async fn wrap(&self, context: &[u8], key: &Secret<[u8; 32]>) -> Result<WrappedKey, VaultError> {
        self.reach()?;
        let root_version = *self.versions().last().unwrap();
        let bytes = self
            .root(root_version)?
            .seal(&self.entropy, &bound(context, root_version), key.expose())
            .unwrap();
        Ok(WrappedKey {
            root_version,
            bytes,
        })
    }

    async fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError> {
        self.reach()?;
        self.unwraps.fetch_add(1, Ordering::SeqCst);
        // A real provider is a network call away, during which other tasks run.
        tokio::task::yield_now().await;
        let opened = self
            .root(wrapped.root_version)?
            .open(&bound(context, wrapped.root_version), &wrapped.bytes)
            .map_err(|_refused| VaultError::Corrupt)?;
        Ok(Secret::new(opened.as_slice().try_into().unwrap()))
    }

    async fn status(&self) -> Result<VaultStatus, VaultError> {
        self.reach()?;
        let versions = self.versions();
        Ok(VaultStatus {
            kind: "test",
            primary_version: *versions.last().unwrap(),
            versions,
        })
    }

    async fn add_root_version(&self) -> Result<u32, VaultError> {
        self.reach()?;
        Ok(self.add())
    }

    async fn retire_below(&self, version: u32) -> Result<(), VaultError> {
        self.reach()?;
        self.roots
            .lock()
            .unwrap()
            .retain(|known, _| *known >= version);
        Ok(())
    }
}
