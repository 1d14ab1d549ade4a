//! `cargo xtask release`: builds the files of a release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::digest::sha256;
use crate::failure::{Context, Failure};
use crate::image::{Image, Packages};
use crate::{environment, process, project, sbom, temporary};

pub(crate) const ABOUT: &str = "\
Build a release from the checked-out commit.

The commit is cloned into an empty directory and built there in the `dist` profile, so uncommitted changes are not included. The
binary contains no path of this machine: the same commit, toolchain and C compiler give the same bytes in any directory. Takes
about 12 minutes on two cores. These files are written to target/release-artifacts:

  vestry            the binary
  vestry-oci.tar    its container image, as made by `cargo xtask image`; load it with `docker load` or `podman load`
  vestry.cdx.json   the bill of materials of both (CycloneDX)
  SHA256SUMS        their sums, for `sha256sum --check`

--twice   build again in another directory, and fail unless all files are byte-for-byte identical (P6)";

/// The file with the sums of the others.
const SUMS: &str = "SHA256SUMS";

/// Whether the image may have any size, because its binary is one of the tests'.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Limited,
    Any,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("release", arguments);
    let is_twice = arguments.flag("--twice");
    arguments.end()?;
    let mut head = Command::new("git");
    head.current_dir(project::root())
        .args(["rev-parse", "HEAD"]);
    let commit = process::output(&mut head)?;
    let directory = project::target().join("release-artifacts");
    let first = Build::of(commit.trim(), "release")?;
    let packages = Packages::of(&first.binary())?;
    let write = |build: &Build, to: &Path| {
        assemble(
            &build.source(),
            &build.binary(),
            &packages,
            to,
            Size::Limited,
        )
    };
    let sums = write(&first, &directory)?.sums;
    print!("{}\n{sums}", directory.display());
    if !is_twice {
        return Ok(());
    }
    // A name of another length, so that an embedded path would change the length too.
    let second = Build::of(commit.trim(), "release-in-another-folder")?;
    let apart = directory.join("second");
    let others = write(&second, &apart)?.sums;
    if others != sums {
        return Err(Failure::new(format!(
            "two builds of one commit differ; the second is in {}:\n{others}",
            apart.display()
        )));
    }
    fs::remove_dir_all(&apart).context(format!("cannot remove {}", apart.display()))?;
    println!("release: two builds of one commit in two directories are identical");
    Ok(())
}

/// A release in a directory.
pub(crate) struct Release {
    /// The content of [`SUMS`].
    sums: String,
    pub(crate) image: Image,
}

/// Writes the files of a release to a directory.
pub(crate) fn assemble(
    source: &Path,
    binary: &Path,
    packages: &Packages,
    directory: &Path,
    size: Size,
) -> Result<Release, Failure> {
    fs::create_dir_all(directory).context(format!("cannot create {}", directory.display()))?;
    let failed = |name: &str| format!("cannot write {}", directory.join(name).display());
    let kept = directory.join("vestry");
    fs::copy(binary, &kept).context(failed("vestry"))?;

    let layout = directory.join("image");
    let image = Image::write(packages, binary, &layout)?;
    if size == Size::Limited {
        image.require_small()?;
    }
    Image::pack(&layout)?.write(&directory.join("vestry-oci.tar"))?;
    fs::remove_dir_all(&layout).context(format!("cannot remove {}", layout.display()))?;

    let binary = sha256(&kept)?;
    let mut sums = format!("{binary}  vestry\n");
    let bill = sbom::bill(source, &binary, packages.all())?;
    let bill = serde_json::to_string_pretty(&bill).context(failed("vestry.cdx.json"))?;
    fs::write(directory.join("vestry.cdx.json"), bill + "\n").context(failed("vestry.cdx.json"))?;
    for name in ["vestry-oci.tar", "vestry.cdx.json"] {
        let sum = sha256(&directory.join(name))?;
        sums.push_str(&format!("{sum}  {name}\n"));
    }
    fs::write(directory.join(SUMS), &sums).context(failed(SUMS))?;
    Ok(Release { sums, image })
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
