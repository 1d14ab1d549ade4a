//! What the process gives up before it touches a key (S4).

use rustix::process::{Resource, Rlimit, setrlimit};

/// No core file, no page of ours in the swap, and no other process of the same user may attach or read our memory. Root
/// still can.
///
/// Answers what the system refused; the caller logs it once there is a log.
pub(crate) fn apply() -> Vec<&'static str> {
    let no_core = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let mut refused = Vec::new();
    if setrlimit(Resource::Core, no_core).is_err() {
        refused.push("RLIMIT_CORE could not be set to 0");
    }
    if !forbid_tracing() {
        refused.push("PR_SET_DUMPABLE could not be set to 0");
    }
    if !lock_memory() {
        refused.push("memory could not be locked (raise the limit of locked memory to unlimited), so keys may be swapped out");
    }
    refused
}

#[cfg(target_os = "linux")]
fn forbid_tracing() -> bool {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok()
}

/// Locks every page as it is first touched. Only where no limit of locked memory applies: with one, what is locked later
/// would fail in the middle of work.
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

/// Elsewhere the swap is encrypted by the system, or has to be.
#[cfg(not(target_os = "linux"))]
fn lock_memory() -> bool {
    true
}

/// Other systems have their own protections, which a process does not switch on for itself.
#[cfg(not(target_os = "linux"))]
fn forbid_tracing() -> bool {
    true
}
