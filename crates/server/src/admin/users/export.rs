//! `vestry users export`.

use std::io::Write;

use vestry_app::Service;
use vestry_domain::World;

use crate::admin::failed;
use crate::failure::{Context, Failure};

/// Users that are read at once.
const PAGE: i64 = 500;

pub(super) async fn run(service: &Service, world: World, hashes: bool) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let page = service.export_users(world, after, PAGE, hashes).await;
        let page = page.map_err(failed)?;
        let mut lines = String::new();
        for user in &page.users {
            let line = serde_json::to_string(user);
            lines.push_str(&line.context("a user cannot be written as JSON")?);
            lines.push('\n');
        }
        let mut stdout = std::io::stdout().lock();
        stdout
            .write_all(lines.as_bytes())
            .and_then(|()| stdout.flush())
            .context("stdout cannot be written")?;
        drop(stdout);
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}
