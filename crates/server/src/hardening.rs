//! What the process gives up before it touches a key (S4).

use rustix::process::{Resource, Rlimit, setrlimit};

/// No core file, and no other process of the same user may attach or read our memory. Root still can.
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
    refused
}

#[cfg(target_os = "linux")]
fn forbid_tracing() -> bool {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).is_ok()
}

/// Other systems have their own protections, which a process does not switch on for itself.
#[cfg(not(target_os = "linux"))]
fn forbid_tracing() -> bool {
    true
}
