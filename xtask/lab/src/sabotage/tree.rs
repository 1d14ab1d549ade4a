//! The copy of the checkout to which mutations are applied.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::mutation::Mutation;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::{process, project};

/// A directory with every file that git tracks or would add, in its current state.
///
/// Unchanged files keep their times, so that cargo builds the copy only once.
pub(crate) struct Tree {
    directory: PathBuf,
}

impl Tree {
    pub(crate) fn copy() -> Result<Self, Failure> {
        let directory = home().join("tree");
        let mut command = Command::new("git");
        command.current_dir(project::root());
        command.args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ]);
        let listed = process::output(&mut command)?;
        let names: BTreeSet<&str> = listed.split('\0').filter(|name| !name.is_empty()).collect();
        for name in &names {
            copy_changed(&project::root().join(name), &directory.join(name))?;
        }
        remove_others(&directory, &directory, &names)?;
        Ok(Self { directory })
    }

    /// Cargo's target directory for the copy. It is separate, because the checkout would otherwise be rebuilt each time.
    pub(crate) fn target() -> PathBuf {
        home().join("target")
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Applies a patch.
    ///
    /// # Errors
    /// If the patch no longer applies.
    pub(crate) fn apply(&self, mutation: &Mutation) -> Result<(), Failure> {
        process::run_quietly(self.git_apply(&[]).arg(&mutation.patch))
    }

    pub(crate) fn undo(&self, mutation: &Mutation) -> Result<(), Failure> {
        process::run_quietly(self.git_apply(&["--reverse"]).arg(&mutation.patch))
    }

    /// `git apply` outside the surrounding repository, in which it would silently skip every file.
    fn git_apply(&self, flags: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(&self.directory)
            .env("GIT_CEILING_DIRECTORIES", home())
            .arg("apply")
            .args(flags);
        command
    }
}

fn home() -> PathBuf {
    project::target().join("sabotage")
}

/// Copies a file if its bytes differ. A tracked file that was deleted is deleted in the copy too.
fn copy_changed(from: &Path, to: &Path) -> Result<(), Failure> {
    let Ok(bytes) = fs::read(from) else {
        return Ok(());
    };
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let doing = || format!("cannot copy {} to {}", from.display(), to.display());
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).context(doing())?;
    }
    fs::copy(from, to).map(drop).context(doing())
}

/// Removes files from an earlier copy that are no longer in the checkout.
fn remove_others(root: &Path, directory: &Path, names: &BTreeSet<&str>) -> Result<(), Failure> {
    let doing = || format!("cannot clean up {}", directory.display());
    for entry in fs::read_dir(directory).context(doing())? {
        let path = entry.context(doing())?.path();
        if path.is_dir() {
            remove_others(root, &path, names)?;
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
        let is_gone = !project::root().join(name.as_ref()).exists();
        if is_gone || !names.contains(name.as_ref()) {
            fs::remove_file(&path).context(doing())?;
        }
    }
    Ok(())
}
