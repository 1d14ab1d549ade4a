//! Operations of entry point v0.6.

use alloy_primitives::{B256, U256, keccak256};
use vestry_domain::Invalid;

use super::{Common, data, hash_words, refuse_strangers};
use crate::ethereum::fields::{Field, Object};

/// Fields introduced by v0.7.
const STRANGERS: &[&str] = &[
    "factory",
    "factoryData",
    "factory_data",
    "paymaster",
    "paymasterData",
    "paymaster_data",
    "paymasterVerificationGasLimit",
    "paymaster_verification_gas_limit",
    "paymasterPostOpGasLimit",
    "paymaster_post_op_gas_limit",
    "accountGasLimits",
    "account_gas_limits",
    "gasFees",
    "gas_fees",
];

/// The hash of the packed operation (`UserOperationLib.hash` of v0.6).
pub(super) fn hash(operation: &Object<'_>) -> Result<B256, Invalid> {
    refuse_strangers(operation, STRANGERS, "v0.6")?;
    let common = Common::read(operation)?;
    let number = |names: &[&str]| -> Result<B256, Invalid> {
        let number: U256 = operation.need_aliased(names, Field::quantity)?;
        Ok(B256::from(number))
    };
    let bytes = |names: &[&str]| -> Result<B256, Invalid> {
        let bytes = operation.aliased(names, data)?.unwrap_or_default();
        Ok(keccak256(bytes))
    };
    Ok(hash_words(&[
        common.sender.into_word(),
        B256::from(common.nonce),
        bytes(&["initCode", "init_code"])?,
        common.call_data_hash,
        number(&["callGasLimit", "call_gas_limit"])?,
        number(&["verificationGasLimit", "verification_gas_limit"])?,
        B256::from(common.pre_verification_gas),
        number(&["maxFeePerGas", "max_fee_per_gas"])?,
        number(&["maxPriorityFeePerGas", "max_priority_fee_per_gas"])?,
        bytes(&["paymasterAndData", "paymaster_and_data"])?,
    ]))
}
