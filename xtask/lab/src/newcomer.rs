//! `cargo xtask newcomer`: docs/production.md, carried out on a bare Debian.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use xtask_harness::arguments::Arguments;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::lane::Missing;
use xtask_harness::{debian, environment, process, project, temporary};

pub(crate) const ABOUT: &str = "\
Carry out docs/production.md on a bare Debian, as a new operator would (nightly).

Makes an empty Debian with debootstrap, enters it, and runs the code blocks of the page as written, up to a running, monitored service on
Postgres behind TLS. A stand-in for systemctl runs the command lines of the units. Ports, processes and mounts are those of a namespace of
its own; only apt-get uses the network. The packages come from the mirror of Debian that this machine uses. Needs root, and a release: see
`cargo xtask release`. Takes about ten minutes.

--release DIR  the files of the release (default target/release-artifacts)
--no-install   do not install debootstrap with apt-get";

const MISSING: Missing = Missing {
    lanes: &["newcomer"],
    remedy: "as root on Debian, apt-get install debootstrap",
};

/// The page.
const PAGE: &str = "docs/production.md";
/// The stand-in for systemctl, and its path in the new Debian.
const SYSTEMCTL: (&str, &str) = (
    include_str!("newcomer/systemctl.sh"),
    "usr/local/sbin/systemctl",
);
/// Runs apt-get in the network of this machine, which the page's commands cannot reach.
const APT_GET: (&str, &str) = (
    "#!/bin/sh\nexec nsenter --net=/run/outside /usr/bin/apt-get \"$@\"\n",
    "usr/local/sbin/apt-get",
);
/// Keeps new packages from starting their services, which would use that network too. The page starts them.
const POLICY: (&str, &str) = ("#!/bin/sh\nexit 101\n", "usr/sbin/policy-rc.d");
/// The script, in the new Debian.
const SCRIPT: &str = "page.sh";

/// Enters a root: `sh -c ENTER sh ROOT`, in namespaces of its own for mounts, network and processes.
const ENTER: &str = r#"
set -e
ip link set lo up
mount --rbind /dev "$1/dev"
mount --types proc proc "$1/proc"
mount --types tmpfs tmpfs "$1/tmp"
exec chroot "$1" /bin/bash -v -e -u -o pipefail /page.sh
"#;

/// The longest that a newcomer may need, in seconds.
const LIMIT: u64 = 30 * 60;

/// An archive of Debian packages in use on this machine.
struct Archive {
    url: String,
    suite: String,
    component: String,
}

/// The new Debian, deleted on drop.
struct Root(PathBuf);

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("newcomer", arguments);
    let install = arguments.install();
    let release = arguments.value("--release")?;
    arguments.end()?;
    let release = release.map_or_else(
        || project::target().join("release-artifacts"),
        PathBuf::from,
    );
    if !release.join("vestry").is_file() {
        let message = format!(
            "{} has no binary; run cargo xtask release",
            release.display()
        );
        return Err(Failure::new(message));
    }
    let find = || process::find("debootstrap");
    if debian::find_or_install(find, install, &["debootstrap"])?.is_none() || !debian::is_root() {
        return MISSING.announce();
    }
    let page = project::root().join(PAGE);
    let page = fs::read_to_string(&page).context(format!("cannot read {}", page.display()))?;
    let root = Root::make()?;
    root.furnish(&release, &script(&page))?;
    let begun = Instant::now();
    root.enter()?;
    let seconds = begun.elapsed().as_secs();
    if seconds > LIMIT {
        let message = format!("{PAGE} took {seconds} s, and {LIMIT} s are allowed");
        return Err(Failure::new(message));
    }
    println!("newcomer: every command of {PAGE} succeeded, in {seconds} s");
    Ok(())
}

/// The commands of a page: its code blocks for the shell, each after its heading.
fn script(page: &str) -> String {
    let mut script = String::new();
    let (mut is_code, mut is_shell) = (false, false);
    for line in page.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            is_code = !is_code;
            is_shell = is_code && language == "sh";
        } else if is_shell {
            script.push_str(line);
            script.push('\n');
        } else if !is_code && let Some(heading) = line.strip_prefix("## ") {
            script.push_str(&format!("\necho \"$SECONDS s\" # {heading}\n"));
        }
    }
    script
}

impl Root {
    fn make() -> Result<Self, Failure> {
        let archives = Archive::all()?;
        // In a directory that only root may enter: its own top must be open to its users.
        let root = Self(temporary::directory("newcomer")?.join("debian"));
        let Some(first) = archives.first() else {
            return Err(Failure::new("apt-get knows no archive of Debian"));
        };
        eprintln!(
            "xtask: making a bare Debian {} in {}",
            first.suite,
            root.0.display()
        );
        let mut bootstrap = Command::new("debootstrap");
        bootstrap.arg(&first.suite).arg(&root.0).arg(&first.url);
        process::run_quietly(&mut bootstrap)?;
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&root.0, open).context("cannot open the new Debian to its users")?;
        let lines = archives.iter().map(|archive| {
            let Archive {
                url,
                suite,
                component,
            } = archive;
            format!("deb {url} {suite} {component}\n")
        });
        root.write("etc/apt/sources.list", &lines.collect::<String>(), 0o644)?;
        Ok(root)
    }

    /// Puts the release, the script and the stand-ins where the page expects them.
    fn furnish(&self, release: &Path, script: &str) -> Result<(), Failure> {
        process::copy(release, &self.0.join("root/release"))?;
        process::copy(
            &project::root().join("deploy"),
            &self.0.join("root/release/deploy"),
        )?;
        for (content, path) in [SYSTEMCTL, APT_GET, POLICY] {
            self.write(path, content, 0o755)?;
        }
        self.write(SCRIPT, script, 0o644)?;
        self.write("run/outside", "", 0o644)?;
        for name in ["resolv.conf", "hosts"] {
            let path = Path::new("/etc").join(name);
            let content =
                fs::read_to_string(&path).context(format!("cannot read {}", path.display()))?;
            self.write(&format!("etc/{name}"), &content, 0o644)?;
        }
        Ok(())
    }

    fn write(&self, path: &str, content: &str, mode: u32) -> Result<(), Failure> {
        let path = self.0.join(path);
        let doing = || format!("cannot write {}", path.display());
        fs::write(&path, content).context(doing())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).context(doing())
    }

    /// Runs the script. Its processes and mounts end with it.
    fn enter(&self) -> Result<(), Failure> {
        let outside = self.0.join("run/outside");
        let mut enter = Command::new("unshare");
        enter
            .args(["--mount", "--", "sh", "-c"])
            .arg(
                "mount --bind /proc/self/ns/net \"$2\" && exec unshare --net --pid --fork --kill-child sh -c \"$3\" sh \"$1\"",
            )
            .arg("sh")
            .arg(&self.0)
            .arg(&outside)
            .arg(ENTER)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .envs([("HOME", "/root"), ("LANG", "C.UTF-8"), ("DEBIAN_FRONTEND", "noninteractive")]);
        for name in ["http_proxy", "https_proxy"] {
            if let Some(value) = environment::variable(name) {
                enter.env(name, value);
            }
        }
        process::run(&mut enter)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Nothing is mounted below it in this namespace. What cannot be removed is left to the cleaning of /tmp.
        let mut remove = Command::new("rm");
        remove
            .args(["-rf", "--one-file-system", "--"])
            .args(self.0.parent());
        drop(process::run_quietly(&mut remove));
    }
}

impl Archive {
    /// Debian's archives, the release itself first.
    fn all() -> Result<Vec<Self>, Failure> {
        let mut ask = Command::new("apt-get");
        ask.args([
            "indextargets",
            "--format",
            "$(LABEL)|$(SITE)|$(RELEASE)|$(COMPONENT)",
        ])
        .arg("Created-By: Packages");
        let said = process::output(&mut ask)?;
        let archives = said.lines().filter_map(|line| {
            let mut fields = line.split('|').map(str::to_owned);
            let is_debian = fields.next()?.starts_with("Debian");
            is_debian.then_some(Self {
                url: fields.next()?,
                suite: fields.next()?,
                component: fields.next()?,
            })
        });
        Ok(archives.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn commands_are_taken_as_written() {
        let page = "# Page\n\n## One\n\nRun:\n\n```sh\na > b << 'END'\n## text\nEND\n```\n\n```toml\nno = 1\n```\n";
        let expected = "\necho \"$SECONDS s\" # One\na > b << 'END'\n## text\nEND\n";
        assert_eq!(script(page), expected);
    }
}
