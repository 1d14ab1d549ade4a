//! A model of account ownership (CL-1 to CL-8), and random histories of a service that must agree with it.
//!
//! Two people, each reading one address and one number, use an App in the usual ways: accounts, further identifiers, authenticator apps,
//! codes. The model predicts the outcome of each step, and the service must match it. At the end of a history, a session must be open
//! exactly if the model says so. Three invariants are asserted of the model at every proof, and thereby of the service:
//!
//! - **I**: a person who proves an identifier from outside is alone in an account that had no owner before;
//! - **II**: nothing in an account that was already owned is removed;
//! - **III**: the user returned by the first step is the one who is signed in.

#![expect(
    clippy::indexing_slicing,
    reason = "accounts are identified by index and never removed"
)]

use std::collections::BTreeMap;

use vestry_ports::port;

use crate::rng::Rng;

/// The result of a successful sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entered {
    /// The user who signed in.
    pub user: String,
    /// The session token.
    pub token: String,
}

/// The operations of a history, at any level of the service. A rejected operation returns `None` or `false` and changes nothing.
#[port]
pub trait Accounts: Send {
    /// Creates a user with these addresses and numbers, none of them proved.
    async fn create(&mut self, identifiers: &[String]) -> Option<String>;
    /// Attaches an identifier to a user on behalf of the App; `vouched` marks it verified.
    async fn attach(&mut self, user: &str, identifier: &str, vouched: bool) -> bool;
    /// Enrols an authenticator app for a user, and returns the data needed to sign in with it.
    async fn enrol(&mut self, user: &str) -> String;
    /// Starts a session with the authenticator app. It is not linked to any identifier.
    async fn enter(&mut self, user: &str, authenticator: &str) -> Option<String>;
    /// The current time in Unix seconds.
    async fn now(&mut self) -> i64;
    /// Sends a code that is valid for ten minutes, as late as the send limits allow. Returns the user whom it will sign in.
    async fn ask(&mut self, identifier: &str) -> String;
    /// Sends a code to a user whom the App knows, within a session or not.
    async fn ask_for(&mut self, identifier: &str, session: Option<&str>) -> Option<String>;
    /// Submits the newest code sent to the identifier, within a session or not.
    async fn prove(&mut self, identifier: &str, session: Option<&str>) -> Option<Entered>;
    /// The user whose session the token opens.
    async fn opens(&mut self, token: &str) -> Option<String>;
    /// The addresses and numbers of a user in alphabetical order, and whether each is verified.
    async fn identifiers(&mut self, user: &str) -> Vec<(String, bool)>;
}

/// The number of histories that a run of the suite plays on the fakes: `VESTRY_TEST_HISTORIES`, which `cargo xtask attacks --claims` sets,
/// or 400.
///
/// # Panics
/// If the variable is not a number.
pub fn histories() -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "controls the length of the test run; not a service setting"
    )]
    let wanted = std::env::var("VESTRY_TEST_HISTORIES").ok();
    wanted.map_or(400, |text| match text.parse() {
        Ok(number) => number,
        Err(error) => panic!("VESTRY_TEST_HISTORIES is not a number: {error}"),
    })
}

/// A person, as an index into the identifiers that they read.
type Person = usize;

#[derive(Debug, Clone, Default)]
struct Account {
    user: String,
    is_owned: bool,
    sessions: Vec<(Person, String)>,
    /// The person whose authenticator app it is, and the data needed to use it.
    totp: Option<(Person, String)>,
}

#[derive(Debug, Clone)]
struct Identifier {
    account: usize,
    verified: bool,
    pending_owner: Option<usize>,
}

#[derive(Debug, Clone)]
struct Code {
    account: usize,
    ends_at: i64,
}

/// The lifetime of a code, in seconds.
const LIFETIME: i64 = 600;

#[derive(Debug, Default)]
struct Model {
    accounts: Vec<Account>,
    held: BTreeMap<String, Identifier>,
    codes: BTreeMap<String, Code>,
    /// Every token ever issued.
    tokens: Vec<String>,
}

/// Runs one history of some steps. The identifiers, an address and a number for each of two people, must be unused.
///
/// # Panics
/// If the service deviates from the model, or the model violates an invariant.
pub async fn history(
    service: &mut dyn Accounts,
    rng: &mut Rng,
    read_by: &[[String; 2]; 2],
    steps: usize,
) {
    let mut model = Model::default();
    for _ in 0..steps {
        model.step(service, rng, read_by).await;
    }
    for token in &model.tokens {
        let of = |account: &&Account| account.sessions.iter().any(|(_, open)| open == token);
        let expected = model.accounts.iter().find(of);
        let expected = expected.map(|account| account.user.clone());
        assert_eq!(
            service.opens(token).await,
            expected,
            "session state differs: {model:#?}"
        );
    }
    for (place, account) in model.accounts.iter().enumerate() {
        let own = model.held.iter().filter(|(_, held)| held.account == place);
        let expected: Vec<_> = own
            .map(|(text, held)| (text.clone(), held.verified))
            .collect();
        let found = service.identifiers(&account.user).await;
        assert_eq!(found, expected, "identifiers: {model:#?}");
    }
}

impl Model {
    async fn step(
        &mut self,
        service: &mut dyn Accounts,
        rng: &mut Rng,
        read_by: &[[String; 2]; 2],
    ) {
        let person = rng.below(2);
        let reader = rng.below(2);
        let anybodys = pick(rng, read_by);
        let identifier = pick(rng, anybodys).clone();
        let own = pick(rng, &read_by[reader]).clone();
        let session = self.some_session(rng);
        match rng.below(12) {
            0 => self.create(service, rng, read_by).await,
            1 | 2 => self.attach(service, rng, &identifier).await,
            3 | 4 => self.enter(service, rng, person).await,
            5 | 6 => self.ask(service, &identifier).await,
            7 => self.ask_for(service, &identifier, session).await,
            8 => self.prove(service, reader, &own, session).await,
            _ => self.prove(service, reader, &own, None).await,
        }
    }

    /// The account and token of a random open session, if there is one.
    fn some_session(&self, rng: &mut Rng) -> Option<(usize, String)> {
        let accounts = self.accounts.iter().enumerate();
        let open: Vec<_> = accounts
            .flat_map(|(place, account)| {
                let tokens = account.sessions.iter();
                tokens.map(move |(_, token)| (place, token.clone()))
            })
            .collect();
        let place = rng.below(open.len() + 1);
        open.into_iter().nth(place)
    }

    fn new_account(&mut self, user: String) -> usize {
        assert!(
            self.accounts.iter().all(|account| account.user != user),
            "the user already existed: {self:#?}"
        );
        self.accounts.push(Account {
            user,
            ..Account::default()
        });
        self.accounts.len() - 1
    }

    fn claim(&mut self, identifier: &str, account: usize, verified: bool) {
        let held = Identifier {
            account,
            verified,
            pending_owner: None,
        };
        self.held.insert(identifier.to_owned(), held);
    }

    async fn create(
        &mut self,
        service: &mut dyn Accounts,
        rng: &mut Rng,
        read_by: &[[String; 2]; 2],
    ) {
        // At most one of each kind.
        let [kinds, address, number] = [rng.below(3), rng.below(2), rng.below(2)];
        let mut wanted = Vec::new();
        if kinds != 1 {
            wanted.push(read_by[address][0].clone());
        }
        if kinds != 0 {
            wanted.push(read_by[number][1].clone());
        }
        let is_free = wanted.iter().all(|text| !self.held.contains_key(text));
        let created = service.create(&wanted).await;
        assert_eq!(created.is_some(), is_free, "create {wanted:?}: {self:#?}");
        if let Some(user) = created {
            let account = self.new_account(user);
            for text in &wanted {
                self.claim(text, account, false);
            }
        }
    }

    async fn attach(&mut self, service: &mut dyn Accounts, rng: &mut Rng, identifier: &str) {
        if self.accounts.is_empty() {
            return;
        }
        let place = rng.below(self.accounts.len());
        let vouched = rng.below(8) == 0;
        let user = self.accounts[place].user.clone();
        let own = self.held.get(identifier).map(|held| held.account == place);
        let attached = service.attach(&user, identifier, vouched).await;
        assert_eq!(attached, own.unwrap_or(true), "attach: {self:#?}");
        if !attached {
            return;
        }
        if own.is_none() {
            self.claim(identifier, place, vouched);
        }
        if vouched {
            let account = &mut self.accounts[place];
            if !account.is_owned {
                account.sessions.clear();
                account.totp = None;
            }
            self.verify(identifier, place);
        }
    }

    fn verify(&mut self, identifier: &str, account: usize) {
        if let Some(held) = self.held.get_mut(identifier) {
            if !held.verified {
                held.pending_owner = None;
            }
            (held.account, held.verified) = (account, true);
        }
        self.accounts[account].is_owned = true;
    }

    /// Enrols the person's own authenticator app in an account that has none, or signs in with it.
    async fn enter(&mut self, service: &mut dyn Accounts, rng: &mut Rng, person: Person) {
        if self.accounts.is_empty() {
            return;
        }
        let place = rng.below(self.accounts.len());
        let user = self.accounts[place].user.clone();
        let Some((owner, needs)) = self.accounts[place].totp.clone() else {
            let needs = service.enrol(&user).await;
            self.accounts[place].totp = Some((person, needs));
            return;
        };
        let token = service.enter(&user, &needs).await;
        let token =
            token.unwrap_or_else(|| panic!("sign-in by authenticator app was rejected: {self:#?}"));
        self.tokens.push(token.clone());
        self.accounts[place].sessions.push((owner, token));
    }

    /// The account that a proof from outside opens.
    fn opened_by(&self, identifier: &str) -> Option<usize> {
        let held = self.held.get(identifier)?;
        if held.verified || !self.accounts[held.account].is_owned {
            return Some(held.account);
        }
        held.pending_owner
            .filter(|place| !self.accounts[*place].is_owned)
    }

    async fn ask(&mut self, service: &mut dyn Accounts, identifier: &str) {
        let answered = service.ask(identifier).await;
        let account = match self.opened_by(identifier) {
            Some(account) => account,
            None => {
                let account = self.new_account(answered.clone());
                match self.held.get_mut(identifier) {
                    Some(held) => held.pending_owner = Some(account),
                    None => self.claim(identifier, account, false),
                }
                account
            }
        };
        assert_eq!(answered, self.accounts[account].user, "ask: {self:#?}");
        self.note_code(service, identifier, account).await;
    }

    async fn note_code(&mut self, service: &mut dyn Accounts, identifier: &str, account: usize) {
        let code = Code {
            account,
            ends_at: service.now().await + LIFETIME,
        };
        self.codes.insert(identifier.to_owned(), code);
    }

    async fn ask_for(
        &mut self,
        service: &mut dyn Accounts,
        identifier: &str,
        session: Option<(usize, String)>,
    ) {
        let token = session.as_ref().map(|(_, token)| token.as_str());
        let answered = service.ask_for(identifier, token).await;
        let expected = self.held.get(identifier).map(|held| held.account);
        let is_within = |account: &usize| session.as_ref().is_some_and(|(of, _)| of == account);
        let may =
            |account: &usize| is_within(account) || self.opened_by(identifier) == Some(*account);
        let expected = expected.filter(may);
        let user = expected.map(|account| self.accounts[account].user.clone());
        assert_eq!(answered, user, "code for a known user: {self:#?}");
        if let Some(account) = expected {
            self.note_code(service, identifier, account).await;
        }
    }

    async fn prove(
        &mut self,
        service: &mut dyn Accounts,
        reader: Person,
        identifier: &str,
        session: Option<(usize, String)>,
    ) {
        if !self.held.contains_key(identifier) {
            return;
        }
        let now = service.now().await;
        self.codes.retain(|_, code| now < code.ends_at);
        let token = session.as_ref().map(|(_, token)| token.as_str());
        let entered = service.prove(identifier, token).await;
        let of = session.as_ref().map(|(account, _)| *account);
        let Some(opened) = self.proved(identifier, of) else {
            assert_eq!(entered, None, "an invalid proof was accepted: {self:#?}");
            return;
        };
        let entered = entered.unwrap_or_else(|| panic!("a valid proof was rejected: {self:#?}"));
        assert_eq!(entered.user, self.accounts[opened].user, "{self:#?}");
        let before: Vec<_> = self.accounts.clone();
        let verified_before = self.verified();
        if of != Some(opened) {
            let code = self.codes.get(identifier).map(|code| code.account);
            assert_eq!(code, Some(opened), "III: {self:#?}");
            if !self.accounts[opened].is_owned {
                self.accounts[opened].sessions.clear();
                self.accounts[opened].totp = None;
            }
        }
        self.verify(identifier, opened);
        self.codes.remove(identifier);
        // The presented session continues under a new token.
        let sessions = &mut self.accounts[opened].sessions;
        sessions.retain(|(_, open)| Some(open.as_str()) != token);
        sessions.push((reader, entered.token.clone()));
        self.tokens.push(entered.token);
        self.keeps_the_promises(reader, opened, of.is_none(), &before, &verified_before);
    }

    /// The account that the newest code of an identifier opens when it is submitted within a session of that account or without one.
    fn proved(&self, identifier: &str, session: Option<usize>) -> Option<usize> {
        let code = self.codes.get(identifier)?;
        let held = self.held.get(identifier)?;
        if session == Some(held.account) {
            return Some(held.account);
        }
        // Another user's session never helps.
        if session.is_some() {
            return None;
        }
        let opens = match (held.verified, code.account == held.account) {
            (true, is_same) => is_same,
            (false, _) => !self.accounts[code.account].is_owned,
        };
        opens.then_some(code.account)
    }

    fn verified(&self) -> Vec<(String, usize)> {
        let verified = self.held.iter().filter(|(_, held)| held.verified);
        verified
            .map(|(text, held)| (text.clone(), held.account))
            .collect()
    }

    fn keeps_the_promises(
        &self,
        reader: Person,
        opened: usize,
        from_outside: bool,
        before: &[Account],
        verified_before: &[(String, usize)],
    ) {
        let account = &self.accounts[opened];
        if from_outside && !before[opened].is_owned {
            let mut sessions = account.sessions.iter();
            let is_alone = sessions.all(|(person, _)| *person == reader);
            assert!(is_alone && account.totp.is_none(), "I: {self:#?}");
        }
        let verified = self.verified();
        let is_kept = |row: &(String, usize)| verified.contains(row);
        assert!(verified_before.iter().all(is_kept), "II: {self:#?}");
        for (was, is) in before.iter().zip(&self.accounts) {
            // The continued session has another token.
            let lost = was.sessions.len() > is.sessions.len();
            assert!(!was.is_owned || !lost && is.is_owned, "II: {self:#?}");
        }
    }
}

fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len())]
}
