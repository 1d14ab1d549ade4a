//! The command line.

use std::convert::Infallible;
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

/// Sign-in, user management and managed wallets in one self-hosted service
#[derive(Debug, Parser)]
#[command(
    name = "vestry",
    version,
    arg_required_else_help = true,
    after_help = "\
New here? Run `vestry dev`. It needs no setup, prints an API key and a working
request, and captures all outgoing mail.

A first deployment:
  vestry migrate                          create the database schema
  vestry vault init                       create the root keys
  vestry check                            check the installation
  vestry app create Shop                  create an App
  vestry key create app_… live            create a secret key for its backend (shown once)
  vestry serve                            start the service

Settings come from vestry.toml and from VESTRY_ variables (for example
VESTRY_DATABASE__URL for database.url). deploy/vestry.example.toml describes
every setting. Exit codes: 0 success, 1 failure, 2 usage error."
)]
pub(crate) struct Cli {
    /// Settings file [default: vestry.toml, if present]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The reason why a command line was rejected, on one line and without the usage text.
pub(crate) fn wrong_usage(refused: &clap::Error) -> String {
    let text = refused.render().to_string();
    let lines = text.lines().map(str::trim);
    let told = lines.take_while(|line| !line.starts_with("Usage:"));
    let told: Vec<_> = told.filter(|line| !line.is_empty()).collect();
    let told = told.join(" ");
    told.strip_prefix("error: ").unwrap_or(&told).to_owned()
}

/// The commands of `vestry`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a complete development service with no setup
    Dev(Dev),
    /// Start the service
    Serve,
    /// Deliver messages and webhooks without an HTTP listener
    ///
    /// Any number of workers can run in addition to `vestry serve`.
    Worker,
    /// Migrate the database schema to this version
    Migrate(Migrate),
    /// Check configuration, database, vault and mail
    Check(Answer),
    /// Manage Apps, the containers of users, keys and wallets
    #[command(subcommand)]
    App(App),
    /// Manage an App's secret API keys and public tokens
    #[command(subcommand)]
    Key(Key),
    /// Import, export and unlock users
    #[command(subcommand)]
    Users(Users),
    /// End user sessions
    #[command(subcommand)]
    Sessions(Sessions),
    /// Manage the URLs that sign-ins may redirect to
    #[command(subcommand)]
    RedirectUrl(RedirectUrl),
    /// Manage an App's identity providers
    #[command(subcommand)]
    Provider(Provider),
    /// Manage webhook endpoints, deliveries and replays
    #[command(subcommand)]
    Webhook(Webhook),
    /// Forward events to a local URL during development
    Listen(Listen),
    /// Resend single events to a local URL
    #[command(subcommand)]
    Events(Events),
    /// Manage the keys that sign session JWTs
    #[command(subcommand)]
    SigningKey(SigningKey),
    /// Verify, prune and checkpoint the audit log
    #[command(subcommand)]
    Audit(Audit),
    /// Manage root keys and App encryption keys
    #[command(subcommand)]
    Vault(Vault),
    /// Print the API description (OpenAPI 3.1)
    Openapi,
}

/// `vestry migrate`
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Migrate {
    /// Then distribute the tables over a Citus cluster
    ///
    /// Each App is placed on one server. An interrupted run continues when the command is run again (docs/scale.md).
    #[arg(long)]
    pub(crate) distribute: bool,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

/// The output option that most commands share.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Answer {
    /// Print one JSON document to stdout
    #[arg(long)]
    json: bool,
}

impl Answer {
    /// The requested output format.
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
The first start creates the directory, the database, root keys, a certificate for
localhost, and an App named Demo with test and live keys. Later starts reuse
them. DIR/dev.json contains the addresses and keys for programs.

Settings come only from VESTRY_ variables and --config. A vestry.toml in the
current directory is ignored.

Examples:
  vestry dev
  vestry dev --listen 127.0.0.1:0         use a free port, without HTTPS
  vestry dev --fresh                      delete all data and start over")]
pub(crate) struct Dev {
    /// Directory for the database, keys and dev.json
    #[arg(long, value_name = "DIR", default_value = ".vestry")]
    pub(crate) data_dir: PathBuf,
    /// HTTP address; port 0 picks a free one, without HTTPS [default: 127.0.0.1:8080, with HTTPS on 127.0.0.1:8443]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// Delete the data of earlier starts in DIR first
    #[arg(long)]
    pub(crate) fresh: bool,
}

/// `vestry app`
#[derive(Debug, Subcommand)]
pub(crate) enum App {
    /// Create an App with its encryption and signing keys
    #[command(after_help = "Example:\n  vestry app create Shop")]
    Create {
        /// Name shown to end users in messages
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
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Change settings of an App (all or none)
    #[command(after_help = "\
`vestry app show` lists the settings, which include `name`.

Examples:
  vestry app set app_… name=\"My Shop\"
  vestry app set app_… session_idle_minutes=60 jwt_algorithm=EdDSA
  vestry app set app_… live_per_minute=null        restore the service-wide limit")]
    Set {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Setting and its new value
        #[arg(required = true, value_name = "NAME=VALUE", value_parser = assignment)]
        changes: Vec<(String, String)>,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry key`
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Create a key (shown once)
    #[command(after_help = "\
Examples:
  vestry key create app_… live
  vestry key create app_… live --scope users:read,sessions:write
  vestry key create app_… test --public")]
    Create {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        /// Create a public token (pk_…), safe in browsers, instead of a secret key (sk_…)
        #[arg(long)]
        public: bool,
        /// Scopes of the key [default: all except wallets:export and audit:read]
        #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
        scope: Vec<Scope>,
        #[command(flatten)]
        answer: Answer,
    },
    /// List an App's keys, oldest first
    ///
    /// The keys themselves are not stored and cannot be shown.
    List {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Create a replacement for a key with the same scopes
    #[command(after_help = "\
Both keys work until the old one is revoked.

Example:
  vestry key rotate app_… key_…           deploy the new key to your backend, then
  vestry key revoke app_… key_…           revoke the old one")]
    Rotate {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Key ID (key_…)
        key: ApiKeyId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Revoke a key permanently (takes effect within a second)
    Revoke {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Key ID (key_…)
        key: ApiKeyId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry users`
#[derive(Debug, Subcommand)]
pub(crate) enum Users {
    /// Import users and their passwords from a JSON Lines file
    #[command(after_help = "\
Existing users are skipped, so an interrupted import can simply be run again.
Rejected lines are reported with the reason, and the exit code is then 1.
docs/migrate-users.md describes the format.

Examples:
  vestry users import app_… live users.jsonl --dry-run
  vestry users import app_… live users.jsonl")]
    Import {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        /// JSON Lines file, one user per line
        file: PathBuf,
        /// Check every line without changing anything
        #[arg(long)]
        dry_run: bool,
        /// Emit one event with the number of users, instead of one per user
        #[arg(long)]
        no_events: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Export users as JSON Lines, readable by `import`
    #[command(after_help = "\
Wallets, sessions, second factors and provider links are not included.

Example:
  vestry users export app_… live --with-password-hashes > users.jsonl")]
    Export {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        /// Include password hashes (protect the file like the sign-in key)
        #[arg(long)]
        with_password_hashes: bool,
    },
    /// Clear a user's sign-in lockout
    #[command(after_help = "\
Repeated wrong codes or passwords lock a user out, for longer each time. This
command clears those lockouts for all sign-in methods of the user. It does not
sign the user in.

Example:
  vestry users unlock app_… live user_…")]
    Unlock {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        /// User ID (user_…)
        user: UserId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry sessions`
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// End all sessions of an App in one environment
    #[command(after_help = "\
All processes of the service enforce this at once. Users, keys and credentials are
kept. The service can keep running; sessions that start while the command runs may
be ended too. JWTs that your backend verifies offline are accepted until they
expire, five minutes later at most.

Example:
  vestry sessions end-all app_… live")]
    EndAll {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry redirect-url`
#[derive(Debug, Subcommand)]
pub(crate) enum RedirectUrl {
    /// Register a redirect URL
    #[command(after_help = "\
Sign-ins redirect to registered URLs only.

Examples:
  vestry redirect-url add app_… live https://shop.example.com/signed-in --default
  vestry redirect-url add app_… live https://shop.example.com/welcome --kind registration,invite
  vestry redirect-url add app_… live 'https://*.example.com/signed-in'   the star matches one label
  vestry redirect-url add app_… live com.example.app:/signed-in          a native app with its own scheme
  vestry redirect-url add app_… live http://127.0.0.1/signed-in          a native app, on any port")]
    Add {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        /// https://…, loopback http://…, or a native app scheme (com.example.app:/…)
        url: String,
        /// Uses of the URL: login (existing users), registration (new), invite (invited)
        #[arg(
            long,
            value_name = "KIND",
            value_delimiter = ',',
            default_value = "login"
        )]
        kind: Vec<RedirectKind>,
        /// Make it the default for calls that name no URL
        #[arg(long)]
        default: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// List an App's redirect URLs, oldest first
    List {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Remove a redirect URL
    Remove {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Redirect URL ID (redirect_…)
        id: RedirectUrlId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry webhook`
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Create a webhook endpoint; its signing secret is shown once
    #[command(after_help = "\
Requests are signed according to Standard Webhooks; docs/webhooks.md shows how to
verify them in ten lines. To receive test events on this machine without an
endpoint, use `vestry listen`.

Examples:
  vestry webhook create app_… live https://shop.example.com/events
  vestry webhook create app_… live https://shop.example.com/events --types 'user.*,wallet.exported'
  vestry webhook create app_… test http://127.0.0.1:3000/events      if outbound.allowed_networks permits it")]
    Create {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        /// https://…; in test also http://… within outbound.allowed_networks
        url: String,
        /// Event types, group.* or *
        #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "*")]
        types: Vec<String>,
        /// Display name
        #[arg(long)]
        name: Option<String>,
        /// Create it disabled, until `vestry webhook enable`
        #[arg(long)]
        disabled: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// List an App's webhook endpoints
    List {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Show an endpoint, its health and signing secrets
    Show {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
    /// Change an endpoint's URL, event types or name
    ///
    /// Omitted options keep their value.
    Set {
        #[command(flatten)]
        which: WhichWebhook,
        /// New URL
        #[arg(long)]
        url: Option<String>,
        /// Event types, group.* or *
        #[arg(long, value_name = "TYPES", value_delimiter = ',')]
        types: Option<Vec<String>>,
        /// Display name; empty removes it
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        answer: Answer,
    },
    /// Create a new signing secret; it is shown once
    ///
    /// The previous secret keeps signing too until the overlap ends.
    RotateSecret {
        #[command(flatten)]
        which: WhichWebhook,
        /// Minutes for which the previous secret also signs, 0 to 10080
        #[arg(long, value_name = "MINUTES", default_value_t = 1440)]
        overlap: i64,
        #[command(flatten)]
        answer: Answer,
    },
    /// Resume deliveries, including those held while disabled
    Enable {
        #[command(flatten)]
        which: WhichWebhook,
        /// Discard the held deliveries
        #[arg(long)]
        drop_held: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Stop deliveries
    ///
    /// Pending deliveries are held for 30 days. New events are skipped while the endpoint is disabled.
    Disable {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
    /// Send a signed sample event
    ///
    /// The exit code is 1 unless the endpoint returns 2xx.
    Test {
        #[command(flatten)]
        which: WhichWebhook,
        /// Event type of the sample [default: webhook.test]
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<EventKind>,
        #[command(flatten)]
        answer: Answer,
    },
    /// Redeliver one event, all failed events, or a range
    ///
    /// The running service sends 50 events a second; `vestry webhook replays` shows the progress.
    #[command(group = clap::ArgGroup::new("what").required(true))]
    Replay {
        #[command(flatten)]
        which: WhichWebhook,
        /// Event ID (event_…)
        #[arg(long, value_name = "ID", group = "what")]
        event: Option<EventId>,
        /// Delivery ID; redelivers its event (whdel_…)
        #[arg(long, value_name = "ID", group = "what")]
        delivery: Option<WebhookDeliveryId>,
        /// Redeliver all events that failed since this time (Unix seconds)
        #[arg(long, value_name = "SECONDS", group = "what")]
        failed_since: Option<i64>,
        /// Redeliver matching events after this one (event_…)
        #[arg(long, value_name = "ID", group = "what")]
        after: Option<EventId>,
        /// Last event of the range [default: the newest] (event_…)
        #[arg(long, value_name = "ID", requires = "after")]
        until: Option<EventId>,
        #[command(flatten)]
        answer: Answer,
    },
    /// List bulk replays and their progress, newest first
    Replays {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
    /// List deliveries, newest first, or show one
    ///
    /// With a delivery ID, the delivery is shown with its attempts.
    Deliveries {
        #[command(flatten)]
        which: WhichWebhook,
        /// Delivery ID (whdel_…)
        delivery: Option<WebhookDeliveryId>,
        /// Only this state: waiting, held, delivered, exhausted or dropped
        #[arg(long)]
        state: Option<DeliveryState>,
        /// Only this event (event_…)
        #[arg(long, value_name = "ID")]
        event: Option<EventId>,
        /// Maximum number of deliveries, 1 to 1000
        #[arg(long, default_value_t = 50)]
        limit: i64,
        #[command(flatten)]
        answer: Answer,
    },
    /// Delete an endpoint and its pending deliveries
    Delete {
        #[command(flatten)]
        which: WhichWebhook,
        #[command(flatten)]
        answer: Answer,
    },
}

/// The arguments that select a webhook endpoint.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct WhichWebhook {
    /// App ID (app_…)
    #[arg(value_parser = customers_app)]
    pub(crate) app: AppId,
    /// Endpoint ID (whep_…)
    pub(crate) id: WebhookEndpointId,
}

/// `vestry listen`
#[derive(Debug, Args)]
#[command(after_help = "\
Reads GET /v1/events with a key of the App; needs neither the database nor a
settings file. Each event is posted to the URL in order, signed like a webhook with
a secret that is printed first. An event that fails three times is reported as
failed and skipped. If the service is unreachable, the command waits and then
resumes where it stopped. Press Ctrl-C to stop.

Next to a running `vestry dev`, --url and --key are read from .vestry/dev.json.
Other users of this machine can see keys and secrets on the command line (`ps`).
Prefer --key-file and --secret-file, or the variables VESTRY_KEY and
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
    /// Event types or group.* [default: all]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(crate) types: Vec<String>,
    /// Start after this event (event_…), or now
    #[arg(long, value_name = "ID", default_value = "now")]
    pub(crate) since: Since,
    /// Print JSON documents to stdout, one per line: first the start, then each event
    #[arg(long)]
    pub(crate) json: bool,
}

/// `vestry events`
#[derive(Debug, Subcommand)]
pub(crate) enum Events {
    /// Send one event to a local URL
    #[command(after_help = "\
Reads the event from the service and posts it once, signed like `vestry listen`
does. The exit code is 1 unless the receiver returns 2xx. To redeliver it to a
webhook endpoint instead, use `vestry webhook replay`.

Example:
  vestry events resend event_… --forward-to http://127.0.0.1:3000/events")]
    Resend {
        /// Event ID (event_…)
        event: EventId,
        #[command(flatten)]
        forward: Forward,
        #[command(flatten)]
        answer: Answer,
    },
}

/// The service to read events from, and the URL to forward them to.
#[derive(Debug, Args)]
pub(crate) struct Forward {
    /// URL to post events to, http://… or https://…
    #[arg(long, value_name = "URL")]
    pub(crate) forward_to: Url,
    /// Base URL of the service [default: the `vestry dev` of this directory, or http://127.0.0.1:8080]
    #[arg(long, value_name = "BASE")]
    pub(crate) url: Option<BaseUrl>,
    /// Secret key of the App (sk_test_…); prefer --key-file or VESTRY_KEY, which `ps` does not show
    #[arg(long, value_name = "KEY", value_parser = secret, conflicts_with = "key_file")]
    pub(crate) key: Option<Secret<String>>,
    /// File with the secret key [default: VESTRY_KEY, or the key of the `vestry dev` of this directory]
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Signing secret (whsec_…); prefer --secret-file or VESTRY_WEBHOOK_SECRET, which `ps` does not show
    #[arg(long, value_name = "SECRET", value_parser = secret, conflicts_with = "secret_file")]
    pub(crate) secret: Option<Secret<String>>,
    /// File with the signing secret [default: VESTRY_WEBHOOK_SECRET, or a new secret each time]
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
    /// Allow a live key (forwards real user data)
    #[arg(long)]
    pub(crate) live: bool,
}

/// Where `vestry listen` starts reading the log.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Since {
    /// After the newest event.
    Now,
    /// After this event.
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
                .map_err(|_invalid| "must be event_… or now".to_owned()),
        }
    }
}

/// `vestry provider`
#[derive(Debug, Subcommand)]
pub(crate) enum Provider {
    /// Create or replace an identity provider connection
    #[command(after_help = "\
google, apple, microsoft, github and discord are built in. Any other name is a
custom OpenID Connect issuer (--issuer). The output shows the callback URL to enter
in the provider's console; docs/providers describes where. Replacing a connection
keeps its callback URL; options that you omit are reset.

Examples:
  vestry provider set app_… live google --client-id 1234.apps.googleusercontent.com \\
    --client-secret-file google.secret
  vestry provider set app_… live apple --client-id com.example.web \\
    --client-secret-file AuthKey_ABC.p8 --apple-team-id TEAM --apple-key-id ABC
  vestry provider set app_… live acme --issuer https://id.acme.example \\
    --client-id vestry --client-secret-file acme.secret --trust-email-verified")]
    Set(Box<SetProvider>),
    /// List an App's connections and their callback URLs
    List {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Remove a provider connection (existing user links are kept)
    Remove {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        /// Provider name
        name: ProviderName,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry provider set`
#[derive(Debug, Args)]
pub(crate) struct SetProvider {
    /// App ID (app_…)
    #[arg(value_parser = customers_app)]
    pub(crate) app: AppId,
    /// Environment: test or live
    pub(crate) environment: Environment,
    /// google, apple, microsoft, github, discord, or a name for a custom OpenID Connect issuer
    pub(crate) name: ProviderName,
    /// Client ID issued by the provider
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: String,
    /// File with the client secret (apple: the .p8 private key)
    #[arg(long, value_name = "FILE")]
    pub(crate) client_secret_file: PathBuf,
    /// Issuer URL, exactly as the provider publishes it; for one microsoft tenant it ends with /TENANT/v2.0
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    /// Override the built-in or discovered authorization endpoint
    #[arg(long, value_name = "URL")]
    pub(crate) authorization_endpoint: Option<String>,
    /// Override the built-in or discovered token endpoint
    #[arg(long, value_name = "URL")]
    pub(crate) token_endpoint: Option<String>,
    /// Override the built-in or discovered userinfo endpoint
    #[arg(long, value_name = "URL")]
    pub(crate) userinfo_endpoint: Option<String>,
    /// Override the discovered JWKS URL
    #[arg(long, value_name = "URL")]
    pub(crate) jwks_uri: Option<String>,
    /// Override the discovered method: client_secret_basic or client_secret_post
    #[arg(long, value_name = "METHOD")]
    pub(crate) token_endpoint_auth_method: Option<TokenEndpointAuth>,
    /// microsoft: tenant IDs whose email addresses are trusted
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) tenant: Vec<String>,
    /// Custom issuer: treat its email_verified as verification by code
    #[arg(long)]
    pub(crate) trust_email_verified: bool,
    /// apple: team ID
    #[arg(long, value_name = "ID")]
    pub(crate) apple_team_id: Option<String>,
    /// apple: key ID
    #[arg(long, value_name = "ID")]
    pub(crate) apple_key_id: Option<String>,
    /// Return the provider's tokens from oauth/verify; otherwise they are stored encrypted only
    #[arg(long)]
    pub(crate) store_tokens: bool,
    /// Scopes in addition to those required for sign-in
    #[arg(long, value_delimiter = ',')]
    pub(crate) scope: Vec<String>,
    #[command(flatten)]
    pub(crate) answer: Answer,
}

/// `vestry signing-key`
#[derive(Debug, Subcommand)]
pub(crate) enum SigningKey {
    /// List an App's signing keys, oldest first
    List {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        #[command(flatten)]
        answer: Answer,
    },
    /// Create the next signing key
    #[command(after_help = "\
It is published within two minutes and signs after five. The current key stays
published until its last token has expired, so sessions are unaffected.

Example:
  vestry signing-key rotate app_… live")]
    Rotate {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Environment: test or live
        environment: Environment,
        #[command(flatten)]
        answer: Answer,
    },
    /// Revoke a compromised signing key and reject its JWTs
    #[command(after_help = "\
Revocation is permanent. Sessions are kept: they get JWTs from the new key, which is
created at once if the revoked key was signing. Backends that verify JWTs offline
accept the old ones until they refetch the key set, a minute later at most if they
respect Cache-Control. Restart any that cache the key set for longer.

Example:
  vestry signing-key list app_…
  vestry signing-key revoke app_… jwk_…")]
    Revoke {
        /// App ID (app_…)
        #[arg(value_parser = customers_app)]
        app: AppId,
        /// Signing key ID (jwk_…)
        key: SigningKeyId,
        #[command(flatten)]
        answer: Answer,
    },
}

/// `vestry audit`
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Verify that the audit log is unaltered and complete
    #[command(after_help = "\
Every use of a wallet and every change to an App, its keys or its settings is
recorded in hash chains, under keys that are not in the database. Broken chains are
listed, and the exit code is then 1. The service can keep running.

The rows of the audit and event logs and the signed checkpoints in the database
determine the scope of the check. The table of Apps does not.

With --against, the database is also compared with checkpoints stored elsewhere.
This detects rollbacks, and chains that are missing entirely.")]
    Verify {
        #[command(flatten)]
        against: Against,
        #[command(flatten)]
        answer: Answer,
    },
    /// Print the public key that verifies checkpoints
    #[command(after_help = "\
Store it separately from the database. The format is name+hash+base64, as accepted
by `vestry audit verify --key` and other verifiers of C2SP signed notes.")]
    Key {
        #[command(flatten)]
        answer: Answer,
    },
    /// Create a checkpoint, send it to the sinks, and print it
    #[command(after_help = "\
A checkpoint is a signed statement of the last entry of every audit chain. A running
service creates one each minute in which something changed. This one covers all
chains. Print it or mail it to someone: `vestry audit verify --against FILE` then
detects any rollback of the database to an earlier state. A running service also
writes it to its log.")]
    Checkpoint {
        #[command(flatten)]
        answer: Answer,
    },
    /// Export old audit entries to a file, then delete them
    #[command(after_help = "\
Removes the entries older than DATE from the start of each App's chains. The last
entry of each chain and all entries about key exports are kept. The file contains
one line of JSON per entry; its SHA-256 is recorded in the audit log. Entries are
deleted only after the file is on disk. A signed marker records where each chain
continues, and `vestry audit verify` starts there.

Keep the file for as long as your retention rules require. Do not run two at once;
the service can keep running.")]
    Prune {
        /// Remove entries before this date (2027-01-31, midnight UTC) or time (2027-01-31T18:30:00Z)
        #[arg(long, value_name = "DATE", value_parser = moment)]
        before: Timestamp,
        /// File to write the entries to; must not exist
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        #[command(flatten)]
        answer: Answer,
    },
    /// Acknowledge an audit finding
    #[command(after_help = "\
`vestry audit verify` then no longer fails on it: after a failover that lost the
last commits, for example. The finding stays listed as acknowledged, with the
reason. Other findings about the same chain still fail. The reason is recorded in
the audit log.")]
    Acknowledge {
        /// Subject of the finding, as listed: a chain (auditchain_…), a checkpoint number, or APP/ENVIRONMENT for its events
        about: String,
        /// Why it is acceptable, up to 200 bytes
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        against: Against,
        #[command(flatten)]
        answer: Answer,
    },
}

/// Parses a date, or a time in RFC 3339.
fn moment(text: &str) -> Result<Timestamp, String> {
    let whole = match text.len() {
        10 => rfc3339::parse(&format!("{text}T00:00:00Z")),
        _ => rfc3339::parse(text),
    };
    whole.ok_or_else(|| {
        "must be a date such as 2027-01-31 (midnight UTC), or a time such as 2027-01-31T18:30:00Z".to_owned()
    })
}

/// Checkpoints to compare the database with.
#[derive(Debug, Args)]
pub(crate) struct Against {
    /// Checkpoints: directory, file or URL, also as JSON log lines; can be repeated
    #[arg(long = "against", value_name = "PATH|URL")]
    pub(crate) places: Vec<Kept>,
    /// Trusted key from `vestry audit key`, instead of the vault's; can be repeated
    #[arg(long = "key", value_name = "KEY", requires = "places")]
    pub(crate) keys: Vec<VerifierKey>,
}

/// The place where checkpoints are stored.
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
    /// Create the root key files of a new installation
    ///
    /// Keep copies of them separately from copies of the database.
    Init {
        #[command(flatten)]
        answer: Answer,
    },
    /// Show root key versions and the App keys they wrap
    Status {
        #[command(flatten)]
        answer: Answer,
    },
    /// Create new root keys and rewrap all App keys
    #[command(after_help = "\
The service can keep running. Wallets are not touched: root keys wrap App keys, and
App keys wrap everything else. The next run completes an interrupted rotation.
Without --retire, old versions remain available, because backups need them.")]
    RotateRoot {
        /// Destroy unused old versions; older backups can then no longer be decrypted
        #[arg(long)]
        retire: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Create new App keys and re-encrypt everything under them
    #[command(after_help = "\
The service can keep running. Each App has two keys per environment, one for wallets
and one for secrets such as passwords. Both are replaced. Wallet private keys are
not decrypted: only the keys that encrypt them are rewrapped. The next run completes
an interrupted rotation without creating new keys; run it once more to create them.
Old App keys are kept until --retire, or `vestry vault retire-apps`.")]
    RotateApps {
        /// Then retire old App keys, like `vestry vault retire-apps`
        #[arg(long)]
        retire: bool,
        #[command(flatten)]
        answer: Answer,
    },
    /// Destroy old App keys that are no longer in use
    #[command(after_help = "\
Older backups can then no longer be decrypted. The command creates no keys. It waits
until every process uses the newest ones (15 s; 30 s if an old key was still in
use). An old key for secrets is destroyed only an hour after its successor was
created, and once the codes, messages and stored responses under it have expired.
Run the command again a day or two after a rotation. Keys that are still needed are
listed with the reason. A wallet or secret that fails authentication keeps only its
own key alive.")]
    RetireApps {
        #[command(flatten)]
        answer: Answer,
    },
    /// Check that every key and secret can be decrypted
    ///
    /// Opens every App key, wallet key and stored secret, and compares wallet keys with their records.
    Verify {
        #[command(flatten)]
        answer: Answer,
    },
}

impl Command {
    /// The output format. Commands without `--json` print for people.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Dev(_)
            | Self::Serve
            | Self::Worker
            | Self::Openapi
            | Self::Users(Users::Export { .. }) => Format::Human,
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

/// Parses an App ID. Rejects the built-in App, which belongs to the service and is not configured by hand.
fn customers_app(text: &str) -> Result<AppId, String> {
    match text.parse::<AppId>() {
        Ok(AppId::BUILT_IN) => {
            Err("this App is built in and belongs to the service itself".to_owned())
        }
        Ok(app) => Ok(app),
        Err(error) => Err(error.to_string()),
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}

/// Accepts any text as a secret. Validation happens later, in code that does not repeat the value.
fn secret(text: &str) -> Result<Secret<String>, Infallible> {
    Ok(Secret::new(text.to_owned()))
}

#[cfg(test)]
mod tests;
