//! Authenticator data (section 6.1), which the authenticator signs.

use aws_lc_rs::digest::{SHA256, digest};
use subtle::ConstantTimeEq;
use vestry_ports::passkeys::{Expected, Refused};

use crate::cbor;

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// Authenticator data, parsed to the last byte.
pub(crate) struct AuthenticatorData<'a> {
    rp_id_hash: &'a [u8; 32],
    flags: u8,
    pub(crate) sign_count: u32,
    /// Only present in a registration.
    pub(crate) credential: Option<AttestedCredential<'a>>,
}

/// Attested credential data (section 6.5.1).
pub(crate) struct AttestedCredential<'a> {
    pub(crate) credential_id: &'a [u8],
    /// The `COSE_Key`, as sent.
    pub(crate) public_key: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (rp_id_hash, rest) = bytes.split_first_chunk::<32>()?;
        let (&[flags], rest) = rest.split_first_chunk::<1>()?;
        let (sign_count, mut rest) = rest.split_first_chunk::<4>()?;
        let mut credential = None;
        if flags & HAS_CREDENTIAL != 0 {
            let (attested, after) = AttestedCredential::parse(rest)?;
            credential = Some(attested);
            rest = after;
        }
        if flags & HAS_EXTENSIONS != 0 {
            let (extensions, after) = cbor::first(rest)?;
            // No extensions were requested; unsolicited ones are ignored (step 21 of section 7.1).
            extensions.map()?;
            rest = after;
        }
        rest.is_empty().then_some(Self {
            rp_id_hash,
            flags,
            sign_count: u32::from_be_bytes(*sign_count),
            credential,
        })
    }

    const fn says(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether the key can leave the authenticator.
    pub(crate) const fn is_backup_eligible(&self) -> bool {
        self.says(BACKUP_ELIGIBLE)
    }

    /// Whether the key is backed up.
    pub(crate) const fn is_backed_up(&self) -> bool {
        self.says(BACKED_UP)
    }

    /// Steps 14 to 17 of section 7.1, which are steps 15 to 18 of section 7.2.
    pub(crate) fn check(&self, expected: &Expected<'_>) -> Result<(), Refused> {
        let rp_id = digest(&SHA256, expected.origins.domain.as_str().as_bytes());
        if !bool::from(rp_id.as_ref().ct_eq(self.rp_id_hash)) {
            return Err(Refused("rpIdHash"));
        }
        if !self.says(USER_PRESENT) {
            return Err(Refused("user presence"));
        }
        if expected.user_verification && !self.says(USER_VERIFIED) {
            return Err(Refused("user verification"));
        }
        if self.is_backed_up() && !self.is_backup_eligible() {
            return Err(Refused("backup state"));
        }
        Ok(())
    }
}

impl<'a> AttestedCredential<'a> {
    fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        // The model of the authenticator. Without trusted attestation it is unverified, so it is not used.
        let (_aaguid, rest) = bytes.split_first_chunk::<16>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (credential_id, rest) = rest.split_at_checked(length)?;
        let (_key, after) = cbor::first(rest)?;
        let public_key = rest.get(..rest.len() - after.len())?;
        let attested = Self {
            credential_id,
            public_key,
        };
        Some((attested, after))
    }
}
