//! The ceremonies of passkeys: what a browser sent, and whether it holds.

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::passkey::Origins;

/// A `PublicKeyCredential` of a registration, taken apart but not believed.
#[derive(Debug, Clone)]
pub struct PresentedRegistration {
    /// The challenge that it says it answers, base64url as in `clientDataJSON`.
    pub challenge: String,
    /// The authenticator's credential id.
    pub credential_id: Vec<u8>,
    /// `clientDataJSON`, as it was hashed.
    pub client_data_json: Vec<u8>,
    /// `attestationObject`, CBOR.
    pub attestation_object: Vec<u8>,
    /// `transports`, as far as they have the form of one.
    pub transports: Vec<String>,
}

/// A `PublicKeyCredential` of a sign-in, taken apart but not believed.
#[derive(Debug, Clone)]
pub struct PresentedAssertion {
    /// The challenge that it says it answers, base64url as in `clientDataJSON`.
    pub challenge: String,
    /// The authenticator's credential id.
    pub credential_id: Vec<u8>,
    /// `clientDataJSON`, as it was hashed.
    pub client_data_json: Vec<u8>,
    /// `authenticatorData`.
    pub authenticator_data: Vec<u8>,
    /// The signature over the two.
    pub signature: Vec<u8>,
    /// `userHandle`, when the authenticator named the user.
    pub user_handle: Option<Vec<u8>>,
}

/// What the answer to a ceremony must fit.
#[derive(Debug, Clone)]
pub struct Expected<'a> {
    /// The challenge that was given out, base64url without padding.
    pub challenge: &'a str,
    /// The domain, and where the answer may come from.
    pub origins: &'a Origins,
    /// Whether the authenticator had to check who is using it.
    pub user_verification: bool,
}

/// A registration that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// The public key, as the `COSE_Key` that the authenticator gave.
    pub public_key: Vec<u8>,
    /// The count of signatures; 0 where the authenticator does not count.
    pub sign_count: u32,
    /// Whether the key can leave the authenticator (BE).
    pub backup_eligible: bool,
    /// Whether it has (BS).
    pub backed_up: bool,
}

/// What is stored of the passkey that an assertion names.
#[derive(Debug, Clone, Copy)]
pub struct KnownCredential<'a> {
    /// The public key, as a `COSE_Key`.
    pub public_key: &'a [u8],
    /// Whether the key can leave the authenticator (BE); it must stay what it was.
    pub backup_eligible: bool,
}

/// An assertion that holds. Whether its count may follow the stored one is decided where that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asserted {
    /// The count of signatures; 0 where the authenticator does not count.
    pub sign_count: u32,
    /// Whether the key is backed up (BS).
    pub backed_up: bool,
}

/// The check that failed, for logs; an answer says only that one did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the passkey was refused: {0}")]
pub struct Refused(pub &'static str);

/// Checks ceremonies by WebAuthn Level 3, sections 7.1 and 7.2, in the order given there. Stateless: who asked for which
/// challenge, and which credentials there are, is the caller's to know.
pub trait PasskeyCeremonies: Send + Sync {
    /// COSE algorithms that are offered and taken, the best liked first.
    fn algorithms(&self) -> &'static [i64];

    /// Takes a registration apart: the JSON of `PublicKeyCredential.toJSON()`, as an object or as its text.
    ///
    /// # Errors
    /// A part is missing, too long, or not of its form; names `public_key_credential`.
    fn read_registration(&self, sent: &Value) -> Result<PresentedRegistration, Invalid>;

    /// Takes a sign-in apart, likewise.
    ///
    /// # Errors
    /// As for [`PasskeyCeremonies::read_registration`].
    fn read_assertion(&self, sent: &Value) -> Result<PresentedAssertion, Invalid>;

    /// Checks a registration. Attestation is verified as far as it goes without trusting any maker: `none`, and `packed`
    /// by the credential's own key.
    ///
    /// # Errors
    /// [`Refused`], with the first check that failed.
    fn check_registration(
        &self,
        presented: &PresentedRegistration,
        expected: &Expected<'_>,
    ) -> Result<NewCredential, Refused>;

    /// Checks a sign-in against the passkey it names.
    ///
    /// # Errors
    /// [`Refused`], with the first check that failed.
    fn check_assertion(
        &self,
        presented: &PresentedAssertion,
        expected: &Expected<'_>,
        known: KnownCredential<'_>,
    ) -> Result<Asserted, Refused>;
}
