//! Installation of servers with the system's package manager.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::failure::{Context, Failure};
use crate::process;

/// Whether this process can install packages: as root, on Debian or a derivative.
fn can_install() -> bool {
    Path::new("/etc/debian_version").exists() && process::find("apt-get").is_some() && is_root()
}

/// Whether we run as root.
pub fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| {
        process::output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
    })
}

/// Finds a program, or installs its packages if allowed and possible.
pub fn find_or_install<T>(
    find: impl Fn() -> Option<T>,
    install: bool,
    packages: &[&str],
) -> Result<Option<T>, Failure> {
    match find() {
        None if install && can_install() => self::install(packages).map(|()| find()),
        found => Ok(found),
    }
}

/// Installs packages without starting their services.
fn install(packages: &[&str]) -> Result<(), Failure> {
    eprintln!("xtask: installing {} with apt-get", packages.join(", "));
    refresh_lists()?;
    let _no_services = NoServices::begin()?;
    process::run_quietly(
        apt_get()
            .args([
                "install",
                "--yes",
                "--no-install-recommends",
                "--option",
                "Dpkg::Use-Pty=0",
                "--",
            ])
            .args(packages),
    )
}

/// `apt-get update`, once per run.
pub fn refresh_lists() -> Result<(), Failure> {
    static DONE: OnceLock<()> = OnceLock::new();
    if DONE.get().is_none() {
        process::run_quietly(apt_get().arg("update"))?;
        DONE.get_or_init(|| ());
    }
    Ok(())
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // RUNLEVEL=1 keeps the scripts of System V packages from starting services, policy-rc.d those of systemd packages.
    command
        .arg("--quiet")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("RUNLEVEL", "1")
        .stderr(Stdio::piped());
    command
}

/// A guard that keeps newly installed packages from starting their services.
struct NoServices {
    /// Whether we created the policy and must remove it.
    ours: bool,
}

/// Called by `invoke-rc.d` before a package starts its service; exit code 101 forbids it.
const POLICY: &str = "/usr/sbin/policy-rc.d";

impl NoServices {
    fn begin() -> Result<Self, Failure> {
        let created = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(POLICY);
        match created {
            Ok(mut file) => {
                std::io::Write::write_all(&mut file, b"#!/bin/sh\nexit 101\n")
                    .context("cannot write policy-rc.d")?;
                Ok(Self { ours: true })
            }
            // The machine has its own policy, as container images usually do.
            Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {
                Ok(Self { ours: false })
            }
            Err(cause) => Err(cause).context("cannot create policy-rc.d"),
        }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.ours
            && let Err(cause) = fs::remove_file(POLICY)
        {
            eprintln!("xtask: cannot remove {POLICY}: {cause}");
        }
    }
}
