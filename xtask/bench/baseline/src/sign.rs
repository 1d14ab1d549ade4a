//! A bare signing loop: two layers of decryption, a digest, a signature and its verification, as for every signature of the service, with
//! the service's libraries.

use std::hint::black_box;
use std::time::{Duration, Instant};

use alloy_primitives::eip191_hash_message;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use bitcoin::secp256k1::{self, Message, PublicKey, Secp256k1, SecretKey};
use ed25519_dalek::Signer;
use schnorrkel::context::{attach_rng, signing_context};
use schnorrkel::{ExpansionMode, MiniSecretKey};

use crate::{Failure, on_all_cores};

/// The length in bytes of a private key of any chain.
const KEY: usize = 32;

/// Prints signatures per second over both threads. `scheme` is `secp256k1` (Ethereum, Bitcoin), `ed25519` (Solana, Stellar) or `sr25519`
/// (Polkadot).
pub(crate) fn run(scheme: &str, length: Duration) -> Result<(), Failure> {
    match scheme {
        "secp256k1" => on_all_cores(secp256k1, length),
        "ed25519" => on_all_cores(ed25519, length),
        "sr25519" => on_all_cores(sr25519, length),
        other => Err(format!("unknown scheme {other}").into()),
    }
}

fn secp256k1(length: Duration) -> Result<f64, Failure> {
    let curve = Secp256k1::new();
    let public = PublicKey::from_secret_key(&curve, &SecretKey::from_slice(&[42; KEY])?);
    repeated(length, |key, message| {
        let digest = Message::from_digest(eip191_hash_message(message).0);
        let signature = curve.sign_ecdsa_recoverable(&digest, &SecretKey::from_slice(key)?);
        let plain = secp256k1::ecdsa::Signature::from_compact(&signature.serialize_compact().1)?;
        Ok(curve.verify_ecdsa(&digest, &plain, &public)?)
    })
}

fn ed25519(length: Duration) -> Result<f64, Failure> {
    let public = ed25519_dalek::SigningKey::from_bytes(&[42; KEY]).verifying_key();
    repeated(length, |key, message| {
        let signature = ed25519_dalek::SigningKey::from_bytes(key).sign(message);
        Ok(public.verify_strict(message, &signature)?)
    })
}

fn sr25519(length: Duration) -> Result<f64, Failure> {
    let pair = |key: &[u8]| -> Result<_, Failure> {
        let secret = MiniSecretKey::from_bytes(key).map_err(failed)?;
        Ok(secret.expand_to_keypair(ExpansionMode::Ed25519))
    };
    let public = pair(&[42; KEY])?.public;
    let context = signing_context(b"substrate");
    repeated(length, |key, message| {
        let transcript = attach_rng(context.bytes(message), SystemRandom);
        let signature = pair(key)?.sign(transcript);
        let verified = public.verify(context.bytes(message), &signature);
        verified.map_err(failed)
    })
}

fn failed(error: schnorrkel::SignatureError) -> Failure {
    error.to_string().into()
}

/// Repeatedly decrypts the key and calls `sign` with it and another message, and returns the rate.
fn repeated(
    length: Duration,
    mut sign: impl FnMut(&[u8; KEY], &[u8]) -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let outer = cipher(&[1; KEY])?;
    let wrapped_data_key = sealed(&outer, &[2; KEY])?;
    let private_key = sealed(&cipher(&[2; KEY])?, &[42; KEY])?;
    let start = Instant::now();
    let mut signed = 0_u32;
    while start.elapsed() < length {
        let data_key = opened(&outer, &wrapped_data_key)?;
        let key = opened(&cipher(&data_key)?, &private_key)?;
        sign(&key, &signed.to_be_bytes())?;
        black_box(&key);
        signed += 1;
    }
    Ok(f64::from(signed) / start.elapsed().as_secs_f64())
}

fn cipher(key: &[u8; KEY]) -> Result<LessSafeKey, Failure> {
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key)?))
}

/// About the length of a stored key's associated data.
const PLACE: [u8; 250] = [0; 250];

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn sealed(cipher: &LessSafeKey, plaintext: &[u8; KEY]) -> Result<Vec<u8>, Failure> {
    let mut buffer = plaintext.to_vec();
    cipher.seal_in_place_append_tag(nonce(), Aad::from(PLACE), &mut buffer)?;
    Ok(buffer)
}

fn opened(cipher: &LessSafeKey, sealed: &[u8]) -> Result<[u8; KEY], Failure> {
    let mut buffer = sealed.to_vec();
    let plaintext = cipher.open_in_place(nonce(), Aad::from(PLACE), &mut buffer)?;
    Ok((&*plaintext).try_into()?)
}

/// The system's randomness, in the trait that schnorrkel uses.
struct SystemRandom;

impl rand_core::RngCore for SystemRandom {
    fn next_u32(&mut self) -> u32 {
        rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core::impls::next_u64_via_fill(self)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the minimum cost of a signature includes no port"
    )]
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        // Its failure would only make the loop stop at the next draw that works.
        let _ = aws_lc_rs::rand::fill(bytes);
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand_core::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl rand_core::CryptoRng for SystemRandom {}
