// Makes bitcoinjs.json: BIP-322 by bip322-js 3.0.0, BIP-137 by the bitcoinjs-message that comes with it, PSBTs and their
// transactions by bitcoinjs-lib 7.0.5 with tiny-secp256k1.
//
// npm install bitcoinjs-lib@7.0.5 bip322-js@3.0.0 ecpair tiny-secp256k1; node generate.js > bitcoinjs.json
const crypto = require('crypto');
const bitcoin = require('bitcoinjs-lib');
const ecc = require('tiny-secp256k1');
const { ECPairFactory } = require('ecpair');
const { Signer, Verifier } = require('bip322-js');
const older = require('bitcoinjs-message');

bitcoin.initEccLib(ecc);
const ECPair = ECPairFactory(ecc);
const sha256 = (text) => crypto.createHash('sha256').update(text).digest();
const secret = (number) => sha256(`vestry bitcoin ${number}`);
const pair = (number) => ECPair.fromPrivateKey(secret(number));
// Numbers that are the same on every run.
const draw = (text, below) => sha256(text).readUInt32BE(0) % below;

const texts = ['', 'Hello World', 'hello', ' leading and trailing ', 'two\nlines', '0x68656c6c6f', 'ö 测试 \u{1f604}', 'a'.repeat(252), 'a'.repeat(253), 'é'.repeat(300)];
const messages = [];
for (let number = 0; number < 50; number++) {
  const key = pair(number);
  const address = bitcoin.payments.p2wpkh({ pubkey: key.publicKey }).address;
  const text = number < texts.length ? texts[number] : `message ${number} ${sha256('m' + number).toString('hex')}`;
  const simple = Signer.sign(key.toWIF(), address, text).toString();
  const signed = (options) => older.sign(text, Buffer.from(key.privateKey), true, options).toString('base64');
  const bip137 = signed({ segwitType: 'p2wpkh' });
  if (!Verifier.verifySignature(address, text, simple) || !Verifier.verifySignature(address, text, bip137)) throw new Error(text);
  messages.push([secret(number).toString('hex'), text, simple, bip137, signed()]);
}

const psbts = [];
for (let number = 0; number < 35; number++) {
  const key = pair(number);
  const pubkey = key.publicKey;
  const internalPubkey = bitcoin.toXOnly(pubkey);
  const psbt = new bitcoin.Psbt({ maximumFeeRate: 1e9 });
  psbt.setLocktime(number % 3 ? 0 : 800000 + number);
  const kinds = [];
  const count = 1 + draw(`count ${number}`, 4);
  let total = 0;
  for (let index = 0; index < count; index++) {
    const kind = ['wpkh', 'nested', 'pkh', 'tr'][draw(`kind ${number} ${index}`, 4)];
    const wpkh = bitcoin.payments.p2wpkh({ pubkey });
    const payment = { wpkh, nested: bitcoin.payments.p2sh({ redeem: wpkh }), pkh: bitcoin.payments.p2pkh({ pubkey }), tr: bitcoin.payments.p2tr({ internalPubkey }) }[kind];
    const value = 20000 + draw(`value ${number} ${index}`, 10000000);
    const funding = new bitcoin.Transaction();
    funding.addInput(sha256(`funding ${number} ${index}`), index);
    funding.addOutput(payment.output, BigInt(value));
    const input = { hash: funding.getId(), index: 0, sequence: [0xffffffff, 0xfffffffd, 3][draw(`sequence ${number} ${index}`, 3)] };
    if (kind === 'pkh') input.nonWitnessUtxo = funding.toBuffer();
    else input.witnessUtxo = { script: payment.output, value: BigInt(value) };
    if (kind === 'nested') input.redeemScript = wpkh.output;
    if (kind === 'tr') input.tapInternalKey = internalPubkey;
    psbt.addInput(input);
    kinds.push(kind);
    total += value;
  }
  psbt.addOutput({ script: bitcoin.payments.p2wpkh({ pubkey: pair(500 + number).publicKey }).output, value: BigInt(total - 4000 - 700) });
  psbt.addOutput({ script: bitcoin.payments.p2tr({ internalPubkey }).output, value: 700n });
  const before = psbt.toBase64();
  const tweaked = key.tweak(bitcoin.crypto.taggedHash('TapTweak', internalPubkey));
  kinds.forEach((kind, index) => psbt.signInput(index, kind === 'tr' ? tweaked : key));
  psbt.finalizeAllInputs();
  psbts.push([secret(number).toString('hex'), kinds.join(','), before, psbt.extractTransaction(true).toHex()]);
}

console.log(JSON.stringify({
  'made by': 'generate.js beside this file: bip322-js 3.0.0 and bitcoinjs-message 2.2.0 (messages: secret, text, BIP-322 without prefix, BIP-137, Electrum), bitcoinjs-lib 7.0.5 (psbts: secret, kinds of inputs, PSBT, transaction)',
  messages,
  psbts,
}, null, 0).replaceAll('],[', '],\n['));
