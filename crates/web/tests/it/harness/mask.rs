//! Masks random values, after checking their form.

use std::collections::BTreeMap;

use serde_json::Value;

const PREFIXES: [&str; 15] = [
    "app",
    "aud",
    "auditchain",
    "email",
    "jwk",
    "key",
    "msg",
    "pn",
    "sess",
    "totp",
    "user",
    "wallet",
    "walletpk",
    "walletrr",
    "webauthn",
];

/// The value with ids, tokens, keys and addresses replaced by their kind. A value of any other form is left visible.
pub(super) fn masked(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(form(text).unwrap_or_else(|| text.clone())),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(fields) => {
            // By name, whatever the order in the response.
            let fields: BTreeMap<String, Value> = fields
                .iter()
                .map(|(name, field)| (name.clone(), masked(field)))
                .collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn form(text: &str) -> Option<String> {
    if let Some((prefix, rest)) = text.split_once('_') {
        if PREFIXES.contains(&prefix) && rest.len() == 27 && is_alphanumeric(rest) {
            return Some(format!("[{prefix} id]"));
        }
        if prefix == "req" && rest.len() == 32 && is_hex(rest) {
            return Some("[request id]".to_owned());
        }
    }
    if let Some(rest) = text.strip_prefix("0x").filter(|rest| is_hex(rest)) {
        return match rest.len() {
            40 => Some("[ethereum address]".to_owned()),
            130 => Some("[ethereum signature]".to_owned()),
            _ => None,
        };
    }
    if is_alphanumeric(text) {
        match text.len() {
            48 => return Some("[link token]".to_owned()),
            64 => return Some("[session token]".to_owned()),
            128 => return Some("[origin token]".to_owned()),
            _ => {}
        }
    }
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() == 3
        && parts
            .iter()
            .all(|part| part.len() > 40 && is_base64url(part))
    {
        return Some("[jwt]".to_owned());
    }
    (text.len() == 43 && is_base64url(text)).then(|| "[32 bytes]".to_owned())
}

fn is_alphanumeric(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_base64url(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
