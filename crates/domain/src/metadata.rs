//! Free-form metadata of a user: its limits and merge rules.

use serde_json::{Map, Value};

use crate::Invalid;

/// Maximum size of the serialized object in bytes.
pub const MAX_BYTES: usize = 16 * 1024;
/// Maximum number of top-level keys.
pub const MAX_KEYS: usize = 50;
/// Maximum nesting depth; the metadata object itself is level 1.
pub const MAX_DEPTH: usize = 8;

/// A metadata object within its limits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    /// Checks a whole object. It is kept as it is: a `null` only deletes a key when objects are merged (API-13).
    ///
    /// # Errors
    /// If it exceeds 16 KiB serialized, 50 top-level keys or 8 levels, or has a NUL character in a key or string.
    pub fn new(object: Map<String, Value>) -> Result<Self, Invalid> {
        check(&object)?;
        Ok(Self(object))
    }

    /// Metadata from a database row. It was checked when written, so that lowering a limit later does not break reads.
    pub const fn stored(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// The object.
    pub const fn as_object(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Merges a change into this metadata (API-13, API-14). Only the top level is merged: `null` deletes a key, `{}` clears everything,
    /// nested values replace the whole key.
    ///
    /// # Errors
    /// If the result exceeds a limit or the change contains a NUL character. `self` is then unchanged.
    pub fn merged(&self, change: &Map<String, Value>) -> Result<Self, Invalid> {
        if change.is_empty() {
            return Ok(Self::default());
        }
        let mut object = self.0.clone();
        for (key, value) in change {
            if value.is_null() {
                object.remove(key);
            } else {
                object.insert(key.clone(), value.clone());
            }
        }
        check(&object)?;
        Ok(Self(object))
    }
}

fn check(object: &Map<String, Value>) -> Result<(), Invalid> {
    let refuse = |why: String| Err(Invalid::value("metadata", why));
    if object.len() > MAX_KEYS {
        return refuse(format!(
            "metadata must have at most {MAX_KEYS} top-level keys"
        ));
    }
    // Check the nesting first: everything after it walks the tree.
    if object
        .values()
        .any(|value| deeper_than(value, MAX_DEPTH - 1))
    {
        return refuse(format!(
            "metadata must be nested at most {MAX_DEPTH} levels deep"
        ));
    }
    if object
        .iter()
        .any(|(key, value)| key.contains('\0') || has_nul(value))
    {
        return refuse("metadata must not contain the NUL character".to_owned());
    }
    let size = serde_json::to_vec(object).map_or(usize::MAX, |bytes| bytes.len());
    if size > MAX_BYTES {
        return refuse(format!(
            "metadata must have at most {MAX_BYTES} bytes as JSON"
        ));
    }
    Ok(())
}

fn deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => {
            levels == 0 || items.iter().any(|item| deeper_than(item, levels - 1))
        }
        Value::Object(fields) => {
            levels == 0 || fields.values().any(|field| deeper_than(field, levels - 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, field)| key.contains('\0') || has_nul(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
