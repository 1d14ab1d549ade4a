//! The Debian packages of which an image has files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Context, Failure};
use crate::{process, temporary};

/// The package with the certificates of authorities.
const AUTHORITIES: &str = "ca-certificates";
/// Its certificates, one in each file.
const CERTIFICATES: &str = "usr/share/ca-certificates/mozilla";

/// Downloaded and unpacked packages, deleted on drop.
pub(crate) struct Packages {
    directory: PathBuf,
    /// The paths at which the binary finds its libraries.
    libraries: Vec<PathBuf>,
    packages: Vec<Package>,
}

/// A package.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) architecture: String,
    /// Its entry in the database of `dpkg`, by which scanners recognise it.
    pub(super) control: String,
    /// Its unpacked files.
    files: PathBuf,
}

impl Packages {
    /// Downloads the packages that own the libraries of a binary, and the certificates.
    pub(crate) fn of(binary: &Path) -> Result<Self, Failure> {
        for program in ["apt-get", "dpkg-deb", "dpkg-query", "ldd"] {
            if process::find(program).is_none() {
                let message = format!("{program} is not installed; images are made on Debian");
                return Err(Failure::new(message));
            }
        }
        let libraries = libraries(binary)?;
        let mut names = BTreeSet::from([AUTHORITIES.to_owned()]);
        for library in &libraries {
            names.insert(owner(library)?);
        }
        let mut all = Self {
            directory: temporary::directory("packages")?,
            libraries,
            packages: Vec::new(),
        };
        download(&names, &all.directory)?;
        for name in names {
            all.packages.push(Package::unpack(&name, &all.directory)?);
        }
        Ok(all)
    }

    /// All packages, sorted by name.
    pub(crate) fn all(&self) -> &[Package] {
        &self.packages
    }

    /// Each library with its file.
    pub(super) fn libraries(&self) -> Result<Vec<(&Path, PathBuf)>, Failure> {
        let find = |library: &'_ Path| {
            let files = self.packages.iter().filter_map(|it| it.find(library));
            files
                .into_iter()
                .next()
                .ok_or_else(|| Failure::new(format!("no package contains {}", library.display())))
        };
        let libraries = self.libraries.iter();
        libraries
            .map(|library| Ok((library.as_path(), find(library)?)))
            .collect()
    }

    /// The certificates of all authorities in one file.
    pub(super) fn authorities(&self) -> Result<String, Failure> {
        let package = self.packages.iter().find(|it| it.name == AUTHORITIES);
        let package = package.ok_or_else(|| Failure::new("the certificates are missing"))?;
        let directory = package.files.join(CERTIFICATES);
        let doing = || format!("cannot read {}", directory.display());
        let mut files = fs::read_dir(&directory)
            .context(doing())?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .context(doing())?;
        files.sort();
        let mut bundle = String::new();
        for file in files {
            let text = fs::read_to_string(&file);
            bundle.push_str(text.context(doing())?.trim_end());
            bundle.push('\n');
        }
        Ok(bundle)
    }
}

impl Drop for Packages {
    fn drop(&mut self) {
        // What cannot be removed is left to the cleaning of /tmp.
        drop(fs::remove_dir_all(&self.directory));
    }
}

impl Package {
    fn unpack(name: &str, directory: &Path) -> Result<Self, Failure> {
        let files = directory.join(name);
        fs::create_dir(&files).context(format!("cannot create {}", files.display()))?;
        let prefix = format!("{name}_");
        let archive = fs::read_dir(directory)
            .context(format!("cannot read {}", directory.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| {
                let name = path.file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| name.starts_with(&prefix))
            })
            .ok_or_else(|| Failure::new(format!("apt-get left no file of package {name}")))?;
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("--extract").arg(&archive).arg(&files);
        process::run_quietly(&mut unpack)?;
        let ask = |field: &[&str]| {
            let mut ask = Command::new("dpkg-deb");
            process::output(ask.arg("--field").arg(&archive).args(field))
        };
        Ok(Self {
            name: name.to_owned(),
            version: ask(&["Version"])?.trim().to_owned(),
            architecture: ask(&["Architecture"])?.trim().to_owned(),
            control: ask(&[])?,
            files,
        })
    }

    /// The regular file of this package to which a path leads, with or without `/usr` before it.
    fn find(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix("/").ok()?;
        let places = [self.files.join(inside), self.files.join("usr").join(inside)];
        let mut place = places
            .into_iter()
            .find(|place| place.is_symlink() || place.is_file())?;
        // Links to absolute paths lead out of the directory.
        while let Ok(target) = fs::read_link(&place) {
            place = match target.strip_prefix("/") {
                Ok(inside) => self.files.join(inside),
                Err(_relative) => place.parent()?.join(target),
            };
        }
        place.is_file().then_some(place)
    }

    /// Its licence, if it has one of its own.
    pub(super) fn licence(&self) -> Option<(String, PathBuf)> {
        let name = format!("usr/share/doc/{}/copyright", self.name);
        let path = self.find(&Path::new("/").join(&name))?;
        Some((name, path))
    }
}

/// Downloads the newest versions of packages.
fn download(names: &BTreeSet<String>, directory: &Path) -> Result<(), Failure> {
    let fetch = |names: &mut dyn Iterator<Item = &String>| {
        let mut fetch = Command::new("apt-get");
        fetch
            .args(["download", "--quiet"])
            .args(names)
            .current_dir(directory);
        process::succeeds(&mut fetch)
    };
    if fetch(&mut names.iter()) {
        return Ok(());
    }
    let lost = names
        .iter()
        .find(|name| !fetch(&mut std::iter::once(*name)));
    match lost {
        None => Ok(()),
        Some(name) => Err(Failure::new(format!(
            "package {name} cannot be downloaded; run apt-get update"
        ))),
    }
}

/// The paths at which the dynamic linker finds the libraries of a binary, and its own.
fn libraries(binary: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = process::output(Command::new("ldd").arg(binary))?;
    let lines = listed.lines().filter_map(library);
    lines
        .map(|found| found.map(PathBuf::from).map_err(Failure::new))
        .collect()
}

/// The path in a line of `ldd`, or the complaint about a missing library. The library of the kernel has no file.
fn library(line: &str) -> Option<Result<&str, String>> {
    let (name, place) = line.split_once("=>").unwrap_or((line, line));
    let place = place.trim();
    if place == "not found" {
        return Some(Err(format!("library {} is not installed", name.trim())));
    }
    let path = place.split_whitespace().next()?;
    path.starts_with('/').then_some(Ok(path))
}

/// The package that owns a file of this machine.
fn owner(library: &Path) -> Result<String, Failure> {
    let merged = Path::new("/usr").join(library.strip_prefix("/").unwrap_or(library));
    let owned = [library, &merged].into_iter().find_map(|path| {
        let mut ask = Command::new("dpkg-query");
        ask.arg("--search").arg(path).stderr(Stdio::null());
        process::output(&mut ask).ok()
    });
    // `libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6`
    let name = owned.as_deref().and_then(|line| line.split(':').next());
    name.map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("no package owns {}", library.display())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{download, library};
    use crate::failure::Failure;
    use crate::temporary;

    #[test]
    fn pr_38_a_package_that_cannot_be_downloaded_is_named() {
        let directory = temporary::directory("packages").unwrap();
        let names = BTreeSet::from(["vestry-no-such-package".to_owned()]);
        let refused = download(&names, &directory).err();
        std::fs::remove_dir_all(directory).unwrap();
        let Some(Failure::Failed(message)) = refused else {
            panic!("it was downloaded");
        };
        assert_eq!(
            message,
            "package vestry-no-such-package cannot be downloaded; run apt-get update"
        );
    }

    #[test]
    fn lines_of_ldd_are_read() {
        let libm = "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)";
        assert_eq!(library(libm), Some(Ok("/lib/x86_64-linux-gnu/libm.so.6")));
        let linker = "\t/lib64/ld-linux-x86-64.so.2 (0x00007f)";
        assert_eq!(library(linker), Some(Ok("/lib64/ld-linux-x86-64.so.2")));
        assert_eq!(library("\tlinux-vdso.so.1 (0x00007f)"), None);
        let missing = library("\tlibpq.so.5 => not found").unwrap();
        assert_eq!(missing.unwrap_err(), "library libpq.so.5 is not installed");
    }
}
