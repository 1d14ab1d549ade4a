//! Archives in the format ustar. The same entries give the same bytes, whichever files and machine they come from.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Context, Failure};

/// The size of a header, and of the units in which contents are stored.
const BLOCK: usize = 512;
/// The longest name of an entry.
const NAME: usize = 100;

/// The entries of an archive by name, and so in its order. Names of directories end with a slash.
#[derive(Default)]
pub(crate) struct Archive(BTreeMap<String, Entry>);

struct Entry {
    mode: u32,
    /// User and group.
    owner: u32,
    content: Content,
}

enum Content {
    Directory,
    Bytes(Vec<u8>),
    File(PathBuf),
}

impl Archive {
    /// Adds a directory.
    pub(crate) fn directory(&mut self, name: &str, mode: u32, owner: u32) {
        let entry = Entry {
            mode,
            owner,
            content: Content::Directory,
        };
        self.add(&format!("{name}/"), entry);
    }

    /// Adds a file of root with this content.
    pub(crate) fn bytes(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        let entry = Entry {
            mode: 0o644,
            owner: 0,
            content: Content::Bytes(content.into()),
        };
        self.add(name, entry);
    }

    /// Adds a file of root with the content of another one, which is read when the archive is written.
    pub(crate) fn file(&mut self, name: &str, mode: u32, content: &Path) {
        let entry = Entry {
            mode,
            owner: 0,
            content: Content::File(content.to_owned()),
        };
        self.add(name, entry);
    }

    /// Adds an entry and those directories above it that are missing.
    fn add(&mut self, name: &str, entry: Entry) {
        let above = name.trim_end_matches('/').match_indices('/');
        for (end, _) in above {
            let above = name.split_at(end).0;
            self.0.entry(format!("{above}/")).or_insert(Entry {
                mode: 0o755,
                owner: 0,
                content: Content::Directory,
            });
        }
        self.0.insert(name.to_owned(), entry);
    }

    /// Writes the archive to a new file.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let doing = || format!("cannot write {}", path.display());
        let mut file = File::create(path).context(doing())?;
        self.write_to(&mut file).context(doing())
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        for (name, entry) in &self.0 {
            let written = match &entry.content {
                Content::Directory => {
                    out.write_all(&header(name, entry, 0)?)?;
                    0
                }
                Content::Bytes(bytes) => {
                    let length = u64::try_from(bytes.len()).map_err(io::Error::other)?;
                    out.write_all(&header(name, entry, length)?)?;
                    out.write_all(bytes)?;
                    length
                }
                Content::File(path) => {
                    let mut file = File::open(path)?;
                    let length = file.metadata()?.len();
                    out.write_all(&header(name, entry, length)?)?;
                    if io::copy(&mut file, out)? != length {
                        return Err(io::Error::other("a file changed while it was read"));
                    }
                    length
                }
            };
            let rest = usize::try_from(written).map_err(io::Error::other)? % BLOCK;
            let padding = if rest == 0 { 0 } else { BLOCK - rest };
            out.write_all(&vec![0; padding])?;
        }
        out.write_all(&[0; 2 * BLOCK])?;
        out.flush()
    }
}

/// The header of an entry, with its checksum.
fn header(name: &str, entry: &Entry, length: u64) -> io::Result<Vec<u8>> {
    if name.len() > NAME {
        return Err(io::Error::other(format!("the name {name} is too long")));
    }
    let kind = match entry.content {
        Content::Directory => "5",
        Content::Bytes(_) | Content::File(_) => "0",
    };
    let with = |checksum: &str| {
        let mode = format!("{:07o}", entry.mode);
        let owner = format!("{:07o}", entry.owner);
        let length = format!("{length:011o}");
        let fields: [(&str, usize); 14] = [
            (name, NAME),
            (&mode, 8),
            (&owner, 8),
            (&owner, 8),
            (&length, 12),
            // The time of every entry is the beginning of 1970.
            ("00000000000", 12),
            (checksum, 8),
            (kind, 1),
            ("", 100),
            ("ustar\0", 6),
            ("00", 2),
            ("", 64),
            ("0000000", 8),
            ("0000000", 8),
        ];
        let mut header = Vec::with_capacity(BLOCK);
        for (text, length) in fields {
            let end = header.len() + length;
            header.extend(text.as_bytes());
            header.resize(end, 0);
        }
        header.resize(BLOCK, 0);
        header
    };
    let sum: u32 = with("        ").into_iter().map(u32::from).sum();
    Ok(with(&format!("{sum:06o}\0 ")))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::Archive;
    use crate::{process, temporary};

    #[test]
    fn gnu_tar_reads_what_was_written() {
        let directory = temporary::directory("archive").unwrap();
        let content = directory.join("content");
        std::fs::write(&content, [b'x'; 513]).unwrap();
        let mut archive = Archive::default();
        archive.file("usr/local/bin/program", 0o755, &content);
        archive.bytes("etc/name", "vestry\n");
        archive.directory("data", 0o700, 65_532);
        let path = directory.join("archive.tar");
        archive.write(&path).unwrap();
        let mut list = Command::new("tar");
        list.args(["--list", "--verbose", "--numeric-owner", "--utc", "--file"]);
        let listed = process::output(list.arg(&path)).unwrap();
        let listed: Vec<String> = listed
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            listed,
            [
                "drwx------ 65532/65532 0 1970-01-01 00:00 data/",
                "drwxr-xr-x 0/0 0 1970-01-01 00:00 etc/",
                "-rw-r--r-- 0/0 7 1970-01-01 00:00 etc/name",
                "drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/",
                "drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/local/",
                "drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/local/bin/",
                "-rwxr-xr-x 0/0 513 1970-01-01 00:00 usr/local/bin/program",
            ]
        );
        std::fs::remove_dir_all(directory).unwrap();
    }
}
