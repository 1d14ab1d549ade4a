//! Operators who click through the pages of the console.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reqwest::header::{COOKIE, LOCATION, ORIGIN, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use vestry_domain::totp;

use crate::Failure;
use crate::stopwatch::percentile;

/// An operator's browser: one session over any number of connections.
#[derive(Clone)]
pub(crate) struct Console {
    http: Client,
    service: String,
    /// The URL at which the console believes to be.
    origin: String,
    cookies: BTreeMap<String, String>,
}

/// How operators click.
pub(crate) struct Clicks {
    pub(crate) app: String,
    pub(crate) operators: usize,
    /// How long an operator looks at a page.
    pub(crate) pause: Duration,
    pub(crate) time: Duration,
}

/// The pages of an environment, by the name under which they are listed.
const OF_ENVIRONMENT: [(&str, &str); 18] = [
    ("overview", ""),
    ("quick start", "quick-start"),
    ("users", "users"),
    ("users, by address", "users?q={address}"),
    ("users, by part of a name", "users?q={name}"),
    ("user", "users/{user}"),
    ("wallets", "wallets"),
    ("wallets, by address", "wallets?q={wallet}"),
    ("sign-in methods", "methods"),
    ("provider", "providers/google"),
    ("redirect URLs", "redirect-urls"),
    ("settings", "settings"),
    ("keys", "keys"),
    ("webhooks", "webhooks"),
    ("events", "events"),
    ("events, one type", "events?type=wallet.created"),
    ("audit log", "audit"),
    ("test messages", "messages"),
];
const OTHERS: [(&str, &str); 5] = [
    ("Apps", "/console/"),
    ("operators", "/console/operators"),
    ("management keys", "/console/management-keys"),
    ("deployment", "/console/deployment"),
    ("account", "/console/me"),
];

impl Console {
    pub(crate) fn new(service: &str, origin: &str, session: &str) -> Result<Self, Failure> {
        let cookies = session.split_once('=').into_iter();
        Ok(Self {
            http: Client::builder()
                .tls_certs_only([])
                .redirect(Policy::none())
                .pool_idle_timeout(Duration::from_secs(2))
                .build()?,
            service: service.to_owned(),
            origin: origin.to_owned(),
            cookies: cookies
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        })
    }

    /// Joins with a link, sets both factors up, and prints the cookie of the session.
    pub(crate) async fn join(mut self, link: &str) -> Result<(), Failure> {
        let path = link.strip_prefix(&self.origin).ok_or("a foreign link")?;
        let token = after(path, "token=").ok_or("a link without a token")?;
        let page = self.get(path).await?;
        let form = [("form_token", field(&page)?), ("link", token.to_owned())];
        self.post("/console/join", &form).await?;
        let page = self.get("/console/me").await?;
        let password = "violet-harbour-77-lantern".to_owned();
        let form = [("form_token", field(&page)?), ("password", password)];
        self.post("/console/me/password", &form).await?;
        let page = self.get("/console/me").await?;
        let form = [("form_token", field(&page)?)];
        let shown = self.post("/console/me/totp", &form).await?;
        let secret = after(&shown, "<code>").and_then(|rest| rest.split_once('<'));
        let (secret, _) = secret.ok_or("no secret for an authenticator app")?;
        let seed = data_encoding::BASE32_NOPAD.decode(secret.as_bytes())?;
        let now = now()?;
        let code = totp::code_at(&seed, i64::try_from(now / 30)?);
        let form = [
            ("form_token", field(&shown)?),
            ("code", code.expose().clone()),
        ];
        self.post("/console/me/totp/verify", &form).await?;
        let session = self
            .cookies
            .iter()
            .find(|(name, _)| name.ends_with("vestry_console"));
        let (name, value) = session.ok_or("no session")?;
        println!("{name}={value}");
        Ok(())
    }

    /// Clicks for a while. Prints a line for all pages, and one for each: the name, the number of requests, and the median, the 95th and the
    /// 99th percentile in milliseconds.
    pub(crate) async fn click(mut self, clicks: &Clicks) -> Result<(), Failure> {
        let pages = self.pages(&clicks.app).await?;
        let end = Instant::now() + clicks.time;
        let operators = (0..clicks.operators).map(|number| {
            let (mut console, pages) = (self.clone(), pages.clone());
            let pause = clicks.pause;
            // Each begins elsewhere, and not at the same moment.
            let first = number * pages.len() / clicks.operators.max(1);
            let late = pause * u32::try_from(number).unwrap_or(0)
                / u32::try_from(clicks.operators).unwrap_or(1);
            tokio::spawn(async move {
                tokio::time::sleep(late).await;
                let mut times = Vec::new();
                for (name, page) in pages.iter().cycle().skip(first) {
                    let begun = Instant::now();
                    if begun >= end {
                        break;
                    }
                    console.get(page).await?;
                    times.push((*name, begun.elapsed()));
                    tokio::time::sleep(pause).await;
                }
                Ok::<_, Failure>(times)
            })
        });
        let operators: Vec<_> = operators.collect();
        let mut all = Vec::new();
        for operator in operators {
            all.extend(operator.await??);
        }
        print("all", all.iter().map(|(_, time)| *time));
        for (name, _) in &pages {
            let of_it = all.iter().filter(|(own, _)| own == name);
            print(name, of_it.map(|(_, time)| *time));
        }
        Ok(())
    }

    /// The addresses of the pages, about objects that exist.
    async fn pages(&mut self, app: &str) -> Result<Vec<(&'static str, String)>, Failure> {
        let environment = format!("/console/{app}/test/");
        let users = self.get(&format!("{environment}users")).await?;
        let user = link(&users, &format!("{environment}users/user_")).ok_or("no user")?;
        let shown = self.get(&user).await?;
        let id = user.rsplit_once('/').map_or("", |(_, id)| id);
        let wallets = self.get(&format!("{environment}wallets")).await?;
        let wallet = after(&wallets, "0x").and_then(|rest| rest.get(..40));
        let address = shown
            .split(['<', '>', '"', ' '])
            .find(|word| word.contains('@') && word.contains(".example"))
            .ok_or("a user without an address")?;
        let filled = |page: &str| {
            page.replace("{user}", id)
                .replace(
                    "{address}",
                    &address.replace('@', "%40").replace('+', "%2B"),
                )
                .replace(
                    "{name}",
                    id.get(id.len().saturating_sub(4)..).unwrap_or("a"),
                )
                .replace("{wallet}", &format!("0x{}", wallet.unwrap_or_default()))
        };
        let of_environment = OF_ENVIRONMENT
            .iter()
            .map(|(name, page)| (*name, format!("{environment}{}", filled(page))));
        let others = OTHERS
            .iter()
            .map(|(name, page)| (*name, (*page).to_owned()));
        Ok(of_environment.chain(others).collect())
    }

    async fn get(&mut self, path: &str) -> Result<String, Failure> {
        let request = self.http.get(format!("{}{path}", self.service));
        self.send(path, request).await
    }

    async fn post(&mut self, path: &str, form: &[(&str, String)]) -> Result<String, Failure> {
        let body = form
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join("&");
        let request = self
            .http
            .post(format!("{}{path}", self.service))
            .header(ORIGIN, &self.origin)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body);
        self.send(path, request).await
    }

    async fn send(&mut self, path: &str, request: RequestBuilder) -> Result<String, Failure> {
        let cookies = self.cookies.iter();
        let cookies: Vec<_> = cookies
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let answer = request.header(COOKIE, cookies.join("; ")).send().await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        for cookie in headers.get_all(SET_COOKIE) {
            let pair = cookie.to_str()?.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let text = answer.text().await?;
        let location = headers
            .get(LOCATION)
            .and_then(|location| location.to_str().ok());
        match status.as_u16() {
            200 => Ok(text),
            303 if location.is_some_and(|to| !to.contains("/sign-in")) => Ok(text),
            _ => Err(format!("{path} returned {status}, {location:?}").into()),
        }
    }
}

/// The time, in seconds.
#[expect(clippy::disallowed_methods, reason = "not a part of the service")]
fn now() -> Result<u64, Failure> {
    Ok(std::time::UNIX_EPOCH.elapsed()?.as_secs())
}

fn print(name: &str, times: impl Iterator<Item = Duration>) {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let [p50, p95, p99] = [50, 95, 99].map(|percent| percentile(&times, percent));
    println!("{name}\t{}\t{p50:.2}\t{p95:.2}\t{p99:.2}", times.len());
}

/// The rest of a text behind a mark.
fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark).map(|(_, rest)| rest)
}

/// The first link of a page that begins like this.
fn link(page: &str, start: &str) -> Option<String> {
    let rest = after(page, &format!("href=\"{start}"))?;
    let (end, _) = rest.split_once('"')?;
    Some(format!("{start}{end}"))
}

/// The token of the forms of a page.
fn field(page: &str) -> Result<String, Failure> {
    let rest = after(page, "name=\"form_token\" value=\"").ok_or("a page without a form")?;
    let (token, _) = rest.split_once('"').ok_or("a page without a form")?;
    Ok(token.to_owned())
}
