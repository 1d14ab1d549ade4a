//! `cargo xtask release`: builds the release binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::failure::{Context, Failure};
use crate::{environment, process, project, temporary};

pub(crate) const ABOUT: &str = "\
Build the release binary from the checked-out commit.

The commit is cloned into an empty directory and built there in the `dist` profile, so uncommitted changes are not included. The
binary contains no path of this machine: the same commit, toolchain and C compiler give the same bytes in any directory. It is
written to target/release-artifacts with its SHA-256. Takes about 12 minutes on two cores.

--twice   build again in another directory, and fail unless both are byte-for-byte identical (P6)";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("release", arguments);
    let is_twice = arguments.flag("--twice");
    arguments.end()?;
    let mut head = Command::new("git");
    head.current_dir(project::root())
        .args(["rev-parse", "HEAD"]);
    let commit = process::output(&mut head)?;
    let first = Build::of(commit.trim(), "release")?;
    let artifact = first.keep()?;
    let sum = sha256(&artifact)?;
    println!("{}  {sum}", artifact.display());
    if !is_twice {
        return Ok(());
    }
    // A name of another length, so that an embedded path would change the length too.
    let second = Build::of(commit.trim(), "release-in-another-folder")?;
    let other = sha256(&second.binary())?;
    if other != sum {
        let apart = artifact.with_extension("second");
        second.copy_to(&apart)?;
        let message = format!(
            "two builds of one commit differ: {sum} and {other}; the second is {}",
            apart.display()
        );
        return Err(Failure::new(message));
    }
    println!("release: two builds of one commit in two directories are identical");
    Ok(())
}

/// A clone of the commit with the built binary, deleted on drop.
struct Build {
    directory: PathBuf,
}

impl Build {
    fn of(commit: &str, purpose: &str) -> Result<Self, Failure> {
        let build = Self {
            directory: temporary::directory(purpose)?,
        };
        let mut clone = Command::new("git");
        clone
            .args(["clone", "--quiet", "--no-hardlinks"])
            .arg(project::root())
            .arg(build.source());
        process::run(&mut clone)?;
        let mut checkout = Command::new("git");
        checkout
            .current_dir(build.source())
            .args(["checkout", "--quiet", "--detach", commit]);
        process::run(&mut checkout)?;
        let begun = Instant::now();
        eprintln!("xtask: building in {}", build.source().display());
        process::run(&mut build.cargo()?)?;
        eprintln!("xtask: built in {} s", begun.elapsed().as_secs());
        Ok(build)
    }

    fn source(&self) -> PathBuf {
        self.directory.join("source")
    }

    fn binary(&self) -> PathBuf {
        self.source().join("target/dist/vestry")
    }

    /// The cargo command of this build, in which Rust and C see fixed names for its directory and the crates'.
    fn cargo(&self) -> Result<Command, Failure> {
        let source = self.source();
        let crates = cargo_home()?;
        let (source, crates) = (source.display(), crates.display());
        let of_rust = [
            format!("--remap-path-prefix={source}=/vestry"),
            format!("--remap-path-prefix={crates}=/cargo"),
        ];
        let of_c = format!("-ffile-prefix-map={source}=/vestry -ffile-prefix-map={crates}=/cargo");
        let mut command = project::cargo();
        command
            .current_dir(self.source())
            .args(["build", "--quiet", "--locked", "--profile", "dist"])
            .args(["--package", "vestry-server", "--bin", "vestry"])
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", of_rust.join("\u{1f}"))
            .env("CFLAGS", &of_c)
            .env("CXXFLAGS", &of_c)
            .env("SOURCE_DATE_EPOCH", self.date()?);
        Ok(command)
    }

    /// The commit's Unix time, for programs that embed a date in their output.
    fn date(&self) -> Result<String, Failure> {
        let mut log = Command::new("git");
        log.current_dir(self.source())
            .args(["log", "-1", "--format=%ct"]);
        Ok(process::output(&mut log)?.trim().to_owned())
    }

    /// Copies the binary to its final location and returns the path.
    fn keep(&self) -> Result<PathBuf, Failure> {
        let directory = project::target().join("release-artifacts");
        fs::create_dir_all(&directory).context(format!("cannot create {}", directory.display()))?;
        let artifact = directory.join("vestry");
        self.copy_to(&artifact)?;
        Ok(artifact)
    }

    fn copy_to(&self, path: &Path) -> Result<(), Failure> {
        let doing = || format!("cannot copy the binary to {}", path.display());
        fs::copy(self.binary(), path).map(drop).context(doing())
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        // Some gigabytes; what cannot be removed is left to the cleaning of /tmp.
        let _left = fs::remove_dir_all(&self.directory);
    }
}

/// Cargo's directory with the sources of crates.
fn cargo_home() -> Result<PathBuf, Failure> {
    let of_user = || Some(Path::new(&environment::variable("HOME")?).join(".cargo"));
    environment::variable("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(of_user)
        .ok_or_else(|| Failure::new("neither CARGO_HOME nor HOME says where the crates are"))
}

/// The SHA-256 of a file, in hex, by `sha256sum`.
fn sha256(path: &Path) -> Result<String, Failure> {
    let said = process::output(Command::new("sha256sum").arg(path))?;
    said.split_whitespace()
        .next()
        .map(str::to_owned)
        .ok_or_else(|| Failure::new("sha256sum printed nothing"))
}
