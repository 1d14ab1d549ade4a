//! Hash schemes: their formats and their cost limits.

use argon2::Version;
use base64::Engine as _;
use base64::alphabet::BCRYPT;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use vestry_ports::passwords::ForeignHashError;

use crate::text::{base64, bytes, number, parameters, plain};

/// Maximum memory for verifying an imported hash, in MiB; the lanes of scrypt need some more.
pub const LARGEST_MIB: u64 = 128;
/// Maximum size in bytes of the lanes that scrypt derives from the password first and then mixes, 128·r·p. Ordinary parameters give some
/// KiB. The lanes need memory in addition to the table, and a PBKDF2 of their own whose cost a tiny N would hide.
const MAX_SCRYPT_LANES: u64 = 64 << 10;

/// Maximum memory times passes of an imported Argon2 hash, in KiB: about half a second.
const MAX_ARGON2_WORK: u64 = 512 * 1024;
/// Maximum number of passes of an imported Argon2 hash.
const MAX_ARGON2_PASSES: u32 = 32;
/// Maximum cost of an imported bcrypt hash: about a second.
const MAX_BCRYPT_COST: u32 = 14;
/// Maximum work of an imported scrypt hash, 128·N·r·p in bytes.
const MAX_SCRYPT_WORK: u64 = 512 << 20;
/// Maximum number of rounds of an imported PBKDF2 hash, over all blocks of its output: about a second.
const MAX_PBKDF2_ROUNDS: u32 = 2_000_000;
/// Minimum and maximum length of a hash, in bytes. A shorter one could match by chance.
const OUTPUT: std::ops::RangeInclusive<usize> = 16..=128;

/// bcrypt's own alphabet. The last of 22 or 31 characters can have unused bits.
const BCRYPT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &BCRYPT,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Variants of Argon2. Argon2d is missing: it is not meant for passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argon2Kind {
    I,
    Id,
}

/// The hash function inside PBKDF2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

impl Digest {
    /// Returns the length of one output block in bytes.
    const fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

/// A hash with all data needed to compute it again.
#[derive(Clone)]
pub(crate) enum Scheme {
    Argon2 {
        kind: Argon2Kind,
        version: Version,
        memory_kib: u32,
        iterations: u32,
        parallelism: u32,
        salt: Vec<u8>,
        output: Vec<u8>,
    },
    Bcrypt {
        cost: u32,
        salt: [u8; 16],
        /// 23 bytes: bcrypt omits the last of 24.
        output: Vec<u8>,
    },
    Scrypt {
        log_n: u8,
        r: u32,
        p: u32,
        salt: Vec<u8>,
        output: Vec<u8>,
    },
    Pbkdf2 {
        digest: Digest,
        rounds: u32,
        salt: Vec<u8>,
        output: Vec<u8>,
    },
    /// The scrypt output is the key that encrypts the project's signer key.
    FirebaseScrypt {
        log_n: u8,
        r: u32,
        separator: Vec<u8>,
        signer_key: Vec<u8>,
        salt: Vec<u8>,
        output: Vec<u8>,
    },
}

impl Drop for Scheme {
    fn drop(&mut self) {
        use zeroize::Zeroize as _;
        match self {
            Self::Argon2 { output, .. }
            | Self::Bcrypt { output, .. }
            | Self::Scrypt { output, .. }
            | Self::Pbkdf2 { output, .. } => output.zeroize(),
            Self::FirebaseScrypt {
                output, signer_key, ..
            } => {
                output.zeroize();
                signer_key.zeroize();
            }
        }
    }
}

impl Scheme {
    /// Parses a hash in any supported format.
    ///
    /// # Errors
    /// [`ForeignHashError::UnknownScheme`] or [`ForeignHashError::Malformed`]. The cost is not checked.
    pub(crate) fn read(text: &str) -> Result<Self, ForeignHashError> {
        let scheme = match text.split('$').collect::<Vec<_>>().as_slice() {
            ["", kind @ ("argon2i" | "argon2id"), rest @ ..] => Self::read_argon2(kind, rest),
            ["", "2a" | "2b" | "2y", cost, rest] => Self::read_bcrypt(cost, rest),
            ["", "scrypt", parts, salt, output] => Self::read_scrypt(parts, salt, output),
            ["", name, rounds, salt, output] if name.starts_with("pbkdf2") => {
                Self::read_pbkdf2(name, rounds, salt, output)
            }
            [name, rounds, salt, output] if name.starts_with("pbkdf2_") => {
                Self::read_django(name, rounds, salt, output)
            }
            ["", "firebase-scrypt", parts, salt, output] => {
                Self::read_firebase(parts, salt, output)
            }
            _ => Err(ForeignHashError::UnknownScheme),
        }?;
        if OUTPUT.contains(&scheme.output().len()) {
            Ok(scheme)
        } else {
            Err(ForeignHashError::Malformed)
        }
    }

    /// Parses `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`, the PHC format; without `v` it is version 1.0.
    fn read_argon2(kind: &str, rest: &[&str]) -> Result<Self, ForeignHashError> {
        let (version, parts, salt, output) = match rest {
            ["v=19", parts, salt, output] => (Version::V0x13, parts, salt, output),
            ["v=16", parts, salt, output] | [parts, salt, output] => {
                (Version::V0x10, parts, salt, output)
            }
            _ => return Err(ForeignHashError::Malformed),
        };
        let [m, t, p] = parameters(parts, ["m", "t", "p"])?;
        Ok(Self::Argon2 {
            kind: if kind == "argon2i" {
                Argon2Kind::I
            } else {
                Argon2Kind::Id
            },
            version,
            memory_kib: number(m)?,
            iterations: number(t)?,
            parallelism: number(p)?,
            salt: bytes(salt)?,
            output: bytes(output)?,
        })
    }

    /// Parses `$2b$12$` and 53 characters. `$2x$` and `$2$` come from faulty implementations and are not supported.
    fn read_bcrypt(cost: &str, rest: &str) -> Result<Self, ForeignHashError> {
        if rest.len() != 53 || cost.len() != 2 {
            return Err(ForeignHashError::Malformed);
        }
        let (salt, output) = rest
            .split_at_checked(22)
            .ok_or(ForeignHashError::Malformed)?;
        let decode = |text| {
            let bytes = BCRYPT_BASE64.decode(text);
            bytes.map_err(|_not_base64| ForeignHashError::Malformed)
        };
        let salt = decode(salt)?.try_into();
        Ok(Self::Bcrypt {
            cost: number(cost)?,
            salt: salt.map_err(|_wrong_length| ForeignHashError::Malformed)?,
            output: decode(output)?,
        })
    }

    /// Parses `$scrypt$ln=15,r=8,p=1$salt$hash`.
    fn read_scrypt(parts: &str, salt: &str, output: &str) -> Result<Self, ForeignHashError> {
        let [ln, r, p] = parameters(parts, ["ln", "r", "p"])?;
        Ok(Self::Scrypt {
            log_n: small(ln)?,
            r: number(r)?,
            p: number(p)?,
            salt: bytes(salt)?,
            output: bytes(output)?,
        })
    }

    /// Parses `$pbkdf2-sha256$i=600000,l=32$salt$hash` (PHC; `l` is optional), or `$pbkdf2-sha256$29000$salt$hash` (passlib).
    fn read_pbkdf2(
        name: &str,
        rounds: &str,
        salt: &str,
        output: &str,
    ) -> Result<Self, ForeignHashError> {
        let digest = match name {
            "pbkdf2" | "pbkdf2-sha1" => Digest::Sha1,
            "pbkdf2-sha256" => Digest::Sha256,
            "pbkdf2-sha512" => Digest::Sha512,
            _ => return Err(ForeignHashError::UnknownScheme),
        };
        let output = bytes(output)?;
        let rounds = if rounds.contains("l=") {
            let [i, l] = parameters(rounds, ["i", "l"])?;
            if usize::try_from(number(l)?) != Ok(output.len()) {
                return Err(ForeignHashError::Malformed);
            }
            i
        } else {
            rounds.strip_prefix("i=").unwrap_or(rounds)
        };
        Ok(Self::Pbkdf2 {
            digest,
            rounds: number(rounds)?,
            salt: bytes(salt)?,
            output,
        })
    }

    /// Parses `pbkdf2_sha256$600000$salt$hash`: Django's format, whose salt is text.
    fn read_django(
        name: &str,
        rounds: &str,
        salt: &str,
        output: &str,
    ) -> Result<Self, ForeignHashError> {
        let digest = match name {
            "pbkdf2_sha1" => Digest::Sha1,
            "pbkdf2_sha256" => Digest::Sha256,
            "pbkdf2_sha512" => Digest::Sha512,
            _ => return Err(ForeignHashError::UnknownScheme),
        };
        Ok(Self::Pbkdf2 {
            digest,
            rounds: number(rounds)?,
            salt: plain(salt)?,
            output: bytes(output)?,
        })
    }

    /// Parses `$firebase-scrypt$ln=14,r=8,sep=…,key=…$salt$hash`: `mem_cost`, `rounds`, `base64_salt_separator` and `base64_signer_key` of
    /// the project, salt and hash of the user.
    fn read_firebase(parts: &str, salt: &str, output: &str) -> Result<Self, ForeignHashError> {
        let [ln, r, sep, key] = parameters(parts, ["ln", "r", "sep", "key"])?;
        Ok(Self::FirebaseScrypt {
            log_n: small(ln)?,
            r: number(r)?,
            separator: bytes(sep)?,
            signer_key: bytes(key)?,
            salt: bytes(salt)?,
            output: bytes(output)?,
        })
    }

    /// Returns the text to store.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Argon2 {
                kind,
                version,
                memory_kib,
                iterations,
                parallelism,
                salt,
                output,
            } => {
                let kind = match kind {
                    Argon2Kind::I => "argon2i",
                    Argon2Kind::Id => "argon2id",
                };
                let version = u32::from(*version);
                let (salt, output) = (base64(salt), base64(output));
                format!(
                    "${kind}$v={version}$m={memory_kib},t={iterations},p={parallelism}${salt}${output}"
                )
            }
            Self::Bcrypt { cost, salt, output } => {
                let (salt, output) = (BCRYPT_BASE64.encode(salt), BCRYPT_BASE64.encode(output));
                format!("$2b${cost:02}${salt}{output}")
            }
            Self::Scrypt {
                log_n,
                r,
                p,
                salt,
                output,
            } => {
                let (salt, output) = (base64(salt), base64(output));
                format!("$scrypt$ln={log_n},r={r},p={p}${salt}${output}")
            }
            Self::Pbkdf2 {
                digest,
                rounds,
                salt,
                output,
            } => {
                let name = match digest {
                    Digest::Sha1 => "pbkdf2-sha1",
                    Digest::Sha256 => "pbkdf2-sha256",
                    Digest::Sha512 => "pbkdf2-sha512",
                };
                let length = output.len();
                let (salt, output) = (base64(salt), base64(output));
                format!("${name}$i={rounds},l={length}${salt}${output}")
            }
            Self::FirebaseScrypt {
                log_n,
                r,
                separator,
                signer_key,
                salt,
                output,
            } => {
                let (sep, key) = (base64(separator), base64(signer_key));
                let (salt, output) = (base64(salt), base64(output));
                format!("$firebase-scrypt$ln={log_n},r={r},sep={sep},key={key}${salt}${output}")
            }
        }
    }

    /// Refuses hashes that are too expensive to verify, or cannot be computed at all (P-6).
    pub(crate) fn check_cost(&self) -> Result<(), ForeignHashError> {
        if self.table() > LARGEST_MIB << 20 || self.lanes() > MAX_SCRYPT_LANES {
            return Err(ForeignHashError::TooExpensive);
        }
        let is_cheap = match self {
            Self::Argon2 {
                memory_kib,
                iterations,
                parallelism,
                salt,
                ..
            } => {
                let params = argon2::Params::new(*memory_kib, *iterations, *parallelism, None);
                if params.is_err() || salt.len() < argon2::MIN_SALT_LEN {
                    return Err(ForeignHashError::Malformed);
                }
                *iterations <= MAX_ARGON2_PASSES
                    && u64::from(*memory_kib) * u64::from(*iterations) <= MAX_ARGON2_WORK
            }
            Self::Bcrypt { cost, .. } => {
                if *cost < 4 {
                    return Err(ForeignHashError::Malformed);
                }
                *cost <= MAX_BCRYPT_COST
            }
            Self::Scrypt { log_n, r, p, .. } => {
                if scrypt::Params::new(*log_n, *r, *p).is_err() || *log_n == 0 {
                    return Err(ForeignHashError::Malformed);
                }
                self.table().saturating_mul(u64::from(*p)) <= MAX_SCRYPT_WORK
            }
            Self::Pbkdf2 {
                digest,
                rounds,
                output,
                ..
            } => {
                if *rounds == 0 {
                    return Err(ForeignHashError::Malformed);
                }
                // Every output block takes all the rounds.
                let blocks = output.len().div_ceil(digest.length());
                u64::try_from(blocks)
                    .unwrap_or(u64::MAX)
                    .saturating_mul((*rounds).into())
                    <= u64::from(MAX_PBKDF2_ROUNDS)
            }
            Self::FirebaseScrypt {
                log_n,
                r,
                signer_key,
                output,
                ..
            } => {
                let is_whole = signer_key.len() == output.len() && *log_n > 0;
                if scrypt::Params::new(*log_n, *r, 1).is_err() || !is_whole {
                    return Err(ForeignHashError::Malformed);
                }
                true
            }
        };
        if is_cheap {
            Ok(())
        } else {
            Err(ForeignHashError::TooExpensive)
        }
    }

    /// Returns the memory needed to compute it, in bytes; 0 if negligible.
    pub(crate) fn memory(&self) -> u64 {
        self.table().saturating_add(self.lanes())
    }

    /// Returns the size of scrypt's lanes, which it keeps in addition to its table, in bytes.
    fn lanes(&self) -> u64 {
        let (r, p) = match self {
            Self::Scrypt { r, p, .. } => (*r, *p),
            Self::FirebaseScrypt { r, .. } => (*r, 1),
            Self::Argon2 { .. } | Self::Bcrypt { .. } | Self::Pbkdf2 { .. } => return 0,
        };
        u64::from(r).saturating_mul(128).saturating_mul(p.into())
    }

    /// Returns the size, in bytes, of the table whose access order depends on the password.
    fn table(&self) -> u64 {
        match self {
            Self::Argon2 { memory_kib, .. } => u64::from(*memory_kib) << 10,
            Self::Scrypt { log_n, r, .. } | Self::FirebaseScrypt { log_n, r, .. } => {
                let n = 1_u64.checked_shl((*log_n).into()).unwrap_or(u64::MAX);
                n.saturating_mul(128).saturating_mul((*r).into())
            }
            Self::Bcrypt { .. } | Self::Pbkdf2 { .. } => 0,
        }
    }

    /// Returns the raw hash.
    pub(crate) fn output(&self) -> &[u8] {
        match self {
            Self::Argon2 { output, .. }
            | Self::Bcrypt { output, .. }
            | Self::Scrypt { output, .. }
            | Self::Pbkdf2 { output, .. }
            | Self::FirebaseScrypt { output, .. } => output,
        }
    }

    /// Replaces the raw hash.
    pub(crate) fn with_output(mut self, new: Vec<u8>) -> Self {
        match &mut self {
            Self::Argon2 { output, .. }
            | Self::Bcrypt { output, .. }
            | Self::Scrypt { output, .. }
            | Self::Pbkdf2 { output, .. }
            | Self::FirebaseScrypt { output, .. } => *output = new,
        }
        self
    }

    /// Whether both are Argon2 with the same parameters and lengths.
    pub(crate) fn has_parameters_of(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Argon2 {
                    kind: k1,
                    version: v1,
                    memory_kib: m1,
                    iterations: t1,
                    parallelism: p1,
                    salt: s1,
                    output: o1,
                },
                Self::Argon2 {
                    kind: k2,
                    version: v2,
                    memory_kib: m2,
                    iterations: t2,
                    parallelism: p2,
                    salt: s2,
                    output: o2,
                },
            ) => {
                (k1, u32::from(*v1), m1, t1, p1, s1.len(), o1.len())
                    == (k2, u32::from(*v2), m2, t2, p2, s2.len(), o2.len())
            }
            _ => false,
        }
    }

    /// Whether both are Argon2 of the same kind and version, and this one is at least as strong in memory, passes, salt and output. Lanes
    /// share the memory, so their number does not make a guess cheaper.
    pub(crate) fn is_as_strong_as(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Argon2 {
                    kind: k1,
                    version: v1,
                    memory_kib: m1,
                    iterations: t1,
                    salt: s1,
                    output: o1,
                    ..
                },
                Self::Argon2 {
                    kind: k2,
                    version: v2,
                    memory_kib: m2,
                    iterations: t2,
                    salt: s2,
                    output: o2,
                    ..
                },
            ) => {
                let same = (k1, u32::from(*v1)) == (k2, u32::from(*v2));
                same && m1 >= m2 && t1 >= t2 && s1.len() >= s2.len() && o1.len() >= o2.len()
            }
            _ => false,
        }
    }
}

fn small(text: &str) -> Result<u8, ForeignHashError> {
    let small = u8::try_from(number(text)?);
    small.map_err(|_large| ForeignHashError::TooExpensive)
}
