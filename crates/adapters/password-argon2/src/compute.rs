//! The hash functions, using the memory of one thread.

use std::sync::{Mutex, PoisonError};

use aes::Aes256;
use argon2::{Algorithm, Argon2, Block, Params};
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use subtle::ConstantTimeEq;
use vestry_ports::passwords::HasherError;
use zeroize::Zeroizing;

use crate::scheme::{Argon2Kind, Digest, Scheme};

/// bcrypt ignores everything after this number of bytes.
const BCRYPT_SEES: usize = 72;

/// Hashes that need more memory than a thread has are computed one at a time in the whole process.
static LARGE: Mutex<()> = Mutex::new(());

/// The memory that a thread hashes with.
pub(crate) struct Memory {
    /// Maximum number of 1 KiB blocks.
    blocks: usize,
    /// Those blocks; empty while they are not needed.
    held: Vec<Block>,
}

impl Memory {
    /// Returns memory for hashes of this many KiB; nothing is allocated before the first one.
    pub(crate) const fn of(kib: usize) -> Self {
        Self {
            blocks: kib,
            held: Vec::new(),
        }
    }

    /// Frees the blocks until the next hash.
    pub(crate) fn release(&mut self) {
        self.held = Vec::new();
    }

    /// Whether the password produces this hash, compared in constant time.
    pub(crate) fn matches(
        &mut self,
        scheme: &Scheme,
        password: &[u8],
    ) -> Result<bool, HasherError> {
        let computed = self.compute(scheme, password)?;
        let same = bool::from(computed.as_slice().ct_eq(scheme.output()));
        // bcrypt would ignore the rest, so the password cannot be the one that was set (attack 21). It is hashed like any other and never
        // matches.
        let is_cut = matches!(scheme, Scheme::Bcrypt { .. }) && password.len() > BCRYPT_SEES;
        Ok(same && !is_cut)
    }

    /// Computes the raw hash of a password, with the output length of the scheme.
    pub(crate) fn compute(
        &mut self,
        scheme: &Scheme,
        password: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, HasherError> {
        let has_room = scheme.memory() <= u64::try_from(self.blocks).unwrap_or(u64::MAX) << 10;
        let _turn = (!has_room).then(|| LARGE.lock().unwrap_or_else(PoisonError::into_inner));
        let mut output = Zeroizing::new(vec![0; scheme.output().len()]);
        match scheme {
            Scheme::Argon2 {
                kind,
                version,
                memory_kib,
                iterations,
                parallelism,
                salt,
                ..
            } => {
                let length = Some(output.len());
                let params = Params::new(*memory_kib, *iterations, *parallelism, length);
                let params = params.map_err(|_refused| HasherError::Failed("Argon2 parameters"))?;
                let algorithm = match kind {
                    Argon2Kind::I => Algorithm::Argon2i,
                    Argon2Kind::Id => Algorithm::Argon2id,
                };
                let count = params.block_count();
                let argon2 = Argon2::new(algorithm, *version, params);
                let computed = if has_room {
                    let blocks = self.blocks(count);
                    argon2.hash_password_into_with_memory(password, salt, &mut output, blocks)
                } else {
                    self.release();
                    argon2.hash_password_into(password, salt, &mut output)
                };
                computed.map_err(|_refused| HasherError::Failed("Argon2"))?;
            }
            Scheme::Bcrypt { cost, salt, .. } => {
                let full = bcrypt::bcrypt(*cost, *salt, &ended_by_nul(password));
                for (to, from) in output.iter_mut().zip(full) {
                    *to = from;
                }
            }
            Scheme::Scrypt {
                log_n, r, p, salt, ..
            } => {
                self.release();
                scrypt(password, salt, (*log_n, *r, *p), &mut output)?;
            }
            Scheme::Pbkdf2 {
                digest,
                rounds,
                salt,
                ..
            } => match digest {
                Digest::Sha1 => {
                    pbkdf2::pbkdf2_hmac::<sha1::Sha1>(password, salt, *rounds, &mut output);
                }
                Digest::Sha256 => {
                    pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, *rounds, &mut output);
                }
                Digest::Sha512 => {
                    pbkdf2::pbkdf2_hmac::<sha2::Sha512>(password, salt, *rounds, &mut output);
                }
            },
            Scheme::FirebaseScrypt {
                log_n,
                r,
                separator,
                signer_key,
                salt,
                ..
            } => {
                self.release();
                let salt = [salt.as_slice(), separator].concat();
                let mut key = Zeroizing::new([0_u8; 32]);
                scrypt(password, &salt, (*log_n, *r, 1), key.as_mut_slice())?;
                output = Zeroizing::new(signer_key.clone());
                let mut cipher = Ctr128BE::<Aes256>::new((&*key).into(), &[0; 16].into());
                cipher.apply_keystream(&mut output);
            }
        }
        Ok(output)
    }

    /// Returns this many blocks of the thread, allocated again if they were freed.
    fn blocks(&mut self, count: usize) -> &mut [Block] {
        if self.held.len() < count {
            self.held = vec![Block::default(); self.blocks.max(count)];
        }
        self.held.get_mut(..count).unwrap_or_default()
    }
}

/// Returns bcrypt's input: the password with a NUL at its end, truncated to the length that bcrypt uses.
fn ended_by_nul(password: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(password.len() + 1));
    bytes.extend_from_slice(password);
    bytes.push(0);
    bytes.truncate(BCRYPT_SEES);
    bytes
}

fn scrypt(
    password: &[u8],
    salt: &[u8],
    (log_n, r, p): (u8, u32, u32),
    output: &mut [u8],
) -> Result<(), HasherError> {
    let params = scrypt::Params::new(log_n, r, p);
    let params = params.map_err(|_refused| HasherError::Failed("scrypt parameters"))?;
    scrypt::scrypt(password, salt, &params, output)
        .map_err(|_refused| HasherError::Failed("scrypt"))
}
