//! The console: pages on which operators sign in and administer a deployment.
//!
//! A page is rendered from a template, a form is posted and answered with a redirect. Every response passes through `page`, which adds the
//! security headers; every form through `form`, which checks that one of our own pages sent it. A page never decides what its operator
//! may do: use cases do, with the operator's principal. Only passkeys need a script.

mod activity;
mod alarms;
mod app;
mod assets;
mod audit;
mod by_api;
mod charts;
mod checklist;
mod clock;
mod company;
mod cookie;
mod deployment;
mod device;
mod event_rows;
mod events;
mod filters;
mod flash;
mod form;
mod frame;
mod handler;
mod join;
mod json;
mod keys;
mod leave;
mod management_keys;
mod me;
mod messages;
mod methods;
mod operators;
mod overview;
mod page;
mod passkeys;
mod problems;
mod providers;
mod qr;
mod query;
mod quick_start;
mod redirect_urls;
mod settings;
mod sign_in;
mod start;
mod step_up;
mod submission;
mod theme;
mod users;
mod visit;
mod wallets;
mod webhooks;

use actix_web::middleware::from_fn;
use actix_web::web::{self, Data, ServiceConfig};
use vestry_edge::CONSOLE;

use handler::Early;
use providers::trial;

/// The settings of the console.
#[derive(Debug, Clone)]
pub struct ConsoleSettings {
    /// The origin, such as `https://console.example.com`. Forms are accepted from it only.
    pub origin: String,
}

impl ConsoleSettings {
    /// Whether browsers reach it over HTTPS. Only `vestry dev` does without.
    fn is_secure(&self) -> bool {
        self.origin.starts_with("https://")
    }
}

/// Returns the configuration of an actix `App` that serves the pages. The application data has to contain the
/// [`State`](vestry_edge::State).
pub fn pages(settings: ConsoleSettings) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let settings = Data::new(settings);
    move |config| {
        let get = web::get;
        let post = web::post;
        let pages = web::scope(CONSOLE)
            .app_data(settings.clone())
            .route("", get().to(start::to_start))
            .route("/", get().to(Early(start::show)))
            .route("/sign-in", get().to(sign_in::show))
            .route("/sign-in", post().to(sign_in::by_password))
            .route("/sign-in/company", post().to(company::leave))
            .route("/sign-in/company/callback", get().to(company::come_back))
            .route("/sign-in/code", post().to(sign_in::send_code))
            .route("/sign-in/code/verify", post().to(sign_in::by_code))
            .route("/sign-in/passkey", post().to(passkeys::sign_in))
            .route("/sign-in/passkey/options", post().to(passkeys::to_sign_in))
            .route("/sign-out", post().to(sign_in::sign_out))
            .route("/join", get().to(join::show))
            .route("/join", post().to(join::accept))
            .route("/step-up", get().to(step_up::show))
            .route("/step-up", post().to(step_up::prove))
            .route("/step-up/passkey/options", post().to(passkeys::to_step_up))
            .route("/me", get().to(me::show))
            .route("/me/password", get().to(me::show))
            .route("/me/password", post().to(me::set_password))
            .route("/me/totp", get().to(me::show))
            .route("/me/totp", post().to(me::create_totp))
            .route("/me/totp/verify", get().to(me::show))
            .route("/me/totp/verify", post().to(me::verify_totp))
            .route("/me/totp/remove", get().to(me::show))
            .route("/me/totp/remove", post().to(me::remove_totp))
            .route("/me/passkeys", get().to(me::show))
            .route("/me/passkeys", post().to(me::create_passkey))
            .route("/me/passkeys/options", post().to(passkeys::to_create))
            .route("/me/passkeys/remove", get().to(me::show))
            .route("/me/passkeys/remove", post().to(me::remove_passkey))
            .route("/me/sessions/end", get().to(me::show))
            .route("/me/sessions/end", post().to(me::end_session))
            .route("/theme", post().to(me::set_theme))
            .route("/apps/new", get().to(Early(start::new_app)))
            .route("/apps/new", post().to(Early(start::create_app)))
            .route("/operators", get().to(Early(operators::list)))
            .route("/operators/invite", get().to(Early(operators::invitation)))
            .route("/operators/invite", post().to(Early(operators::invite)))
            .route(
                "/operators/invitations/{id}/withdraw",
                get().to(Early(operators::confirm_withdrawal)),
            )
            .route(
                "/operators/invitations/{id}/withdraw",
                post().to(Early(operators::withdraw)),
            )
            .route("/operators/{id}", get().to(Early(operators::show)))
            .route("/operators/{id}", post().to(Early(operators::save)))
            .route(
                "/operators/{id}/{action}",
                get().to(Early(operators::confirm)),
            )
            .route("/operators/{id}/{action}", post().to(Early(operators::act)))
            .route("/deployment", get().to(Early(deployment::show)))
            .route("/management-keys", get().to(Early(management_keys::list)))
            .route(
                "/management-keys/new",
                get().to(Early(management_keys::new)),
            )
            .route(
                "/management-keys/new",
                post().to(Early(management_keys::create)),
            )
            .route(
                "/management-keys/{id}/revoke",
                get().to(Early(management_keys::confirm_revocation)),
            )
            .route(
                "/management-keys/{id}/revoke",
                post().to(Early(management_keys::revoke)),
            )
            .route("/assets/{hash}/{name}", get().to(page::file))
            .service(
                web::scope("/{app}/{environment}")
                    .route("/", get().to(Early(overview::show)))
                    .route("/quick-start", get().to(Early(quick_start::show)))
                    .route("/users", get().to(Early(users::list)))
                    .route("/users/{id}", get().to(Early(users::show)))
                    .route("/users/{id}/edit", get().to(Early(users::edit)))
                    .route("/users/{id}/edit", post().to(Early(users::save)))
                    .route("/users/{id}/{action}", get().to(Early(users::confirm)))
                    .route("/users/{id}/{action}", post().to(Early(users::act)))
                    .route("/wallets", get().to(Early(wallets::list)))
                    .route("/wallets/{id}", get().to(Early(wallets::show)))
                    .route("/wallets/{id}/{action}", get().to(Early(wallets::confirm)))
                    .route("/wallets/{id}/{action}", post().to(Early(wallets::act)))
                    .route("/messages", get().to(Early(messages::list)))
                    .route("/messages/clear", get().to(Early(messages::confirm)))
                    .route("/messages/clear", post().to(Early(messages::clear)))
                    .route("/clock", get().to(Early(clock::show)))
                    .route("/clock/{id}", get().to(Early(clock::show)))
                    .route("/clock/{id}", post().to(Early(clock::change)))
                    .route("/methods", get().to(Early(methods::list)))
                    .route("/methods/mail", get().to(Early(methods::list)))
                    .route("/methods/mail", post().to(Early(methods::send_mail)))
                    .route("/providers", get().to(Early(providers::new)))
                    .route("/providers", post().to(Early(providers::create)))
                    .route("/providers/{id}", get().to(Early(providers::show)))
                    .route("/providers/{id}", post().to(Early(providers::save)))
                    .route("/providers/{id}/check", get().to(Early(providers::show)))
                    .route("/providers/{id}/check", post().to(Early(providers::check)))
                    .route("/providers/{id}/trial", get().to(Early(trial::come_back)))
                    .route("/providers/{id}/trial", post().to(Early(trial::begin)))
                    .route(
                        "/providers/{id}/remove",
                        get().to(Early(providers::confirm_removal)),
                    )
                    .route(
                        "/providers/{id}/remove",
                        post().to(Early(providers::remove)),
                    )
                    .route("/redirect-urls", get().to(Early(redirect_urls::list)))
                    .route("/redirect-urls", post().to(Early(redirect_urls::add)))
                    .route(
                        "/redirect-urls/{id}/default",
                        get().to(Early(redirect_urls::list)),
                    )
                    .route(
                        "/redirect-urls/{id}/default",
                        post().to(Early(redirect_urls::make_default)),
                    )
                    .route(
                        "/redirect-urls/{id}/remove",
                        get().to(Early(redirect_urls::confirm_removal)),
                    )
                    .route(
                        "/redirect-urls/{id}/remove",
                        post().to(Early(redirect_urls::remove)),
                    )
                    .route("/settings", get().to(Early(settings::list)))
                    .route("/settings", post().to(Early(settings::save)))
                    .route("/settings/review", get().to(Early(settings::list)))
                    .route("/settings/review", post().to(Early(settings::review)))
                    .route("/audit", get().to(Early(audit::list)))
                    .route("/events", get().to(Early(events::list)))
                    .route("/events/{id}", get().to(Early(events::show)))
                    .route("/keys", get().to(Early(keys::list)))
                    .route("/keys/new", get().to(Early(keys::new)))
                    .route("/keys/new", post().to(Early(keys::create)))
                    .route("/keys/{id}/edit", get().to(Early(keys::edit)))
                    .route("/keys/{id}/edit", post().to(Early(keys::update)))
                    .route("/keys/{id}/rotate", get().to(Early(keys::confirm_rotation)))
                    .route("/keys/{id}/rotate", post().to(Early(keys::rotate)))
                    .route(
                        "/keys/{id}/revoke",
                        get().to(Early(keys::confirm_revocation)),
                    )
                    .route("/keys/{id}/revoke", post().to(Early(keys::revoke)))
                    .route("/webhooks", get().to(Early(webhooks::list)))
                    .route("/webhooks/new", get().to(Early(webhooks::new)))
                    .route("/webhooks/new", post().to(Early(webhooks::create)))
                    .route("/webhooks/{id}", get().to(Early(webhooks::show)))
                    .route("/webhooks/{id}/edit", get().to(Early(webhooks::edit)))
                    .route("/webhooks/{id}/edit", post().to(Early(webhooks::save)))
                    .route(
                        "/webhooks/{id}/rotate",
                        get().to(Early(webhooks::confirm_rotation)),
                    )
                    .route("/webhooks/{id}/rotate", post().to(Early(webhooks::rotate)))
                    .route("/webhooks/{id}/test", get().to(Early(webhooks::new_test)))
                    .route("/webhooks/{id}/test", post().to(Early(webhooks::test)))
                    .route(
                        "/webhooks/{id}/enable",
                        get().to(Early(webhooks::confirm_enabling)),
                    )
                    .route("/webhooks/{id}/enable", post().to(Early(webhooks::enable)))
                    .route(
                        "/webhooks/{id}/disable",
                        get().to(Early(webhooks::confirm_disabling)),
                    )
                    .route(
                        "/webhooks/{id}/disable",
                        post().to(Early(webhooks::disable)),
                    )
                    .route("/webhooks/{id}/replay", get().to(Early(webhooks::show)))
                    .route("/webhooks/{id}/replay", post().to(Early(webhooks::replay)))
                    .route(
                        "/webhooks/{id}/deliveries/{delivery}",
                        get().to(Early(webhooks::show_delivery)),
                    )
                    .route(
                        "/webhooks/{id}/deliveries/{delivery}/replay",
                        get().to(Early(webhooks::show_delivery)),
                    )
                    .route(
                        "/webhooks/{id}/deliveries/{delivery}/replay",
                        post().to(Early(webhooks::replay_one)),
                    ),
            )
            .default_service(web::to(page::unknown))
            .wrap(from_fn(page::finish));
        config.service(pages);
    }
}
