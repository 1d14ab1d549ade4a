//! Root keys given as a value.

use vestry_domain::Secret;
use vestry_ports::vault::{KeyVault, VaultError};
use vestry_vault_local::{DocumentError, LocalVault};

use crate::{Keys, entropy};

/// 32 times the byte 1, in base64.
const ONES: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

fn vault(value: &str) -> Result<LocalVault, DocumentError> {
    LocalVault::from_value(&Secret::new(value.to_owned()), entropy())
}

#[tokio::test]
async fn a_single_key_is_version_one() {
    let vault = vault(&format!(" {ONES}\n")).unwrap();
    let status = vault.status().await.unwrap();
    assert_eq!(
        (status.kind, status.primary_version, status.versions),
        ("env", 1, vec![1])
    );
    let wrapped = vault.wrap(b"c", &Secret::new([7; 32])).await.unwrap();
    let opened = vault.unwrap(b"c", &wrapped).await.unwrap();
    assert_eq!(opened.expose(), &[7; 32]);
}

/// Migration from a file to a secret manager.
#[tokio::test]
async fn the_text_of_a_key_file_unwraps_its_keys() {
    let keys = Keys::new();
    let file = keys.open();
    let old = file.wrap(b"c", &Secret::new([7; 32])).await.unwrap();
    file.add_root_version().await.unwrap();
    let new = file.wrap(b"c", &Secret::new([8; 32])).await.unwrap();

    let vault = vault(&std::fs::read_to_string(&keys.path).unwrap()).unwrap();
    assert_eq!(vault.status().await.unwrap().versions, [1, 2]);
    assert_eq!(vault.unwrap(b"c", &old).await.unwrap().expose(), &[7; 32]);
    assert_eq!(vault.unwrap(b"c", &new).await.unwrap().expose(), &[8; 32]);
}

#[tokio::test]
async fn a_value_cannot_be_rotated() {
    let vault = vault(ONES).unwrap();
    assert!(matches!(
        vault.add_root_version().await,
        Err(VaultError::Unavailable(_))
    ));
    assert!(matches!(
        vault.retire_below(1).await,
        Err(VaultError::Unavailable(_))
    ));
    assert_eq!(vault.status().await.unwrap().versions, [1]);
}

#[test]
fn an_invalid_value_is_refused_without_being_shown() {
    for value in ["", "change-me", &ONES[..40], "{\"format\": 1}"] {
        let error = vault(value).err().unwrap();
        let shown = format!("{error} {error:?}");
        assert!(value.is_empty() || !shown.contains(value), "{shown}");
    }
}
