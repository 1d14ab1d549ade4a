//! The checkpoint signing key.

use vestry_ports::custody::CheckpointSigner;

use super::*;

impl House {
    /// Creates the deployment's own world, with its key.
    async fn deployment(&mut self) -> World {
        let (world, now) = (World::DEPLOYMENT, self.samples.tick());
        let key = self
            .custody
            .mint_app_key(&world, KeyPurpose::Audit, 1, now)
            .await
            .unwrap();
        self.insert(&[key]).await;
        world
    }
}

/// AUD-8: exactly the signed text verifies.
#[tokio::test]
async fn aud_8_only_the_notarised_text_verifies() {
    let mut house = House::new();
    let world = house.deployment().await;
    let custody = &house.custody;
    let key = custody.notary_key(&world).await.unwrap();
    for text in [&b"a checkpoint\n"[..], b"", &[0xff; 70_000]] {
        let signature = custody.sign_checkpoint(&world, text).await.unwrap();
        assert!(custody.is_notarised(&key, text, &signature));
        for bit in [0, 100, 511] {
            let mut altered = signature.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            assert!(!custody.is_notarised(&key, text, &altered), "bit {bit}");
        }
        let longer = [text, b"."].concat();
        assert!(!custody.is_notarised(&key, &longer, &signature));
        assert!(!custody.is_notarised(&key, text, &signature[..63]));
        assert!(!custody.is_notarised(&[0; 32], text, &signature));
    }
}

/// Every process has the same key, and keeps it under another root key.
#[tokio::test]
async fn the_checkpoint_key_is_stable() {
    let mut house = House::new();
    let world = house.deployment().await;
    let before = house.custody.notary_key(&world).await.unwrap();
    let other = house.another_process();
    assert_eq!(other.notary_key(&world).await.unwrap(), before);
    house.vault.add_root_version().await.unwrap();
    assert_eq!(
        house.another_process().notary_key(&world).await.unwrap(),
        before
    );
}

/// Only the deployment's world has such a key, and none is created for others.
#[tokio::test]
async fn a_world_without_the_key_signs_nothing() {
    let mut house = House::new();
    let world = house.world().await;
    house.deployment().await;
    for custody in [Arc::clone(&house.custody), house.another_process()] {
        let refused = custody.sign_checkpoint(&world, b"text").await;
        assert!(
            matches!(refused, Err(CustodyError::Tampered { .. })),
            "{refused:?}"
        );
    }
}

/// F5: without the root key of wallets nothing is signed.
#[tokio::test]
async fn f5_without_the_root_key_nothing_is_notarised() {
    let mut house = House::new();
    let world = house.deployment().await;
    let fresh = house.another_process();
    house.vault.set_down(true);
    let refused = fresh.sign_checkpoint(&world, b"text").await;
    assert!(
        matches!(refused, Err(CustodyError::Sealed(_))),
        "{refused:?}"
    );
}
