//! `otps/email/login_or_create` and `otps/email/send`: a fresh code on its way, or nothing at all.

use vestry_domain::api_key::Scope;
use vestry_domain::code::{self, Code, CodePurpose, MethodId, Reserved};
use vestry_domain::email::Email;
use vestry_domain::envelope::SecretKind;
use vestry_domain::ids::UserId;
use vestry_domain::limits::{self, Limit};
use vestry_domain::message::{OutboxJob, otp_mail};
use vestry_domain::metadata::Metadata;
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::{User, UserEmail, UserStatus};
use vestry_domain::{Invalid, Secret, Timestamp, World};
use vestry_ports::store::{Attached, Repositories};

use crate::fault::{may_lose_race, retried};
use crate::letters::Delivery;
use crate::{Caller, Fault, NotAllowed, Service, mint};

/// What the caller of `login_or_create` sent.
#[derive(Clone)]
pub struct LoginOrCreate {
    /// The address.
    pub email: String,
    /// Minutes, 1 to 10; 1 when absent.
    pub expires_in: Option<i64>,
    /// Whether a user created here stays `pending` until the code is verified; the App's setting when absent.
    pub requires_verification: Option<bool>,
    /// The end user's device, if it was sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
}

/// What the caller of `send` sent.
#[derive(Clone)]
pub struct SendCode {
    /// The address; must exist.
    pub email: String,
    /// Minutes, 1 to 10; 1 when absent.
    pub expires_in: Option<i64>,
    /// The end user's device, if it was sent.
    pub device_fingerprint: Option<DeviceFingerprint>,
}

/// A code that is on its way.
#[derive(Debug, Clone)]
pub struct SentCode {
    /// The address.
    pub email: UserEmail,
    /// Its owner's status.
    pub status: UserStatus,
    /// Whether this call created the user.
    pub user_created: bool,
}

/// Why no code was sent.
#[derive(Debug, thiserror::Error)]
pub enum SendCodeError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// A field was refused.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No user has the address (`send` only).
    #[error("no user has this e-mail address")]
    NotFound,
    /// Too many codes were sent to this address, from this device or by this App.
    #[error("too many codes were sent")]
    TooMany {
        /// When sending is possible again.
        retry_after: Seconds,
    },
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

may_lose_race!(SendCodeError);

/// A request whose values were checked.
struct Request {
    email: Email,
    lifetime: Seconds,
    fingerprint: Option<DeviceFingerprint>,
    reserved: Option<Reserved>,
    /// Status of a user created by this call; `None` when it must exist.
    create: Option<UserStatus>,
}

/// Everything that one try at the transaction writes.
struct Draft {
    owner: Owner,
    code: Code,
    job: OutboxJob,
}

enum Owner {
    Existing {
        email: UserEmail,
        status: UserStatus,
    },
    New {
        user: Box<User>,
        email: UserEmail,
    },
}

impl Owner {
    const fn email(&self) -> &UserEmail {
        match self {
            Self::Existing { email, .. } | Self::New { email, .. } => email,
        }
    }
}

enum Stored {
    Sent,
    /// The address was attached by somebody else since we looked; look again.
    TakenMeanwhile,
}

impl Service {
    /// Sends a sign-in code to an address and creates its user when there is none.
    ///
    /// # Errors
    /// [`SendCodeError`]; nothing is created then.
    pub async fn login_or_create_by_email(
        &self,
        caller: &Caller,
        command: LoginOrCreate,
    ) -> Result<SentCode, SendCodeError> {
        caller.require(Scope::AuthWrite)?;
        let requires_verification = command
            .requires_verification
            .unwrap_or(caller.settings().login_requires_verification);
        let mut request = check(
            caller,
            &command.email,
            command.expires_in,
            command.device_fingerprint,
        )?;
        request.create = Some(UserStatus::initial(requires_verification));
        self.send_code(caller, request).await
    }

    /// Sends a sign-in code to an address that a user has.
    ///
    /// # Errors
    /// [`SendCodeError`].
    pub async fn send_code_by_email(
        &self,
        caller: &Caller,
        command: SendCode,
    ) -> Result<SentCode, SendCodeError> {
        caller.require(Scope::AuthWrite)?;
        let request = check(
            caller,
            &command.email,
            command.expires_in,
            command.device_fingerprint,
        )?;
        self.send_code(caller, request).await
    }

    async fn send_code(
        &self,
        caller: &Caller,
        request: Request,
    ) -> Result<SentCode, SendCodeError> {
        if !caller.is_test() && !self.has_mailer() {
            return Err(Fault::NoTransport("mail").into());
        }
        loop {
            if let Some(sent) = retried(|| self.try_to_send(caller, &request)).await? {
                self.outbox_bell.notify_one();
                return Ok(sent);
            }
        }
    }

    /// `None`: the address was attached by somebody else since we looked; look again.
    async fn try_to_send(
        &self,
        caller: &Caller,
        request: &Request,
    ) -> Result<Option<SentCode>, SendCodeError> {
        // Everything that needs a key is made before the transaction, and made anew for every try.
        let now = self.now(&caller.world);
        let Some(owner) = self.find_owner(caller, request, now).await? else {
            self.spend_on_nobody(caller, request, now).await?;
            return Err(SendCodeError::NotFound);
        };
        let draft = self.draft(caller, request, owner, now).await?;
        match self.store_code(caller, request, &draft, now).await? {
            Stored::Sent => Ok(Some(draft.owner.into())),
            Stored::TakenMeanwhile => Ok(None),
        }
    }

    /// The owner of the address, or the user to be created for it; `None` when it must exist and does not.
    async fn find_owner(
        &self,
        caller: &Caller,
        request: &Request,
        now: Timestamp,
    ) -> Result<Option<Owner>, SendCodeError> {
        let mut read = self.ports.store.read().await.map_err(Fault::from)?;
        let found = read
            .users()
            .email_by_identity(&caller.world, request.email.identity())
            .await
            .map_err(Fault::from)?;
        drop(read);
        if let Some((email, user)) = found {
            return Ok(Some(Owner::Existing {
                email,
                status: user.status,
            }));
        }
        let Some(status) = request.create else {
            return Ok(None);
        };
        let id: UserId = self.new_id(now);
        let user = User {
            id,
            world: caller.world,
            first_name: String::new(),
            middle_name: String::new(),
            last_name: String::new(),
            status,
            metadata: Metadata::default(),
            created_at: now,
            updated_at: now,
        };
        let email = self.new_email(id, request.email.clone(), now);
        Ok(Some(Owner::New {
            user: Box::new(user),
            email,
        }))
    }

    /// An unknown address meets the same limits as a known one, or their lack would tell the two apart (OTP-10).
    async fn spend_on_nobody(
        &self,
        caller: &Caller,
        request: &Request,
        now: Timestamp,
    ) -> Result<(), SendCodeError> {
        if request.reserved.is_some() {
            return Ok(());
        }
        let mut tx = self.ports.store.begin().await.map_err(Fault::from)?;
        spend(&mut *tx, &caller.world, request, now).await?;
        Ok(tx.commit().await.map_err(Fault::from)?)
    }

    async fn draft(
        &self,
        caller: &Caller,
        request: &Request,
        owner: Owner,
        now: Timestamp,
    ) -> Result<Draft, Fault> {
        let digits = match request.reserved {
            Some(Reserved::Ok) => Secret::new(Reserved::OK_CODE.to_owned()),
            _ => mint::code(&*self.ports.entropy),
        };
        let email = owner.email();
        let method_id = MethodId::Email(email.id);
        // Nobody can type this in: the code of `wrong@vestry.test` is never right.
        let unguessable = mint::session_token(&*self.ports.entropy);
        let accepted = if request.reserved == Some(Reserved::Wrong) {
            &unguessable
        } else {
            &digits
        };
        let method = method_id.to_string();
        let parts = code::bound_parts(CodePurpose::SignIn, &method, accepted.expose());
        let mac = self
            .ports
            .sealer
            .mac(&caller.world, SecretKind::Code, &parts)
            .await?;
        let dead_at_once = request.reserved == Some(Reserved::Expired);
        let code = Code {
            world: caller.world,
            method_id,
            purpose: CodePurpose::SignIn,
            user_id: email.user_id,
            mac,
            fingerprint: request.fingerprint.clone(),
            created_at: now,
            expires_at: if dead_at_once {
                now
            } else {
                now + request.lifetime
            },
        };
        // Mail goes to the address as its owner wrote it, never to what this caller typed (attack 5).
        let mail = Secret::new(otp_mail(
            &caller.app.name,
            email.email.address(),
            digits.expose(),
            request.lifetime,
        ));
        let delay = if request.reserved == Some(Reserved::Slow) {
            Seconds(5)
        } else {
            Seconds(0)
        };
        let delivery = Delivery {
            delay,
            lifetime: request.lifetime,
        };
        let job = self.letter(&caller.world, &mail, delivery).await?;
        Ok(Draft { owner, code, job })
    }

    async fn store_code(
        &self,
        caller: &Caller,
        request: &Request,
        draft: &Draft,
        now: Timestamp,
    ) -> Result<Stored, SendCodeError> {
        let world = &caller.world;
        let mut tx = self.ports.store.begin().await.map_err(Fault::from)?;
        if request.reserved.is_none() {
            spend(&mut *tx, world, request, now).await?;
        }
        if let Owner::New { user, email } = &draft.owner {
            tx.users().insert(user).await.map_err(Fault::from)?;
            if tx
                .users()
                .attach_email(world, email)
                .await
                .map_err(Fault::from)?
                == Attached::Taken
            {
                return Ok(Stored::TakenMeanwhile);
            }
        }
        tx.codes().replace(&draft.code).await.map_err(Fault::from)?;
        tx.outbox().push(&draft.job).await.map_err(Fault::from)?;
        tx.commit().await.map_err(Fault::from)?;
        Ok(Stored::Sent)
    }
}

impl From<Owner> for SentCode {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Existing { email, status } => Self {
                email,
                status,
                user_created: false,
            },
            Owner::New { user, email } => Self {
                email,
                status: user.status,
                user_created: true,
            },
        }
    }
}

fn check(
    caller: &Caller,
    email: &str,
    expires_in: Option<i64>,
    fingerprint: Option<DeviceFingerprint>,
) -> Result<Request, Invalid> {
    let email = Email::parse(email)?;
    let (least, most) = code::EXPIRES_IN_MINUTES;
    let lifetime = match expires_in {
        Some(minutes) => limits::minutes("expires_in", minutes, least, most)?,
        None => code::DEFAULT_EXPIRES_IN,
    };
    let reserved = if caller.is_test() {
        Reserved::of_email(email.identity())
    } else {
        None
    };
    Ok(Request {
        email,
        lifetime,
        fingerprint,
        reserved,
        create: None,
    })
}

/// The send budgets (OTP-10): the same for known and unknown addresses, because they are counted by what was typed.
///
/// The App's budget is split into sixteen counters by address, so that sends to different addresses rarely wait
/// for one another's commit; the sum is what the limit says.
async fn spend(
    tx: &mut dyn Repositories,
    world: &World,
    request: &Request,
    now: Timestamp,
) -> Result<(), SendCodeError> {
    const SHARDS: u8 = 16;
    let identity = request.email.identity().as_str();
    let shard = TokenHash::of(identity)
        .0
        .first()
        .map_or(0, |byte| byte % SHARDS)
        .to_string();
    let per_shard = Limit {
        most: limits::codes::SENDS_PER_APP.most / u32::from(SHARDS),
        ..limits::codes::SENDS_PER_APP
    };
    let ip = request
        .fingerprint
        .as_ref()
        .map(|device| device.ip.as_str())
        .filter(|ip| !ip.is_empty());
    let mut budgets = vec![
        (
            "otp_send_identifier",
            identity,
            limits::codes::SENDS_PER_IDENTIFIER,
        ),
        (
            "otp_send_identifier_day",
            identity,
            limits::codes::SENDS_PER_IDENTIFIER_AND_DAY,
        ),
    ];
    budgets.extend(ip.map(|ip| ("otp_send_ip", ip, limits::codes::SENDS_PER_IP)));
    budgets.push(("otp_send_app", &shard, per_shard));
    for (name, subject, limit) in budgets {
        let verdict = tx
            .budgets()
            .spend(world, name, subject, limit, now)
            .await
            .map_err(Fault::from)?;
        if !verdict.admitted {
            return Err(SendCodeError::TooMany {
                retry_after: verdict.reset - now,
            });
        }
    }
    Ok(())
}
