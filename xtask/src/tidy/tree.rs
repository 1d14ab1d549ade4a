//! The files of the repository: those git knows, and those it would take in.

use std::fs;
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::{process, project};

/// Every text file.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

/// A text file.
pub(super) struct File {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Tree {
    pub(super) fn read() -> Result<Self, Failure> {
        // A checkout that another user owns is read all the same; nothing in it is run.
        let mut git = Command::new("git");
        git.args([
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listing = process::output(git.current_dir(project::root()))?;
        let mut files = Vec::new();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            let file = project::root().join(path);
            // A file that was deleted but not yet committed, or a link to a directory.
            if !file.is_file() {
                continue;
            }
            let bytes = fs::read(&file).context(format!("cannot read {path}"))?;
            // Pictures have no lines to check.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File {
                    path: path.to_owned(),
                    text,
                });
            }
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files.dedup_by(|one, other| one.path == other.path);
        Ok(Self { files })
    }

    pub(super) fn find(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

impl File {
    /// The lines with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .split('\n')
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is compiled for tests only, by its place.
    pub(super) fn is_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }
}
