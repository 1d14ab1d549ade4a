//! A throwaway Redis or Valkey.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::child_guard::ChildGuard;
use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::{debian, process, temporary, wait};

/// Reported if Redis is missing and must not be installed.
pub const MISSING: Missing = Missing {
    lanes: &["redis"],
    remedy: "apt-get install redis-server, or put redis-server or valkey-server on PATH",
};

/// The server program. Installs one if it is missing and installing is allowed.
pub fn find_or_install(install: bool) -> Result<Option<PathBuf>, Failure> {
    let find = || process::find("redis-server").or_else(|| process::find("valkey-server"));
    debian::find_or_install(find, install, &["redis-server"])
}

/// A running server, stopped on drop.
pub struct Redis {
    guard: ChildGuard,
    port: u16,
}

impl Redis {
    /// Starts a server on a free port that writes nothing to the disk.
    pub fn start(program: PathBuf) -> Result<Self, Failure> {
        let directory = temporary::directory("redis")?;
        let port = wait::free_port()?;
        let log = File::create(directory.join("log")).context("cannot create the Redis log")?;
        let mut server = Command::new(program);
        server.args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
        ]);
        server.arg(&directory);
        let mut guard = ChildGuard::start(&server, "TERM", log, Some(&directory))?;
        let limit = Duration::from_secs(30);
        guard.wait_until_ready("Redis", limit, || answers(port).then_some(()))?;
        Ok(Self { guard, port })
    }

    /// The URL of the server.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Stops the server.
    pub fn stop(self) -> Result<(), Failure> {
        self.guard.stop().map(drop)
    }
}

/// Whether the server answers a ping.
fn answers(port: u16) -> bool {
    let ping = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"+PONG")
    };
    ping().unwrap_or(false)
}
