//! Passkey ceremonies: parsing and verifying browser responses.

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::passkey::Origins;

/// A parsed but unverified `PublicKeyCredential` of a registration.
#[derive(Debug, Clone)]
pub struct PresentedRegistration {
    /// The challenge that it claims to respond to, base64url as in `clientDataJSON`.
    pub challenge: String,
    /// The authenticator's credential id.
    pub credential_id: Vec<u8>,
    /// `clientDataJSON`, as hashed.
    pub client_data_json: Vec<u8>,
    /// `attestationObject`, CBOR.
    pub attestation_object: Vec<u8>,
    /// The well-formed entries of `transports`.
    pub transports: Vec<String>,
}

/// A parsed but unverified `PublicKeyCredential` of a sign-in.
#[derive(Debug, Clone)]
pub struct PresentedAssertion {
    /// The challenge that it claims to respond to, base64url as in `clientDataJSON`.
    pub challenge: String,
    /// The authenticator's credential id.
    pub credential_id: Vec<u8>,
    /// `clientDataJSON`, as hashed.
    pub client_data_json: Vec<u8>,
    /// `authenticatorData`.
    pub authenticator_data: Vec<u8>,
    /// The signature over both.
    pub signature: Vec<u8>,
    /// `userHandle`, if the authenticator named the user.
    pub user_handle: Option<Vec<u8>>,
}

/// The expected properties of a response.
#[derive(Debug, Clone)]
pub struct Expected<'a> {
    /// The issued challenge, base64url without padding.
    pub challenge: &'a str,
    /// The domain and the allowed origins.
    pub origins: &'a Origins,
    /// Whether the authenticator must have verified the user.
    pub user_verification: bool,
}

/// A verified registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// The public key, as the authenticator's `COSE_Key`.
    pub public_key: Vec<u8>,
    /// The signature counter; 0 if the authenticator does not count.
    pub sign_count: u32,
    /// Whether the key can be backed up (BE).
    pub backup_eligible: bool,
    /// Whether it is backed up (BS).
    pub backed_up: bool,
}

/// The stored data of the passkey that an assertion names.
#[derive(Debug, Clone, Copy)]
pub struct KnownCredential<'a> {
    /// The public key, as a `COSE_Key`.
    pub public_key: &'a [u8],
    /// Whether the key can be backed up (BE); must not change.
    pub backup_eligible: bool,
}

/// A verified assertion. Whether its counter can follow the stored one is checked when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asserted {
    /// The signature counter; 0 if the authenticator does not count.
    pub sign_count: u32,
    /// Whether the key is backed up (BS).
    pub backed_up: bool,
}

/// The failed check, for logs; responses only say that one failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("passkey verification failed: {0}")]
pub struct Refused(pub &'static str);

/// Verifies ceremonies by WebAuthn Level 3, sections 7.1 and 7.2, in the order given there. Stateless: the caller keeps track of issued
/// challenges and existing credentials.
pub trait PasskeyCeremonies: Send + Sync {
    /// The supported COSE algorithms, in order of preference.
    fn algorithms(&self) -> &'static [i64];

    /// Parses a registration: the JSON of `PublicKeyCredential.toJSON()`, as an object or as its text.
    ///
    /// # Errors
    /// If a part is missing, too long, or malformed; names `public_key_credential`.
    fn read_registration(&self, sent: &Value) -> Result<PresentedRegistration, Invalid>;

    /// Parses a sign-in, in the same form.
    ///
    /// # Errors
    /// As for [`PasskeyCeremonies::read_registration`].
    fn read_assertion(&self, sent: &Value) -> Result<PresentedAssertion, Invalid>;

    /// Verifies a registration. Attestation is verified as far as possible without trusting any manufacturer: `none`, and `packed` by the
    /// credential's own key.
    ///
    /// # Errors
    /// [`Refused`] with the first failed check.
    fn check_registration(
        &self,
        presented: &PresentedRegistration,
        expected: &Expected<'_>,
    ) -> Result<NewCredential, Refused>;

    /// Verifies a sign-in against the passkey it names.
    ///
    /// # Errors
    /// [`Refused`] with the first failed check.
    fn check_assertion(
        &self,
        presented: &PresentedAssertion,
        expected: &Expected<'_>,
        known: KnownCredential<'_>,
    ) -> Result<Asserted, Refused>;
}
