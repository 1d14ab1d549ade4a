//! `cargo xtask browser`: passkeys and identity provider sign-in in a real browser.

use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::dev_server::{self, Built, DevServer};
use crate::failure::Failure;
use crate::lane::Missing;
use crate::python::{self, Python};
use crate::{debian, process};

pub(crate) const ABOUT: &str = "\
Register and use passkeys in Chromium, and sign in through the built-in identity provider.

Starts `vestry dev` on a free port and a small web page whose server forwards the calls with the test key, like an
integrator's backend. selenium drives headless Chromium with two virtual authenticators, one internal and one external.
It tests registration, sign-in with and without a named user, and requests that must be rejected.
--no-install   do not install Python or Chromium with apt-get if missing";

/// Reported if Chromium is missing and must not be installed.
const MISSING: Missing = Missing {
    lanes: &["browser"],
    remedy: "apt-get install chromium chromium-driver",
};

/// Chromium and its driver.
pub(crate) struct Chromium {
    browser: PathBuf,
    driver: PathBuf,
}

impl Chromium {
    fn find() -> Option<Self> {
        Some(Self {
            browser: process::find("chromium").or_else(|| process::find("google-chrome"))?,
            driver: process::find("chromedriver")?,
        })
    }

    /// Finds Chromium, or installs it if allowed; otherwise reports that the lane is skipped.
    pub(crate) fn prepare(install: bool) -> Result<Option<Self>, Failure> {
        match debian::find_or_install(Self::find, install, &["chromium", "chromium-driver"])? {
            Some(found) => Ok(Some(found)),
            None => MISSING.announce().map(|()| None),
        }
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("browser", arguments);
    let install = arguments.install();
    arguments.end()?;
    let Some(python) = Python::prepare(install)? else {
        return python::MISSING.announce();
    };
    match Chromium::prepare(install)? {
        Some(chromium) => check(&python, &chromium, &dev_server::build(Built::Alone)?),
        None => Ok(()),
    }
}

/// Runs all scripts against a fresh server, even after one of them failed.
pub(crate) fn check(python: &Python, chromium: &Chromium, binary: &Path) -> Result<(), Failure> {
    let server = DevServer::start(binary, "browser")?;
    let run = |script: &str| {
        process::run(
            python
                .script(script)
                .env("VESTRY_DEV_JSON", server.ready_file())
                .env("VESTRY_BINARY", binary)
                .env("VESTRY_CHROMIUM", &chromium.browser)
                .env("VESTRY_CHROMEDRIVER", &chromium.driver),
        )
    };
    let checked = [run("passkeys.py"), run("oauth.py"), run("reference.py")];
    server.stop()?;
    checked.into_iter().collect()
}
