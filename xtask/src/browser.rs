//! `cargo xtask browser`: passkeys, identity provider sign-in and the console in a real browser.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::arguments::Arguments;
use crate::dev_server::{self, Built, DevServer};
use crate::failure::Failure;
use crate::lane::Missing;
use crate::node::{self, Node};
use crate::python::{self, Python};
use crate::{debian, process, project};

pub(crate) const ABOUT: &str = "\
Register and use passkeys in Chromium, sign in through the built-in identity provider, and open every page of the console.

Starts `vestry dev` on a free port and a small web page whose server forwards the calls with the test key, like an
integrator's backend. selenium drives headless Chromium with two virtual authenticators, one internal and one external.
It tests registration, sign-in with and without a named user, and requests that must be rejected.
Every page of the console is opened wide and light, and narrow and dark. axe-core checks each page in one of the two, and
journeys use forms without JavaScript and without a mouse.
--all          open the console in every width and theme, with axe-core on every page
--pictures     take the pictures of README.md and docs/console.md instead of testing
--no-install   do not install Python, Node or Chromium with apt-get if missing";

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

/// The looks in which the console is opened: two widths and two themes, or half of their combinations.
#[derive(Clone, Copy)]
pub(crate) enum Looks {
    Usual,
    All,
}

/// The pictures of the documentation.
const PICTURES: &str = "docs/console";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("browser", arguments);
    let install = arguments.install();
    let looks = match arguments.flag("--all") {
        true => Looks::All,
        false => Looks::Usual,
    };
    let takes_pictures = arguments.flag("--pictures");
    arguments.end()?;
    let Some(python) = Python::prepare(install)? else {
        return python::MISSING.announce();
    };
    let Some(node) = Node::prepare(&node::INTEROP, install)? else {
        return node::MISSING.announce();
    };
    let Some(chromium) = Chromium::prepare(install)? else {
        return Ok(());
    };
    let programs = Programs {
        python: &python,
        node: &node,
        chromium: &chromium,
    };
    let binary = dev_server::build(Built::Alone)?;
    match takes_pictures {
        true => take_pictures(programs, &binary),
        false => check(programs, &binary, looks),
    }
}

/// What the scripts need.
#[derive(Clone, Copy)]
pub(crate) struct Programs<'a> {
    pub(crate) python: &'a Python,
    pub(crate) node: &'a Node,
    pub(crate) chromium: &'a Chromium,
}

impl Programs<'_> {
    fn script(self, name: &str, binary: &Path, server: &DevServer) -> Command {
        let mut command = self.python.script(name);
        command
            .env("VESTRY_DEV_JSON", server.ready_file())
            .env("VESTRY_BINARY", binary)
            .env("VESTRY_INTEROP_NODE", self.node.home())
            .env("VESTRY_CHROMIUM", &self.chromium.browser)
            .env("VESTRY_CHROMEDRIVER", &self.chromium.driver);
        command
    }
}

/// Runs all scripts against a fresh server, even after one of them failed.
pub(crate) fn check(programs: Programs<'_>, binary: &Path, looks: Looks) -> Result<(), Failure> {
    let server = DevServer::start(binary, "browser")?;
    let looks = match looks {
        Looks::Usual => "usual",
        Looks::All => "all",
    };
    let run = |name: &str| {
        let mut script = programs.script(name, binary, &server);
        process::run(script.env("VESTRY_CONSOLE_LOOKS", looks))
    };
    let mut checked = vec![run("passkeys.py"), run("oauth.py"), run("reference.py")];
    // The journey waits for counters most of the time, and has Apps of its own.
    thread::scope(|scope| {
        let journey = scope.spawn(|| run("console_journey.py"));
        checked.push(run("console.py"));
        let panicked = |_| Err(Failure::new("the journey panicked"));
        checked.push(journey.join().unwrap_or_else(panicked));
    });
    server.stop()?;
    checked.into_iter().collect()
}

/// Replaces the pictures of the documentation.
fn take_pictures(programs: Programs<'_>, binary: &Path) -> Result<(), Failure> {
    let server = DevServer::start(binary, "pictures")?;
    let mut script = programs.script("console_pictures.py", binary, &server);
    let taken = process::run(script.env("VESTRY_PICTURES", project::root().join(PICTURES)));
    server.stop()?;
    taken
}
