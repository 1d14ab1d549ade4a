//! Process hardening before any key is loaded (S4).

use rustix::process::{Resource, Rlimit, setrlimit};

/// Disables core files and swapping of this process, and prevents other processes of the same user from attaching or reading its memory.
/// Root still can.
///
/// Returns what the system refused. The caller logs it once logging has started.
pub(crate) fn apply() -> Vec<&'static str> {
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let mut refused = Vec::new();
    if setrlimit(Resource::Core, no_core).is_err() {
        refused.push("cannot set RLIMIT_CORE to 0");
    }
    if !forbid_tracing() {
        refused.push("cannot set PR_SET_DUMPABLE to 0");
    }
    if !lock_memory() {
        refused.push("cannot lock memory, so keys may be swapped out; set the locked-memory limit to unlimited");
    }
    refused
}

#[cfg(target_os = "linux")]
fn forbid_tracing() -> bool {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok()
}

/// Locks every page when it is first touched. Requires an unlimited locked-memory limit: with a lower one, a later allocation would fail in
/// the middle of work.
#[cfg(target_os = "linux")]
fn lock_memory() -> bool {
    use rustix::mm::{MlockAllFlags, mlockall};
    use rustix::process::getrlimit;
    use rustix::thread::{CapabilitySet, capabilities};
    let may_lock_all = getrlimit(Resource::Memlock).current.is_none()
        || capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::IPC_LOCK));
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    may_lock_all && mlockall(flags).is_ok()
}

/// On other systems, swap encryption is up to the system.
#[cfg(not(target_os = "linux"))]
fn lock_memory() -> bool {
    true
}

/// Other systems have their own protections, which a process does not enable for itself.
#[cfg(not(target_os = "linux"))]
fn forbid_tracing() -> bool {
    true
}
