//! The digits of codes: generation and the stored keyed hash.

use vestry_domain::code::{self, CodePurpose, MethodId, Reserved};
use vestry_domain::envelope::{Mac, SecretKind};
use vestry_domain::{Secret, Timestamp, World};

use crate::identity::password_spraying;
use crate::kernel::mint;
use crate::{Fault, Ports};

/// Generates the digits of a new sign-in code, more of them during a password-spraying attack (M-6).
pub(crate) async fn new_digits(
    ports: &Ports,
    world: &World,
    reserved: Option<Reserved>,
    now: Timestamp,
) -> Result<Secret<String>, Fault> {
    if reserved == Some(Reserved::Ok) {
        return Ok(Secret::new(Reserved::OK_CODE.to_owned()));
    }
    let mut read = ports.store.read().await?;
    let length = password_spraying::digits(&mut *read, world, now).await?;
    Ok(mint::code(&*ports.entropy, length))
}

/// Returns the keyed hash of a sign-in code.
///
/// A code without digits never matches: its hash is that of a random token, which cannot be typed in.
pub(crate) async fn digits_mac(
    ports: &Ports,
    world: &World,
    method_id: MethodId,
    digits: Option<&Secret<String>>,
) -> Result<Mac, Fault> {
    let method = method_id.to_string();
    let unguessable = mint::session_token(&*ports.entropy);
    let accepted = digits.unwrap_or(&unguessable);
    let parts = code::bound_parts(CodePurpose::SignIn, &method, accepted.expose());
    Ok(ports.sealer.mac(world, SecretKind::Code, &parts).await?)
}
