// ethers recovers signers and decodes transactions for ethereum.py.

import {
  getAddress,
  isAddress,
  toQuantity,
  Transaction,
  TypedDataEncoder,
  verifyAuthorization,
  verifyMessage,
  verifyTypedData,
} from "ethers";
import { answer, bytes } from "./calls.mjs";

const quantity = (value) => (value === null ? null : toQuantity(value));

const authorization = ({ chainId, address, nonce, signature }) => ({
  chainId: quantity(chainId),
  address,
  nonce: quantity(nonce),
  yParity: quantity(signature.yParity),
  r: quantity(signature.r),
  s: quantity(signature.s),
});

// The fields in the notation of JSON-RPC; null for those that this type of transaction does not have.
const fields = (transaction) => ({
  type: quantity(transaction.type),
  chainId: quantity(transaction.chainId),
  nonce: quantity(transaction.nonce),
  gas: quantity(transaction.gasLimit),
  gasPrice: quantity(transaction.gasPrice),
  maxFeePerGas: quantity(transaction.maxFeePerGas),
  maxPriorityFeePerGas: quantity(transaction.maxPriorityFeePerGas),
  maxFeePerBlobGas: quantity(transaction.maxFeePerBlobGas),
  to: transaction.to,
  value: quantity(transaction.value),
  data: transaction.data,
  accessList: transaction.accessList,
  blobVersionedHashes: transaction.blobVersionedHashes,
  authorizationList: transaction.authorizationList?.map(authorization) ?? null,
});

const CALLS = {
  address: ({ address }) => ({ is_valid: isAddress(address), checksum: getAddress(address.toLowerCase()) }),
  message: ({ data, signature }) => verifyMessage(bytes(data), signature),
  transaction({ wire }) {
    const read = Transaction.from(wire);
    return { signer: read.from, serialized: read.serialized, unsigned: read.unsignedSerialized, fields: fields(read) };
  },
  typed_data({ typed_data, signature }) {
    // ethers derives the type of the domain from its fields.
    const { EIP712Domain: _, ...types } = typed_data.types;
    return {
      signer: verifyTypedData(typed_data.domain, types, typed_data.message, signature),
      primary_type: TypedDataEncoder.getPrimaryType(types),
    };
  },
  authorization: ({ authorization: { chainId, address, nonce, ...signature } }) =>
    verifyAuthorization({ chainId, address, nonce }, signature),
};

await answer(CALLS);
