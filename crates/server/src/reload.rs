//! Reloading of settings on SIGHUP, all or nothing (PR-89).

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::level_filters::LevelFilter;
use vestry_app::Service;
use vestry_edge::{LoggedRequests, TrustedProxies, WebSettings};

use crate::config::{Settings, Texts};
use crate::failure::Failure;
use crate::tls::{Certificate, Prepared};
use crate::transports::Transports;
use crate::{compose, logging, signals};

/// The parts of a process whose settings can be reloaded.
pub(crate) struct Reload {
    /// The settings file that the command line names.
    file: Option<PathBuf>,
    /// The settings in force.
    known: Mutex<Known>,
    certificate: Option<Arc<Certificate>>,
    proxies: TrustedProxies,
    logged: LoggedRequests,
    transports: Transports,
}

struct Known {
    texts: Texts,
    level: LevelFilter,
}

/// The result of a reload.
struct Changes {
    reloaded: Vec<&'static str>,
    need_restart: Vec<&'static str>,
}

impl Reload {
    pub(crate) fn new(
        file: Option<PathBuf>,
        (settings, texts): (&Settings, Texts),
        certificate: Option<Arc<Certificate>>,
        web: &WebSettings,
        transports: Transports,
    ) -> Self {
        let level = settings.log.level;
        Self {
            file,
            known: Mutex::new(Known { texts, level }),
            certificate,
            proxies: web.trusted_proxies.clone(),
            logged: web.logged.clone(),
            transports,
        }
    }

    /// Reloads at each SIGHUP, for as long as it is polled.
    pub(crate) async fn on_hangup(self, service: Arc<Service>) {
        let watched = signals::on_hangup(|| self.reload(&service)).await;
        if let Err(failure) = watched {
            let reason = failure.to_string();
            tracing::warn!(
                reason,
                "cannot handle SIGHUP; settings will not be reloaded"
            );
        }
    }

    fn reload(&self, service: &Service) {
        match self.try_to_reload(service) {
            Ok(Changes {
                reloaded,
                need_restart,
            }) => {
                if reloaded.is_empty() && need_restart.is_empty() {
                    tracing::info!("settings reloaded: nothing has changed");
                }
                if !need_restart.is_empty() {
                    let names = need_restart.join(", ");
                    tracing::warn!("restart needed for: {names}");
                }
            }
            Err(failure) => {
                tracing::error!("settings not reloaded: {failure}; the old ones stay");
            }
        }
    }

    /// Reads everything first. From then on nothing can fail.
    fn try_to_reload(&self, service: &Service) -> Result<Changes, Failure> {
        let (settings, texts) = Settings::load(self.file.as_deref())?;
        let certificate = match (&self.certificate, &settings.http.tls) {
            (Some(_), Some(files)) => Some(Certificate::prepare(files)?),
            _ => None,
        };
        let transports = compose::transports(&settings)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = known.texts.changed(&texts);
        let is_live = |name: &&str| match *name {
            "log.level" | "log.requests" | "http.trusted_proxies" => true,
            "http.tls.cert" | "http.tls.key" => certificate.is_some(),
            name if name.starts_with("mail.smtp.") => self.transports.can_replace_mail(&transports),
            name if name.starts_with("sms.http.") => self.transports.can_replace_sms(&transports),
            _ => false,
        };
        let (mut reloaded, need_restart): (Vec<_>, Vec<_>) = changed.into_iter().partition(is_live);
        known.texts.take(&reloaded, texts);
        if self.use_certificate(certificate, service) && !reloaded.contains(&"http.tls.cert") {
            reloaded.push("http.tls.cert");
        }
        self.proxies.set(settings.http.trusted_proxies.clone());
        self.logged.set(settings.log.requests);
        if reloaded
            .iter()
            .any(|name| name.starts_with("mail.") || name.starts_with("sms."))
        {
            self.transports.replace(&transports);
        }
        // The line is shown at the old level or at the new one.
        let level = settings.log.level;
        if level > known.level {
            logging::set_level(level);
        }
        if !reloaded.is_empty() {
            let names = reloaded.join(", ");
            tracing::info!("settings reloaded: {names}");
        }
        logging::set_level(level);
        known.level = level;
        Ok(Changes {
            reloaded,
            need_restart,
        })
    }

    /// Returns whether it is another certificate.
    fn use_certificate(&self, fresh: Option<Prepared>, service: &Service) -> bool {
        let (Some(certificate), Some(fresh)) = (&self.certificate, fresh) else {
            return false;
        };
        let is_other = certificate.install(fresh);
        if let Ok(expires) = certificate.expires_at() {
            service.certificate_expires(expires);
        }
        is_other
    }
}
