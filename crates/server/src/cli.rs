//! The command line.

mod earlier;

use std::convert::Infallible;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use url::Url;
use vestry_domain::api_key::Scope;
use vestry_domain::audit::checkpoint::VerifierKey;
use vestry_domain::event::EventKind;
use vestry_domain::ids::{
    ApiKeyId, AppId, EventId, RedirectUrlId, SigningKeyId, UserId, WebhookDeliveryId,
    WebhookEndpointId,
};
use vestry_domain::provider::{ProviderName, TokenEndpointAuth};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::webhook::DeliveryState;
use vestry_domain::{Environment, Secret, Timestamp, rfc3339};

use crate::config::BaseUrl;
use crate::output::Format;

/// Sign-in, user records and managed wallets, as one service that you host.
#[derive(Debug, Parser)]
#[command(
    name = "vestry",
    version,
    arg_required_else_help = true,
    after_help = "\
New here? Run `vestry dev`: it needs nothing else, prints a key and a call that
works, and captures all mail.

A first deployment:
  vestry migrate                          make the tables
  vestry vault init                       make the root keys
  vestry check                            is everything in place?
  vestry app create Shop                  make an App
  vestry key create app_… live            make a key for its backend; shown once
  vestry serve                            start the service

Settings come from vestry.toml and from VESTRY_ variables (database.url is
VESTRY_DATABASE__URL); deploy/vestry.example.toml describes every key.
Exit code: 0 done, 1 failed, 2 wrong usage."
)]
pub(crate) struct Cli {
    /// Settings file [default: vestry.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads the words of a command line, as commands are spelled now or were before.
    pub(crate) fn read(words: &[OsString]) -> Result<Self, clap::Error> {
        Self::try_parse_from(words).or_else(|refused| match earlier::respelled(words) {
            Some(words) => Self::try_parse_from(words),
            None => Err(refused),
        })
    }
}

/// What is wrong with a command line, as one line; how it is used is left to the help.
pub(crate) fn wrong_usage(refused: &clap::Error) -> String {
    let text = refused.render().to_string();
    let lines = text.lines().map(str::trim);
    let told = lines.take_while(|line| !line.starts_with("Usage:"));
    let told: Vec<_> = told.filter(|line| !line.is_empty()).collect();
    let told = told.join(" ");
    told.strip_prefix("error: ").unwrap_or(&told).to_owned()
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a complete service for development, with nothing else installed
    Dev(Dev),
    /// Start the service
    Serve,
    /// Deliver messages and send events only, without an HTTP listener; any number may run beside `serve`
    Worker,
    /// Bring the tables of the database up to this version
    Migrate(Migrate),
    /// Look whether settings, database, vault and mail are in order
    Check(Answer),
    /// Apps: the containers of users, keys and wallets
    #[command(subcommand)]
    App(App),
    /// Secret API keys and public tokens of an App
    #[command(subcommand)]
    Key(Key),
    /// Users of an App: bring them in from another service, and take them out
    #[command(subcommand)]
    Users(Users),
    /// Sessions of the users of an App
    #[command(subcommand)]
    Sessions(Sessions),
    /// URLs to which sign-ins may return
    #[command(subcommand)]
    RedirectUrl(RedirectUrl),
    /// Identity providers through which users of an App sign in
    #[command(subcommand)]
    Provider(Provider),
    /// Receivers of the events of an App: where they are sent, and what became of them
    #[command(subcommand)]
    Webhook(Webhook),
    /// Have events sent to a program on this machine while you write it, with no endpoint set up
    Listen(Listen),
    /// Events of an App, one by one
    #[command(subcommand)]
    Events(Events),
    /// Keys that sign session JWTs
    #[command(subcommand)]
    SigningKey(SigningKey),
    /// The log of what was done with wallets
    #[command(subcommand)]
    Audit(Audit),
    /// The root keys over all wallets and secrets
    #[command(subcommand)]
    Vault(Vault),
    /// Print the description of the API (OpenAPI 3.1)
    Openapi,
    /// Not built yet: who may sign in to the console
    #[command(hide = true)]
    Operator(NotBuilt),
    /// Not built yet: a checked backup of database and keys
    #[command(hide = true)]
    Backup(NotBuilt),
    /// Not built yet: an installation out of a backup
    #[command(hide = true)]
    Restore(NotBuilt),
    /// Not built yet: a run through everything that the service does
    #[command(hide = true)]
    Selftest(NotBuilt),
}

/// A command that has its name and nothing else yet. It takes whatever its users will write some day.
#[derive(Debug, Args)]
pub(crate) struct NotBuilt {
    /// Whatever it will take
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

impl NotBuilt {
    /// The format that was asked for.
    fn format(&self) -> Format {
        if self.arguments.iter().any(|argument| argument == "--json") {
            Format::Json
        } else {
            Format::Human
        }
    }
}

/// What is to become of the tables.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Migrate {
    /// Then spread the tables over the servers of a Citus cluster, each App on one of them; stopped half-way, it goes on when it is
    /// called again (docs/scale.md)
    #[arg(long)]
    pub(crate) distribute: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

/// How to answer.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Answer {
    /// Print one JSON document on stdout
    #[arg(long)]
    json: bool,
}

impl Answer {
    /// The format that was asked for.
    pub(crate) const fn format(self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Human
        }
    }
}

/// `vestry dev`
#[derive(Debug, Args)]
#[command(after_help = "\
The first start makes the directory, the database, root keys, an App named Demo
with test and live keys, and a certificate for localhost. Later starts use them
again. DIR/dev.json tells programs the addresses and keys.

Settings come from VESTRY_ variables and from --config only, never from a
vestry.toml that happens to lie here.

Examples:
  vestry dev
  vestry dev --listen 127.0.0.1:0         a free port, without HTTPS
  vestry dev --fresh                      forget everything and begin anew")]
pub(crate) struct Dev {
    /// Where database, keys and dev.json are kept
    #[arg(long, value_name = "DIR", default_value = ".vestry")]
    pub(crate) data_dir: PathBuf,
    /// Address of this machine for HTTP; port 0 picks a free one [default: 127.0.0.1:8080, and HTTPS on 127.0.0.1:8443]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Delete what earlier starts have made in DIR first
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// `vestry app`
#[derive(Debug, Subcommand)]
pub(crate) enum App {
    /// Make an App with its encryption and signing keys for test and live
    #[command(after_help = "Example:\n  vestry app create Shop")]
    Create {
        /// Name that end users see in messages
        name: String,
        #[command(flatten)]
        answer: Answer,
    },
    /// List all Apps, oldest first
    List {
        #[command(flatten)]
        answer: Answer,
    },
    /// Show an App and its settings
    Show {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Change settings of an App, all of them or none
    #[command(after_help = "\
`vestry app show` lists the settings; `name` is one of them.

Examples:
  vestry app set app_… name=\"My Shop\"
  vestry app set app_… session_idle_minutes=60 jwt_algorithm=EdDSA
  vestry app set app_… live_per_minute=null        back to the service's own limit")]
    Set {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// NAME=VALUE
        #[arg(required = true, value_name = "NAME=VALUE", value_parser = assignment)]
        changes: Vec<(String, String)>,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry key`
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key; it is printed now and never again
    #[command(after_help = "\
Examples:
  vestry key create app_… live
  vestry key create app_… live --scope users:read,sessions:write
  vestry key create app_… test --public")]
    Create {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        /// Make a public token (pk_…), which may be seen in a browser, instead of a secret key (sk_…)
        #[arg(long)]
        public: bool,
        /// What the key may do; without any, all but wallets:export and audit:read
        #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
        scope: Vec<Scope>,
        #[command(flatten)]
        answer: Answer,
    },
    /// List the keys of an App, oldest first; the keys themselves are not stored
    List {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Make a key with the rights of another; both work until the old one is revoked
    #[command(after_help = "\
Example:
  vestry key rotate app_… key_…           put the new key into your backend, then
  vestry key revoke app_… key_…           stop the old one")]
    Rotate {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Id of the key (key_…)
        key: ApiKeyId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Stop a key from working, within a second and for good
    Revoke {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Id of the key (key_…)
        key: ApiKeyId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry users`
#[derive(Debug, Subcommand)]
pub(crate) enum Users {
    /// Make users out of a file with one JSON object a line, with their passwords
    #[command(after_help = "\
Users that are there already are passed over, so an import that was cut off is
simply run again. Every line that is refused is named with its reason, and the
exit code is 1 if there was one. docs/migrate-users.md describes the lines.

Examples:
  vestry users import app_… live users.jsonl --dry-run
  vestry users import app_… live users.jsonl")]
    Import {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        /// The file
        file: PathBuf,
        /// Check every line and change nothing
        #[arg(long)]
        dry_run: bool,
        /// Write one event with the number of users, instead of one for each
        #[arg(long)]
        no_events: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Print the users with one JSON object a line, as `import` reads them
    #[command(after_help = "\
Wallets, sessions, second factors and provider links are not part of it.

Example:
  vestry users export app_… live --with-password-hashes > users.jsonl")]
    Export {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        /// With the hashes of passwords: whoever has them can guess passwords, so keep the file as you keep the sign-in key
        #[arg(long)]
        with_password_hashes: bool,
    },
    /// End the waits of a user whom somebody else's guesses keep from signing in
    #[command(after_help = "\
After wrong codes or passwords in a row a user has to wait, longer each time.
This forgets them, for every way in that the user has. It signs nobody in.

Example:
  vestry users unlock app_… live user_…")]
    Unlock {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        /// Id of the user (user_…)
        user: UserId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry sessions`
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// Sign everybody out: end all sessions of an App in one environment, on every process at once
    #[command(after_help = "\
Users, keys and credentials stay. It may run while the service does; sessions that
begin meanwhile may end with the others. Whoever verifies JWTs without a call goes
on accepting those that are out until they expire, five minutes later at most.

Example:
  vestry sessions end-all app_… live")]
    EndAll {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry redirect-url`
#[derive(Debug, Subcommand)]
pub(crate) enum RedirectUrl {
    /// Register a URL; only registered ones are ever redirected to
    #[command(after_help = "\
Examples:
  vestry redirect-url add app_… live https://shop.example.com/signed-in --default
  vestry redirect-url add app_… live https://shop.example.com/welcome --kind registration,invite
  vestry redirect-url add app_… live 'https://*.example.com/signed-in'   one label in place of the star
  vestry redirect-url add app_… live com.example.app:/signed-in          a native app, by a scheme of its own
  vestry redirect-url add app_… live http://127.0.0.1/signed-in          a native app, on any port")]
    Add {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        /// https://…, http:// on this machine, or the scheme of a native app (com.example.app:/…)
        url: String,
        /// For existing users (login), new ones (registration) or invited ones (invite)
        #[arg(
            long,
            value_name = "KIND",
            value_delimiter = ',',
            default_value = "login"
        )]
        kind: Vec<RedirectKind>,
        /// Use it when a call names no URL, in place of the earlier default
        #[arg(long)]
        default: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// List the registered URLs of an App, oldest first
    List {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Remove a registered URL
    Remove {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Id of the registration (redirect_…)
        id: RedirectUrlId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry webhook`
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Have events of an environment sent to a URL; the secret that signs them is shown this once
    #[command(after_help = "\
Requests are signed as Standard Webhooks says; docs/webhooks.md has ten lines that
check them. To have events of a test environment on this machine, with no endpoint
at all: vestry listen.

Examples:
  vestry webhook create app_… live https://shop.example.com/events
  vestry webhook create app_… live https://shop.example.com/events --types 'user.*,wallet.exported'
  vestry webhook create app_… test http://127.0.0.1:3000/events      where outbound.allowed_networks allows it")]
    Create {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        /// https://…; in a test environment http://… into a network of outbound.allowed_networks as well
        url: String,
        /// Names of types, group.* or *
        #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "*")]
        types: Vec<String>,
        /// What to call it
        #[arg(long)]
        name: Option<String>,
        /// Send it nothing until `vestry webhook enable`
        #[arg(long)]
        disabled: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// List the endpoints of an App
    List {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Show one endpoint: how it does, and which secrets sign
    Show {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
    /// Change where events go, which ones, or the name; what is not named stays as it is
    Set {
        #[command(flatten)]
        which: WhichWebhook,
        /// Where to
        #[arg(long)]
        url: Option<String>,
        /// Names of types, group.* or *
        #[arg(long, value_name = "TYPES", value_delimiter = ',')]
        types: Option<Vec<String>>,
        /// What to call it; an empty name takes it away
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        answer: Answer,
    },
    /// Sign with a new secret, shown this once; the one before signs as well for a while
    RotateSecret {
        #[command(flatten)]
        which: WhichWebhook,
        /// Minutes for which the secret before signs as well, 0 to 10080
        #[arg(long, value_name = "MINUTES", default_value_t = 1440)]
        overlap: i64,
        #[command(flatten)]
        answer: Answer,
    },
    /// Send it events again, and what was held for it
    Enable {
        #[command(flatten)]
        which: WhichWebhook,
        /// Drop what was held for it
        #[arg(long)]
        drop_held: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Send it nothing more; what waits is held for 30 days, and what comes meanwhile is not sent
    Disable {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
    /// Send it a sample at once, signed; exit code 1 unless it answers 2xx
    Test {
        #[command(flatten)]
        which: WhichWebhook,
        /// Type of the sample [default: webhook.test]
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<EventKind>,
        #[command(flatten)]
        answer: Answer,
    },
    /// Send it events of the log once more: one, what failed, or a stretch of the log
    ///
    /// Many are worked off by the running service, 50 a second; `vestry webhook replays` says how far it is.
    #[command(group = clap::ArgGroup::new("what").required(true))]
    Replay {
        #[command(flatten)]
        which: WhichWebhook,
        /// The event (event_…)
        #[arg(long, value_name = "ID", group = "what")]
        event: Option<EventId>,
        /// The delivery whose event it is (whdel_…)
        #[arg(long, value_name = "ID", group = "what")]
        delivery: Option<WebhookDeliveryId>,
        /// Everything that was given up since then (Unix seconds)
        #[arg(long, value_name = "SECONDS", group = "what")]
        failed_since: Option<i64>,
        /// The events behind this one that fit it (event_…)
        #[arg(long, value_name = "ID", group = "what")]
        after: Option<EventId>,
        /// To this one, and not to the newest (event_…)
        #[arg(long, value_name = "ID", requires = "after")]
        until: Option<EventId>,
        #[command(flatten)]
        answer: Answer,
    },
    /// List its replays of many events, newest first, and how far they are
    Replays {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
    /// List what was sent to it and what waits, newest first; with an id, one delivery and its attempts
    Deliveries {
        #[command(flatten)]
        which: WhichWebhook,
        /// Id of a delivery (whdel_…)
        delivery: Option<WebhookDeliveryId>,
        /// Only waiting, held, delivered, exhausted or dropped ones
        #[arg(long)]
        state: Option<DeliveryState>,
        /// Only of this event (event_…)
        #[arg(long, value_name = "ID")]
        event: Option<EventId>,
        /// At most so many, 1 to 1000
        #[arg(long, default_value_t = 50)]
        limit: i64,
        #[command(flatten)]
        answer: Answer,
    },
    /// Remove it; what waits for it is dropped
    Delete {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
}

/// One endpoint.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct WhichWebhook {
    /// Id of the App (app_…)
    #[arg(value_parser = customers_app)]
    pub(crate) app: AppId,
    /// Id of the endpoint (whep_…)
    pub(crate) id: WebhookEndpointId,
}

/// `vestry listen`
#[derive(Debug, Args)]
#[command(after_help = "\
Reads GET /v1/events with a key of the App, and needs neither the database nor
settings. Each event is posted to URL, in order, signed like a webhook with a
secret that is printed first. An event that fails three times is shown as failed
and passed over. When the service is away, it waits and goes on where it was.
Ctrl-C ends it.

Beside a running `vestry dev`, --url and --key are known from .vestry/dev.json.
Other users of this machine can see a key or secret on the command line (`ps`).
Use --key-file and --secret-file, or the variables VESTRY_KEY and
VESTRY_WEBHOOK_SECRET.

Examples:
  vestry listen --forward-to http://127.0.0.1:3000/events
  vestry listen --forward-to http://127.0.0.1:3000/events --types 'user.*,wallet.exported'
  vestry listen --forward-to http://127.0.0.1:3000/events --since event_…
  VESTRY_KEY=sk_test_… vestry listen --forward-to http://127.0.0.1:3000/events \\
    --url https://id.example.com")]
pub(crate) struct Listen {
    #[command(flatten)]
    pub(crate) forward: Forward,
    /// Names of types, or group.* [default: all]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(crate) types: Vec<String>,
    /// Begin behind this event (event_…), or with what happens from now on
    #[arg(long, value_name = "ID", default_value = "now")]
    pub(crate) since: Since,
    /// Print JSON documents on stdout, each on a line: one about the beginning, then one about each event
    #[arg(long)]
    pub(crate) json: bool,
}

/// `vestry events`
#[derive(Debug, Subcommand)]
pub(crate) enum Events {
    /// Send one event to a program on this machine; exit code 1 unless it answers 2xx
    #[command(after_help = "\
Asks the service for the event and posts it once, signed as `vestry listen` does
it. To send it to an endpoint of the App instead: vestry webhook replay.

Example:
  vestry events resend event_… --forward-to http://127.0.0.1:3000/events")]
    Resend {
        /// The event (event_…)
        event: EventId,
        #[command(flatten)]
        forward: Forward,
        #[command(flatten)]
        answer: Answer,
    },
}

/// From which service events come, and where they go.
#[derive(Debug, Args)]
pub(crate) struct Forward {
    /// Where to: http://… or https://…
    #[arg(long, value_name = "URL")]
    pub(crate) forward_to: Url,
    /// The service [default: the `vestry dev` of this directory, else http://127.0.0.1:8080]
    #[arg(long, value_name = "BASE")]
    pub(crate) url: Option<BaseUrl>,
    /// Secret key of the App (sk_test_…); visible to other users of this machine, --key-file or VESTRY_KEY is safer
    #[arg(long, value_name = "KEY", value_parser = secret, conflicts_with = "key_file")]
    pub(crate) key: Option<Secret<String>>,
    /// File with the secret key of the App [default: VESTRY_KEY, else the key of the `vestry dev` of this directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Signing secret (whsec_…); visible to other users of this machine, --secret-file or VESTRY_WEBHOOK_SECRET is safer
    #[arg(long, value_name = "SECRET", value_parser = secret, conflicts_with = "secret_file")]
    pub(crate) secret: Option<Secret<String>>,
    /// File with the signing secret [default: VESTRY_WEBHOOK_SECRET, else a new secret each time]
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
    /// Take a live key too: what happened to real users goes to the URL
    #[arg(long)]
    pub(crate) live: bool,
}

/// Where in the log to begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Since {
    /// Behind its end.
    Now,
    /// Behind this event.
    Event(EventId),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "now" => Ok(Self::Now),
            id => id
                .parse()
                .map(Self::Event)
                .map_err(|_invalid| "write it as event_… or now".to_owned()),
        }
    }
}

/// `vestry provider`
#[derive(Debug, Subcommand)]
pub(crate) enum Provider {
    /// Connect an App with an identity provider, or set the connection anew
    #[command(after_help = "\
google, apple, microsoft, github and discord are known by name; any other name is
an OpenID Connect issuer of your own (--issuer). The answer names the callback
URL to enter in the provider's console; docs/providers says where. What is not
named is not kept from before, but for the callback URL.

Examples:
  vestry provider set app_… live google --client-id 1234.apps.googleusercontent.com \\
    --client-secret-file google.secret
  vestry provider set app_… live apple --client-id com.example.web \\
    --client-secret-file AuthKey_ABC.p8 --apple-team-id TEAM --apple-key-id ABC
  vestry provider set app_… live acme --issuer https://id.acme.example \\
    --client-id vestry --client-secret-file acme.secret --trust-email-verified")]
    Set(Box<SetProvider>),
    /// List the connections of an App with their callback URLs
    List {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Remove a connection; who is linked stays linked
    Remove {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        /// Name of the provider
        name: ProviderName,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry provider set`
#[derive(Debug, Args)]
pub(crate) struct SetProvider {
    /// Id of the App (app_…)
    #[arg(value_parser = customers_app)]
    pub(crate) app: AppId,
    /// test or live
    pub(crate) environment: Environment,
    /// google, apple, microsoft, github, discord, or a name of your own for an OpenID Connect issuer
    pub(crate) name: ProviderName,
    /// The App's id at the provider
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: String,
    /// File with the client secret; for apple with the private key (.p8)
    #[arg(long, value_name = "FILE")]
    pub(crate) client_secret_file: PathBuf,
    /// Issuer, as the provider writes it; for one tenant of microsoft it ends with /TENANT/v2.0
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    /// In place of the known or discovered address
    #[arg(long, value_name = "URL")]
    pub(crate) authorization_endpoint: Option<String>,
    /// In place of the known or discovered address
    #[arg(long, value_name = "URL")]
    pub(crate) token_endpoint: Option<String>,
    /// In place of the known or discovered address
    #[arg(long, value_name = "URL")]
    pub(crate) userinfo_endpoint: Option<String>,
    /// In place of the discovered address
    #[arg(long, value_name = "URL")]
    pub(crate) jwks_uri: Option<String>,
    /// client_secret_basic or client_secret_post, in place of what the discovery document says
    #[arg(long, value_name = "METHOD")]
    pub(crate) token_endpoint_auth_method: Option<TokenEndpointAuth>,
    /// microsoft: tenants whose e-mail addresses you trust
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) tenant: Vec<String>,
    /// An issuer of your own: its email_verified is as good as a code that was sent
    #[arg(long)]
    pub(crate) trust_email_verified: bool,
    /// apple: id of the team
    #[arg(long, value_name = "ID")]
    pub(crate) apple_team_id: Option<String>,
    /// apple: id of the key
    #[arg(long, value_name = "ID")]
    pub(crate) apple_key_id: Option<String>,
    /// Hand the provider's own tokens out with oauth/verify; until then they are kept, encrypted
    #[arg(long)]
    pub(crate) store_tokens: bool,
    /// Scopes beyond those that the sign-in needs
    #[arg(long, value_delimiter = ',')]
    pub(crate) scope: Vec<String>,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

/// `vestry signing-key`
#[derive(Debug, Subcommand)]
pub(crate) enum SigningKey {
    /// List the signing keys of an App, oldest first
    List {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Make the next signing key; everybody finds it within two minutes, and it signs after five
    #[command(after_help = "\
The key in use stays published until its last token has expired, so no session notices.

Example:
  vestry signing-key rotate app_… live")]
    Rotate {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// test or live
        environment: Environment,
        #[command(flatten)]
        answer: Answer,
    },
    /// Withdraw a signing key that somebody else may have: its JWTs are refused from now on, for good
    #[command(after_help = "\
Sessions stay: their tokens get JWTs under the new key, which is made at once when
the old one was signing. Whoever verifies JWTs without a call goes on accepting
them until it fetches the key set again, a minute later at the latest when it
heeds Cache-Control; restart what keeps the key set for longer.

Example:
  vestry signing-key list app_…
  vestry signing-key revoke app_… jwk_…")]
    Revoke {
        /// Id of the App (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Id of the key (jwk_…)
        key: SigningKeyId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry audit`
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Check that no entry of the audit log was altered, and that none is missing
    #[command(after_help = "\
Every use of a wallet and every change of an App, its keys and settings has an
entry, chained by hashes under keys that are not in the database. Chains that
are not whole are named, and the exit code is 1 if there is one. It may run while
the service does.

The rows of the logs and the signed checkpoints in the database decide what is
checked, the logs of events included; the table of Apps does not.

With --against it also compares the database with checkpoints that were kept
outside of it, and finds what was set back or is gone as a whole.")]
    Verify {
        #[command(flatten)]
        against: Against,
        #[command(flatten)]
        answer: Answer,
    },
    /// Print the public key under which checkpoints are signed; keep it apart from the database
    #[command(after_help = "\
It is printed as name+hash+base64, which `vestry audit verify --key` takes, and
so do other programs that verify signed notes (C2SP signed-note).")]
    Key {
        #[command(flatten)]
        answer: Answer,
    },
    /// Make a checkpoint now, bring it to the sinks, and print it
    #[command(after_help = "\
A checkpoint states where every chain of the audit log ends, signed. A service
that runs makes one each minute in which something changed. This one names all
chains: print it, or mail it to somebody, and `vestry audit verify --against FILE`
will find it if the database is ever set back to before it. Into the log of the
service it comes when one runs.")]
    Checkpoint {
        #[command(flatten)]
        answer: Answer,
    },
    /// Move old entries of the audit log into a file, and remove them from the database
    #[command(after_help = "\
Of each chain of an App the entries go that are older than DATE, from its
beginning on; the last one stays, and so do the entries that tell of an export of
a key. The file has a line of JSON for each; its SHA-256 is written into the audit
log. Only when it is on the disk is anything removed. A signed marker says from
where each chain goes on, and `vestry audit verify` begins there.

Keep the file as long as you have to answer for what is in it. Run it once in a
while, not beside another one; it may run while the service does.")]
    Prune {
        /// Entries before this moment go: a date (2027-01-31, from midnight UTC) or 2027-01-31T18:30:00Z
        #[arg(long, value_name = "DATE", value_parser = moment)]
        before: Timestamp,
        /// A file to write them to, which must not be there yet
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        #[command(flatten)]
        answer: Answer,
    },
    /// Explain a finding of `vestry audit verify`, which does not fail for it any more
    #[command(after_help = "\
After a failover that lost the last commits, for example. The finding stays
listed, as acknowledged, with the reason; whatever else is found about the same
chain is a finding as before. The reason is written into the audit log.")]
    Acknowledge {
        /// What the finding is about, as it is named there: a chain (auditchain_…), the number of a checkpoint, or APP/ENVIRONMENT for its events
        about: String,
        /// Why it is no reason for concern, in 200 bytes at most
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        against: Against,
        #[command(flatten)]
        answer: Answer,
    },
}

/// A moment, as a date or as RFC 3339 writes it.
fn moment(text: &str) -> Result<Timestamp, String> {
    let whole = match text.len() {
        10 => rfc3339::parse(&format!("{text}T00:00:00Z")),
        _ => rfc3339::parse(text),
    };
    whole.ok_or_else(|| {
        "write a date such as 2027-01-31, which begins at midnight UTC, or a moment such as 2027-01-31T18:30:00Z".to_owned()
    })
}

/// Which checkpoints to compare with.
#[derive(Debug, Args)]
pub(crate) struct Against {
    /// A directory or file of checkpoints, a log in JSON that has them, or a URL that answers one of the two; may be given several times
    #[arg(long = "against", value_name = "PATH|URL")]
    pub(crate) places: Vec<Kept>,
    /// A key that `vestry audit key` printed, in place of the one that the vault has; may be given several times
    #[arg(long = "key", value_name = "KEY", requires = "places")]
    pub(crate) keys: Vec<VerifierKey>,
}

/// Where checkpoints were kept.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    Path(PathBuf),
    Url(Url),
}

impl FromStr for Kept {
    type Err = url::ParseError;

    fn from_str(text: &str) -> Result<Self, url::ParseError> {
        let is_url = ["http://", "https://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        if is_url {
            text.parse().map(Self::Url)
        } else {
            Ok(Self::Path(text.into()))
        }
    }
}

/// `vestry vault`
#[derive(Debug, Subcommand)]
pub(crate) enum Vault {
    /// Make the root key files of a new installation; keep copies of them apart from the database
    Init {
        #[command(flatten)]
        answer: Answer,
    },
    /// Show the versions of the root keys and how many App keys each one wraps
    Status {
        #[command(flatten)]
        answer: Answer,
    },
    /// Make new root keys and wrap every App key under them, while the service runs
    #[command(after_help = "\
Wallets are not touched: root keys wrap App keys, and those wrap everything
else. A rotation that was cut off is finished by the next one. Without --retire
the old versions stay able to open keys, as backups need them.")]
    RotateRoot {
        /// Destroy the older versions once nothing stands under them; backups made before cannot be opened then
        #[arg(long)]
        retire: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Make new App keys and bring wallets, passwords and other stored secrets under them, while the service runs
    #[command(after_help = "\
Each App has two keys in each environment, one for its wallets and one for its
small secrets; both are made anew. Private keys of wallets are not opened: only
the keys that encrypt them are wrapped anew. A rotation that was cut off is
finished by the next run, which then makes no new keys; run it again for those.
The old App keys stay until --retire, or `vestry vault retire-apps`.")]
    RotateApps {
        /// Then do what `vestry vault retire-apps` does
        #[arg(long)]
        retire: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Destroy the old App keys under which nothing stands any more; backups made before cannot be opened then
    #[command(after_help = "\
Waits until every process uses the newest keys (15 s; 30 if something was still
under an old one) and makes no new ones. Old keys of small secrets go an hour
after a newer one was made, and not before the codes, messages and kept answers
under them have ended: run it again a day or two after a rotation. What keeps a
key is named. A wallet or secret that fails its authentication keeps its own key
and no other one.")]
    RetireApps {
        #[command(flatten)]
        answer: Answer,
    },
    /// Open every App key, wallet key and stored secret, and compare wallet keys with their records
    Verify {
        #[command(flatten)]
        answer: Answer,
    },
}

impl Command {
    /// The format of the answer; commands without one speak to people.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Dev(_)
            | Self::Serve
            | Self::Worker
            | Self::Openapi
            | Self::Users(Users::Export { .. }) => Format::Human,
            Self::Operator(later)
            | Self::Backup(later)
            | Self::Restore(later)
            | Self::Selftest(later) => later.format(),
            Self::Migrate(Migrate { answer, .. }) | Self::Check(answer) => answer.format(),
            Self::Provider(Provider::Set(set)) => set.answer.format(),
            Self::Listen(listen) => Answer { json: listen.json }.format(),
            Self::Events(Events::Resend { answer, .. }) => answer.format(),
            Self::App(
                App::Create { answer, .. }
                | App::List { answer }
                | App::Show { answer, .. }
                | App::Set { answer, .. },
            )
            | Self::Key(
                Key::Create { answer, .. }
                | Key::List { answer, .. }
                | Key::Rotate { answer, .. }
                | Key::Revoke { answer, .. },
            )
            | Self::Users(Users::Import { answer, .. } | Users::Unlock { answer, .. })
            | Self::Sessions(Sessions::EndAll { answer, .. })
            | Self::RedirectUrl(
                RedirectUrl::Add { answer, .. }
                | RedirectUrl::List { answer, .. }
                | RedirectUrl::Remove { answer, .. },
            )
            | Self::Webhook(
                Webhook::Create { answer, .. }
                | Webhook::List { answer, .. }
                | Webhook::Show { answer, .. }
                | Webhook::Set { answer, .. }
                | Webhook::RotateSecret { answer, .. }
                | Webhook::Enable { answer, .. }
                | Webhook::Disable { answer, .. }
                | Webhook::Test { answer, .. }
                | Webhook::Replay { answer, .. }
                | Webhook::Replays { answer, .. }
                | Webhook::Deliveries { answer, .. }
                | Webhook::Delete { answer, .. },
            )
            | Self::Provider(Provider::List { answer, .. } | Provider::Remove { answer, .. })
            | Self::SigningKey(
                SigningKey::List { answer, .. }
                | SigningKey::Rotate { answer, .. }
                | SigningKey::Revoke { answer, .. },
            )
            | Self::Audit(
                Audit::Verify { answer, .. }
                | Audit::Key { answer }
                | Audit::Checkpoint { answer }
                | Audit::Prune { answer, .. }
                | Audit::Acknowledge { answer, .. },
            )
            | Self::Vault(
                Vault::Init { answer }
                | Vault::Status { answer }
                | Vault::RotateRoot { answer, .. }
                | Vault::RotateApps { answer, .. }
                | Vault::RetireApps { answer }
                | Vault::Verify { answer },
            ) => answer.format(),
        }
    }
}

/// The built-in App is the service's own: nothing of it is set up by hand.
fn customers_app(text: &str) -> Result<AppId, String> {
    match text.parse::<AppId>() {
        Ok(AppId::BUILT_IN) => Err("this App is built in, for the service itself".to_owned()),
        Ok(app) => Ok(app),
        Err(error) => Err(error.to_string()),
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

/// Whatever it is: what is wrong with it is said later, by somebody who does not repeat it.
fn secret(text: &str) -> Result<Secret<String>, Infallible> {
    Ok(Secret::new(text.to_owned()))
}

#[cfg(test)]
mod tests;
