//! `users/create`: creates a user with identifiers and default wallet, all or nothing.

use serde_json::{Map, Value};
use vestry_domain::action::Action;
use vestry_domain::audit::AuditAction;
use vestry_domain::email::Email;
use vestry_domain::envelope::WalletKey;
use vestry_domain::event::{Fact, Via};
use vestry_domain::ids::UserId;
use vestry_domain::metadata::Metadata;
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{User, UserEmail, UserPhone, UserProfile, UserStatus};
use vestry_domain::wallet::{AddressForm, StoredWallet, WalletType};
use vestry_domain::{Invalid, Timestamp, text};
use vestry_ports::store::{Attached, Created};

use super::app_asserted::AppAsserted;
use super::get::FullUser;
use super::new_identifier::{new_email, new_phone};
use crate::kernel::fault::retried;
use crate::kernel::key_pins::hold_wallet_key;
use crate::wallets::new_wallet;
use crate::{Caller, Fault, Refusal, Service};

/// The parameters of the call.
#[derive(Clone, Default)]
pub struct CreateUser {
    /// Address; required when there is no number.
    pub email: Option<String>,
    /// Number, E.164; required when there is no address.
    pub phone_number: Option<String>,
    /// Whether the App vouches for the address (CL-6).
    pub email_verified: bool,
    /// Whether the App vouches for the number (CL-6).
    pub phone_number_verified: bool,
    /// Names; absent and `""` are the same.
    pub first_name: Option<String>,
    /// See [`CreateUser::first_name`].
    pub middle_name: Option<String>,
    /// See [`CreateUser::first_name`].
    pub last_name: Option<String>,
    /// Whether the user stays `pending` until an identifier is verified; the App's setting when absent.
    pub requires_verification: Option<bool>,
    /// Type of the default wallet; absent and `""` mean `ethereum`.
    pub wallet_type: Option<String>,
    /// Free-form data.
    pub metadata: Option<Map<String, Value>>,
}

/// A user that was created.
#[derive(Debug, Clone)]
pub struct CreatedUser {
    /// With identifiers and the wallet.
    pub user: FullUser,
}

/// Everything that goes into the database.
struct NewUser {
    profile: UserProfile,
    wallet: StoredWallet,
    wallet_key: WalletKey,
}

impl Service {
    /// Creates a user with an address, a number or both, and a default wallet.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is stored then.
    pub async fn create_user(
        &self,
        caller: &Caller,
        command: CreateUser,
    ) -> Result<CreatedUser, Refusal> {
        caller.authorize(Action::CreateUser)?;
        let now = self.now(&caller.world);
        let wallet_type = parse_wallet_type(command.wallet_type.as_deref())?;
        caller.uses_wallet_type(wallet_type)?;
        let profile = self.new_profile(caller, command, now)?;
        // Generating a key takes some work and the vault; both happen before the transaction.
        let (world, user, form) = (&caller.world, profile.user.id, AddressForm::Usual);
        let made = new_wallet(&self.ports, world, user, wallet_type, form, now);
        let (wallet, wallet_key) = made.await?;
        let new = NewUser {
            profile,
            wallet,
            wallet_key,
        };
        self.note_use(caller, new.wallet.wallet.id, AuditAction::Create)
            .await?;
        self.journal_wallet(&new.wallet, &new.wallet_key).await?;
        retried(|| self.store_user(caller, &new)).await?;
        let NewUser {
            profile, wallet, ..
        } = new;
        // The wallet is returned as created, without rereading it: it cannot have been edited, and nothing may fail from here on.
        Ok(CreatedUser {
            user: FullUser {
                provider_links: Vec::new(),
                external_key: None,
                profile,
                wallets: vec![wallet.wallet],
                totps: Vec::new(),
                passkeys: Vec::new(),
            },
        })
    }

    fn new_profile(
        &self,
        caller: &Caller,
        command: CreateUser,
        now: Timestamp,
    ) -> Result<UserProfile, Invalid> {
        let email = command.email.as_deref().map(Email::parse).transpose()?;
        let phone = command
            .phone_number
            .as_deref()
            .map(PhoneNumber::parse)
            .transpose()?;
        if email.is_none() && phone.is_none() {
            return Err(Invalid::missing("email").or_phone());
        }
        let (email_verified, phone_verified) =
            (command.email_verified, command.phone_number_verified);
        vouched_for(email.is_some(), email_verified, "email_verified")?;
        vouched_for(phone.is_some(), phone_verified, "phone_number_verified")?;
        let is_owned = email_verified || phone_verified;
        let requires_verification = command
            .requires_verification
            .unwrap_or(caller.settings().create_requires_verification);
        let id: UserId = self.new_id(now);
        let status = UserStatus::initial(requires_verification && !is_owned);
        let user = User {
            first_name: text::name("first_name", &command.first_name.unwrap_or_default())?,
            middle_name: text::name("middle_name", &command.middle_name.unwrap_or_default())?,
            last_name: text::name("last_name", &command.last_name.unwrap_or_default())?,
            metadata: Metadata::new(command.metadata.unwrap_or_default())?,
            is_owned,
            ..User::new(id, caller.world, status, now)
        };
        let emails = email
            .map(|email| UserEmail {
                verified: email_verified,
                of_owned: is_owned,
                ..new_email(self.new_id(now), id, email, now)
            })
            .into_iter()
            .collect();
        let phones = phone
            .map(|number| UserPhone {
                verified: phone_verified,
                of_owned: is_owned,
                ..new_phone(self.new_id(now), id, number, now)
            })
            .into_iter()
            .collect();
        Ok(UserProfile {
            user,
            emails,
            phones,
        })
    }

    async fn store_user(&self, caller: &Caller, new: &NewUser) -> Result<(), Refusal> {
        caller.may_create_user()?;
        let world = &new.profile.user.world;
        let vouched = AppAsserted::of(&new.profile);
        let mut tx = self.begin_change_if(vouched.is_some(), *world).await?;
        tx.users().insert(&new.profile.user).await?;
        for email in &new.profile.emails {
            match tx.identifiers().attach_email(world, email).await? {
                Attached::Yes => {}
                Attached::Taken => return Err(Refusal::Taken("email".into())),
                Attached::Full => return Err(Refusal::too_many_emails(Some("email".into()))),
            }
        }
        for phone in &new.profile.phones {
            let param = "phone_number".into();
            match tx.identifiers().attach_phone(world, phone).await? {
                Attached::Yes => {}
                Attached::Taken => return Err(Refusal::Taken(param)),
                Attached::Full => return Err(Refusal::too_many_phone_numbers(Some(param))),
            }
        }
        hold_wallet_key(&mut *tx, world, new.wallet_key.key_version).await?;
        match tx.wallets().insert(&new.wallet, &new.wallet_key).await? {
            Created::Yes => {}
            // A new user has no wallet, and a new key is unique.
            Created::Exists => return Err(Fault::Internal("a fresh wallet collided".into()).into()),
        }
        self.emit(&mut *tx, caller, new.facts()).await?;
        if let Some(vouched) = vouched {
            tx.note(self.vouched(&caller.into(), vouched));
        }
        tx.commit_last(&caller.principal).await?;
        Ok(())
    }
}

impl NewUser {
    fn facts(&self) -> Vec<Fact> {
        let (profile, wallet) = (&self.profile, &self.wallet.wallet);
        let user = profile.user.id;
        let mut facts = vec![Fact::user_created(user, Via::Create)];
        for email in &profile.emails {
            facts.push(Fact::email_added(user, email.id));
            facts.extend(email.verified.then(|| Fact::email_verified(user, email.id)));
        }
        for phone in &profile.phones {
            let verified = || Fact::phone_number_verified(user, phone.id);
            facts.push(Fact::phone_number_added(user, phone.id));
            facts.extend(phone.verified.then(verified));
        }
        facts.push(Fact::wallet_created(user, wallet.id, wallet.wallet_type));
        facts
    }
}

/// Refuses to vouch for an absent identifier.
fn vouched_for(is_there: bool, verified: bool, param: &'static str) -> Result<(), Invalid> {
    if verified && !is_there {
        let field = param.trim_end_matches("_verified");
        return Err(Invalid::value(param, format!("{param} needs {field}")));
    }
    Ok(())
}

/// `""` and absent mean `ethereum` (API-8).
fn parse_wallet_type(text: Option<&str>) -> Result<WalletType, Invalid> {
    match text {
        None | Some("") => Ok(WalletType::Ethereum),
        Some(text) => text.parse(),
    }
}

/// Widens a refusal to both fields, of which one is required.
trait OrPhone {
    fn or_phone(self) -> Self;
}

impl OrPhone for Invalid {
    fn or_phone(mut self) -> Self {
        self.message = "email or phone_number is required".into();
        self
    }
}
