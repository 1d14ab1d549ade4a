//! `vestry users export`.

use std::io::Write;

use vestry_app::{Principal, Service};
use vestry_domain::World;

use crate::failure::{Context, Failure};
use crate::output::Output;

/// Users read per page.
const PAGE: i64 = 500;

pub(super) async fn run(service: &Service, world: World, hashes: bool) -> Result<Output, Failure> {
    let caller = service.caller(Principal::cli(), world).await?;
    let mut after = None;
    let (mut with_passkeys, mut with_totps) = (0, 0);
    loop {
        let page = service.export_users(&caller, after, PAGE, hashes).await?;
        let mut lines = String::new();
        for user in &page.users {
            let line = serde_json::to_string(user);
            lines.push_str(&line.context("cannot serialize a user")?);
            lines.push('\n');
        }
        let mut stdout = std::io::stdout().lock();
        stdout
            .write_all(lines.as_bytes())
            .and_then(|()| stdout.flush())
            .context("cannot write to stdout")?;
        drop(stdout);
        with_passkeys += page.with_passkeys;
        with_totps += page.with_totps;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    warn_of_omissions(with_passkeys, with_totps)?;
    Ok(Output::printed())
}

/// Reports on stderr the credentials that the export omits.
fn warn_of_omissions(with_passkeys: usize, with_totps: usize) -> Result<(), Failure> {
    let mut stderr = std::io::stderr().lock();
    for (users, what) in [
        (with_passkeys, "passkeys"),
        (with_totps, "authenticator apps"),
    ] {
        if users > 0 {
            writeln!(stderr, "{users} users have {what}, which are not exported.")
                .context("cannot write to stderr")?;
        }
    }
    Ok(())
}
