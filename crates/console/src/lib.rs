//! The console: pages on which operators sign in and administer a deployment.
//!
//! A page is rendered from a template, a form is posted and answered with a redirect. Every response passes through `page`, which adds the
//! security headers; every form through `form`, which checks that one of our own pages sent it. A page never decides what its operator
//! may do: use cases do, with the operator's principal. Only passkeys need a script.

mod cookie;
mod form;
mod join;
mod me;
mod page;
mod passkeys;
mod sign_in;
mod start;
mod step_up;
mod visit;

use actix_web::middleware::from_fn;
use actix_web::web::{self, Data, ServiceConfig};
use vestry_edge::CONSOLE;

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
            .route("/", get().to(start::show))
            .route("/sign-in", get().to(sign_in::show))
            .route("/sign-in", post().to(sign_in::by_password))
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
            .route("/me/password", post().to(me::set_password))
            .route("/me/totp", post().to(me::create_totp))
            .route("/me/totp/verify", post().to(me::verify_totp))
            .route("/me/totp/remove", post().to(me::remove_totp))
            .route("/me/passkeys", post().to(me::create_passkey))
            .route("/me/passkeys/options", post().to(passkeys::to_create))
            .route("/me/passkeys/remove", post().to(me::remove_passkey))
            .route("/me/sessions/end", post().to(me::end_session))
            .route("/assets/passkeys.js", get().to(passkeys::script))
            .default_service(web::to(page::unknown))
            .wrap(from_fn(page::finish));
        config.service(pages);
    }
}
