//! Operations of entry points v0.7 and v0.8, which pack pairs of 128-bit numbers.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use vestry_domain::Invalid;

use super::{Common, data, hash_words, refuse_strangers};
use crate::ethereum::fields::{Field, Object};

/// Fields of v0.6 and v0.9 only, and the packed fields. The fields are expected unpacked, as in the JSON of ERC-7769.
const STRANGERS: &[&str] = &[
    "initCode",
    "init_code",
    "paymasterAndData",
    "paymaster_and_data",
    "paymasterSignature",
    "paymaster_signature",
    "accountGasLimits",
    "account_gas_limits",
    "gasFees",
    "gas_fees",
];

const OPERATION_TYPE: &str = "PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)";
const DOMAIN_TYPE: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";

/// The marker in `factory` of an ordinary account that delegates with EIP-7702: `0x7702` in JSON, or padded to an address.
const DELEGATES: [u8; 2] = [0x77, 0x02];

/// An operation as the entry point hashes it.
pub(super) struct Operation {
    common: Common,
    init_code: Vec<u8>,
    /// verificationGasLimit ‖ callGasLimit.
    gas_limits: B256,
    /// maxPriorityFeePerGas ‖ maxFeePerGas.
    gas_fees: B256,
    paymaster_and_data: Vec<u8>,
}

impl Operation {
    /// Reads an operation. `delegate` is the contract that the sender delegates to, for entry points that support it.
    pub(super) fn read(operation: &Object<'_>, delegate: Option<Address>) -> Result<Self, Invalid> {
        refuse_strangers(operation, STRANGERS, "v0.7 or v0.8")?;
        Ok(Self {
            common: Common::read(operation)?,
            init_code: init_code(operation, delegate)?,
            gas_limits: pair(
                number(
                    operation,
                    &["verificationGasLimit", "verification_gas_limit"],
                )?,
                number(operation, &["callGasLimit", "call_gas_limit"])?,
            ),
            gas_fees: pair(
                number(
                    operation,
                    &["maxPriorityFeePerGas", "max_priority_fee_per_gas"],
                )?,
                number(operation, &["maxFeePerGas", "max_fee_per_gas"])?,
            ),
            paymaster_and_data: paymaster_and_data(operation)?,
        })
    }

    fn words(&self) -> [B256; 8] {
        [
            self.common.sender.into_word(),
            B256::from(self.common.nonce),
            keccak256(&self.init_code),
            self.common.call_data_hash,
            self.gas_limits,
            B256::from(self.common.pre_verification_gas),
            self.gas_fees,
            keccak256(&self.paymaster_and_data),
        ]
    }

    /// The hash of the packed operation (`UserOperationLib.hash` of v0.7).
    pub(super) fn hash(&self) -> B256 {
        hash_words(&self.words())
    }

    /// The EIP-712 payload of v0.8.
    pub(super) fn typed_payload(&self, entry_point: Address, chain_id: u64) -> Vec<u8> {
        let domain = hash_words(&[
            keccak256(DOMAIN_TYPE),
            keccak256("ERC4337"),
            keccak256("1"),
            B256::from(U256::from(chain_id)),
            entry_point.into_word(),
        ]);
        let [a, b, c, d, e, f, g, h] = self.words();
        let operation = hash_words(&[keccak256(OPERATION_TYPE), a, b, c, d, e, f, g, h]);
        [&[0x19, 0x01], domain.as_slice(), operation.as_slice()].concat()
    }
}

fn number(operation: &Object<'_>, names: &[&str]) -> Result<u128, Invalid> {
    operation.need_aliased(names, Field::u128)
}

fn pair(high: u128, low: u128) -> B256 {
    let mut word = B256::ZERO;
    let halves = [high.to_be_bytes(), low.to_be_bytes()].concat();
    word.copy_from_slice(&halves);
    word
}

/// factory ‖ factoryData; for delegating accounts delegate ‖ factoryData, as in v0.8.
fn init_code(operation: &Object<'_>, delegate: Option<Address>) -> Result<Vec<u8>, Invalid> {
    let payload: Option<Bytes> = operation.aliased(&["factoryData", "factory_data"], data)?;
    let Some(field) = operation.find("factory") else {
        return match payload {
            None => Ok(Vec::new()),
            Some(_) => Err(Invalid::missing(operation.path("factory"))),
        };
    };
    let factory = if delegates(&field) {
        delegate.ok_or_else(|| {
            field.refuse(
                "marks an EIP-7702 delegation, which needs entry point v0.8 and eip7702Auth",
            )
        })?
    } else {
        field.address()?
    };
    Ok([factory.as_slice(), &payload.unwrap_or_default()].concat())
}

fn delegates(field: &Field<'_>) -> bool {
    match field.bytes(Address::len_bytes()) {
        Ok(bytes) => bytes.strip_prefix(&DELEGATES).is_some_and(|rest| {
            rest.iter().all(|byte| *byte == 0)
                && (rest.is_empty() || bytes.len() == Address::len_bytes())
        }),
        Err(_other) => false,
    }
}

/// paymaster ‖ verification gas limit ‖ post-operation gas limit ‖ data.
fn paymaster_and_data(operation: &Object<'_>) -> Result<Vec<u8>, Invalid> {
    const VERIFICATION: &[&str] = &[
        "paymasterVerificationGasLimit",
        "paymaster_verification_gas_limit",
    ];
    const POST_OPERATION: &[&str] = &["paymasterPostOpGasLimit", "paymaster_post_op_gas_limit"];
    const DATA: &[&str] = &["paymasterData", "paymaster_data"];

    let Some(field) = operation.find("paymaster") else {
        let names = [VERIFICATION, POST_OPERATION, DATA].concat();
        return match names.iter().any(|name| operation.find(name).is_some()) {
            false => Ok(Vec::new()),
            true => Err(Invalid::missing(operation.path("paymaster"))),
        };
    };
    let payload = operation.aliased(DATA, data)?.unwrap_or_default();
    Ok([
        field.address()?.as_slice(),
        &number(operation, VERIFICATION)?.to_be_bytes(),
        &number(operation, POST_OPERATION)?.to_be_bytes(),
        &payload,
    ]
    .concat())
}
