//! A simulated browser with an authenticator, for passkey ceremonies.
//!
//! It uses 1Password's WebAuthn implementation, which shares no code with the checks under test.

use async_trait::async_trait;
use passkey_authenticator::{
    Authenticator, CredentialStore, DiscoverabilitySupport, StoreInfo, UiHint, UserCheck,
    UserValidationMethod,
};
use passkey_client::{Client, DefaultClientData};
use passkey_crypto::AvailableBackend;
use passkey_types::Passkey;
use passkey_types::ctap2::make_credential::{
    Options, PublicKeyCredentialRpEntity, PublicKeyCredentialUserEntity,
};
use passkey_types::ctap2::{Aaguid, Ctap2Error, StatusCode};
use passkey_types::webauthn::PublicKeyCredentialDescriptor;
use serde_json::Value;
use url::Url;

type Inner = Client<Keys, Person, AvailableBackend, public_suffix::PublicSuffixList, ()>;

/// A browser on one page, with its own authenticator.
pub struct Browser {
    client: Inner,
    origin: Url,
}

/// The passkeys stored in it, all of them discoverable.
#[derive(Default)]
struct Keys(Vec<Passkey>);

/// The person at the authenticator, who passes or fails user verification.
struct Person {
    verifies: bool,
}

impl std::fmt::Debug for Browser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Browser({})", self.origin)
    }
}

impl Browser {
    /// A browser on a page of this origin. Its authenticator verifies the user and keeps no signature counter.
    ///
    /// # Panics
    /// If `origin` is not a valid origin.
    pub fn at(origin: &str) -> Self {
        Self::build(origin, true, false)
    }

    /// Like [`Browser::at`], with an authenticator that does not verify the user.
    ///
    /// # Panics
    /// If `origin` is not a valid origin.
    pub fn without_verification(origin: &str) -> Self {
        Self::build(origin, false, false)
    }

    /// Like [`Browser::at`], with an authenticator that counts its signatures.
    ///
    /// # Panics
    /// If `origin` is not a valid origin.
    pub fn counting(origin: &str) -> Self {
        Self::build(origin, true, true)
    }

    fn build(origin: &str, verifies: bool, counts: bool) -> Self {
        let Ok(origin) = Url::parse(origin) else {
            panic!("{origin} is not a valid origin");
        };
        let (keys, person) = (Keys::default(), Person { verifies });
        let mut authenticator =
            Authenticator::new(Aaguid::new_empty(), keys, person, AvailableBackend);
        authenticator.set_make_credentials_with_signature_counter(counts);
        Self {
            client: Client::new(authenticator)
                .allows_insecure_localhost(true)
                .user_verification_when_preferred(verifies),
            origin,
        }
    }

    /// Navigates to a page of another origin.
    ///
    /// # Panics
    /// If `origin` is not a valid origin.
    pub fn go_to(&mut self, origin: &str) {
        let Ok(origin) = Url::parse(origin) else {
            panic!("{origin} is not a valid origin");
        };
        self.origin = origin;
    }

    /// Returns what `toJSON()` yields for `navigator.credentials.create(options)`.
    ///
    /// # Panics
    /// If the options are rejected.
    pub async fn create(&mut self, options: &Value) -> Value {
        match self.try_create(options).await {
            Ok(credential) => credential,
            Err(refused) => panic!("the browser rejected {options}: {refused}"),
        }
    }

    /// Like [`Browser::create`], but returns the error that the page would see.
    ///
    /// # Errors
    /// If the options are malformed or the authenticator rejects them.
    pub async fn try_create(&mut self, options: &Value) -> Result<Value, String> {
        let options = serde_json::from_value(options.clone()).map_err(|error| error.to_string())?;
        let created = self
            .client
            .register(&self.origin, options, DefaultClientData)
            .await
            .map_err(|error| format!("{error:?}"))?;
        serde_json::to_value(created).map_err(|error| error.to_string())
    }

    /// Returns what `toJSON()` yields for `navigator.credentials.get(options)`.
    ///
    /// # Panics
    /// If the options are rejected or no passkey matches.
    pub async fn get(&mut self, options: &Value) -> Value {
        match self.try_get(options).await {
            Ok(credential) => credential,
            Err(refused) => panic!("the browser rejected {options}: {refused}"),
        }
    }

    /// Like [`Browser::get`], but returns the error that the page would see.
    ///
    /// # Errors
    /// If the options are malformed or no passkey matches.
    pub async fn try_get(&mut self, options: &Value) -> Result<Value, String> {
        let options = serde_json::from_value(options.clone()).map_err(|error| error.to_string())?;
        let answered = self
            .client
            .authenticate(&self.origin, options, DefaultClientData)
            .await
            .map_err(|error| format!("{error:?}"))?;
        serde_json::to_value(answered).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl CredentialStore for Keys {
    type PasskeyItem = Passkey;

    async fn find_credentials(
        &self,
        named: Option<&[PublicKeyCredentialDescriptor]>,
        rp_id: &str,
        _user_handle: Option<&[u8]>,
    ) -> Result<Vec<Passkey>, StatusCode> {
        let named = named.filter(|named| !named.is_empty());
        let fits = |key: &&Passkey| {
            key.rp_id == rp_id
                && named.is_none_or(|named| named.iter().any(|one| one.id == key.credential_id))
        };
        let found: Vec<_> = self.0.iter().filter(fits).cloned().collect();
        if found.is_empty() {
            return Err(Ctap2Error::NoCredentials.into());
        }
        Ok(found)
    }

    async fn save_credential(
        &mut self,
        key: Passkey,
        _user: PublicKeyCredentialUserEntity,
        _rp: PublicKeyCredentialRpEntity,
        _options: Options,
    ) -> Result<(), StatusCode> {
        self.0.push(key);
        Ok(())
    }

    async fn update_credential(&mut self, key: &Passkey) -> Result<(), StatusCode> {
        let mut keys = self.0.iter_mut();
        if let Some(known) = keys.find(|known| known.credential_id == key.credential_id) {
            *known = key.clone();
        }
        Ok(())
    }

    async fn get_info(&self) -> StoreInfo {
        StoreInfo {
            discoverability: DiscoverabilitySupport::ForcedDiscoverable,
        }
    }
}

#[async_trait]
impl UserValidationMethod for Person {
    type PasskeyItem = Passkey;

    async fn check_user<'a>(
        &self,
        _hint: UiHint<'a, Passkey>,
        presence: bool,
        verification: bool,
    ) -> Result<UserCheck, Ctap2Error> {
        Ok(UserCheck {
            presence,
            verification: verification && self.verifies,
        })
    }

    fn is_presence_enabled(&self) -> bool {
        true
    }

    fn is_verification_enabled(&self) -> Option<bool> {
        Some(self.verifies)
    }
}
