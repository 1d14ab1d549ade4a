//! An in-memory sealer that remembers what it sealed for which place, and counts its calls.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use vestry_domain::Secret;
use vestry_domain::envelope::{Mac, Sealed};

use super::*;

/// World, kind and owner.
type At = (World, SecretKind, String);
/// The sealed bytes, mapped to their place and plaintext.
type Sealings = HashMap<Vec<u8>, (At, Vec<u8>)>;

#[derive(Default)]
pub(super) struct TestSealer {
    kept: Mutex<Sealings>,
    opens: AtomicUsize,
}

impl TestSealer {
    /// Returns how many secrets were opened.
    pub(super) fn opens(&self) -> usize {
        self.opens.load(Ordering::SeqCst)
    }

    /// Returns the plaintext of a sealed secret.
    pub(super) fn plaintext(&self, sealed: &Sealed) -> Vec<u8> {
        self.kept.lock().unwrap()[&sealed.bytes].1.clone()
    }
}

fn at(place: Place<'_>) -> At {
    (place.world, place.kind, place.owner.to_owned())
}

#[port]
impl Sealer for TestSealer {
    async fn seal(&self, place: Place<'_>, plaintext: &[u8]) -> Result<Sealed, CustodyError> {
        let mut kept = self.kept.lock().unwrap();
        let bytes = kept.len().to_be_bytes().to_vec();
        kept.insert(bytes.clone(), (at(place), plaintext.to_vec()));
        Ok(Sealed {
            key_version: 1,
            bytes,
        })
    }

    async fn open(
        &self,
        place: Place<'_>,
        sealed: &Sealed,
    ) -> Result<Secret<Vec<u8>>, CustodyError> {
        self.opens.fetch_add(1, Ordering::SeqCst);
        let kept = self.kept.lock().unwrap();
        match kept.get(&sealed.bytes) {
            Some((known, plaintext)) if *known == at(place) => Ok(Secret::new(plaintext.clone())),
            _ => Err(CustodyError::Tampered { place: "secret" }),
        }
    }

    async fn reseal(&self, _: Place<'_>, _: &Sealed, _: u32) -> Result<Sealed, CustodyError> {
        Err(CustodyError::Failed("tokens are not resealed"))
    }

    async fn mac_under(
        &self,
        _: &World,
        _: SecretKind,
        _: &[&[u8]],
        _: u32,
    ) -> Result<Mac, CustodyError> {
        Err(CustodyError::Failed("tokens need no keyed hash"))
    }

    async fn mac(&self, _: &World, _: SecretKind, _: &[&[u8]]) -> Result<Mac, CustodyError> {
        Err(CustodyError::Failed("tokens need no keyed hash"))
    }

    async fn mac_matches(
        &self,
        _: &World,
        _: SecretKind,
        _: &[&[u8]],
        _: &Mac,
    ) -> Result<bool, CustodyError> {
        Err(CustodyError::Failed("tokens need no keyed hash"))
    }

    async fn decoy(&self, _: &World, _: &[&[u8]]) -> Result<Vec<u8>, CustodyError> {
        Err(CustodyError::Failed("tokens need no decoy"))
    }
}
