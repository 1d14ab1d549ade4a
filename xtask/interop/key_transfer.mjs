// @hpke/core seals and opens for key_transfer.py.

import { Aes256Gcm, CipherSuite, DhkemP256HkdfSha256, HkdfSha256 } from "@hpke/core";
import { Chacha20Poly1305 } from "@hpke/chacha20poly1305";
import { DhkemX25519HkdfSha256 } from "@hpke/dhkem-x25519";
import { answer, bytes, hex } from "./calls.mjs";

const KEMS = { x25519: DhkemX25519HkdfSha256, p256: DhkemP256HkdfSha256 };
const AEADS = { CHACHA20_POLY1305: Chacha20Poly1305, AES_GCM256: Aes256Gcm };

const suite = (kem, aead) => new CipherSuite({ kem: new KEMS[kem](), kdf: new HkdfSha256(), aead: new AEADS[aead]() });

const recipients = [];

const CALLS = {
  async seal({ kem, aead, public_key, plaintext, info, aad }) {
    const chosen = suite(kem, aead);
    const recipientPublicKey = await chosen.kem.deserializePublicKey(bytes(public_key));
    const sender = await chosen.createSenderContext({ recipientPublicKey, info: bytes(info) });
    const ciphertext = await sender.seal(bytes(plaintext), bytes(aad));
    return { encapsulated_key: hex(sender.enc), ciphertext: hex(ciphertext) };
  },
  async recipient({ kem, aead }) {
    const chosen = suite(kem, aead);
    const pair = await chosen.kem.generateKeyPair();
    recipients.push({ chosen, recipientKey: pair.privateKey });
    return { id: recipients.length - 1, public_key: hex(await chosen.kem.serializePublicKey(pair.publicKey)) };
  },
  async open({ id, encapsulated_key, ciphertext }) {
    const { chosen, recipientKey } = recipients[id];
    const context = await chosen.createRecipientContext({ recipientKey, enc: bytes(encapsulated_key) });
    return { plaintext: hex(await context.open(bytes(ciphertext))) };
  },
};

await answer(CALLS);
