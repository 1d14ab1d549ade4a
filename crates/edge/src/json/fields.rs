//! Deserializes a JSON value into a request's type. Its errors name the field and are written for the caller.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};
use vestry_domain::invalid::Reason;
use vestry_domain::strict_json::prepend;
use vestry_domain::{Invalid, number};

use super::{refuse, shortened};

/// How a value is encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// JSON: numbers are JSON numbers.
    Json,
    /// A query: every value is text, and an empty one counts as absent.
    Query,
}

/// The value being deserialized.
pub(super) struct Fields {
    value: Value,
    form: Form,
}

/// The error of a field. The path is built from the innermost name outwards.
#[derive(Debug)]
pub(super) struct FieldError {
    path: String,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Missing,
    /// The object has no such field.
    Unknown,
    /// What the value must be, as a noun phrase.
    Not(&'static str),
}

impl Fields {
    pub(super) const fn new(value: Value, form: Form) -> Self {
        Self { value, form }
    }

    fn is_absent(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::String(text) => self.form == Form::Query && text.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
        }
    }

    /// The error for a value of the wrong type. `null` in a required field counts as missing.
    fn is_not(&self, expected: &'static str) -> FieldError {
        let fault = if self.is_absent() {
            Fault::Missing
        } else {
            Fault::Not(expected)
        };
        FieldError {
            path: String::new(),
            fault,
        }
    }

    fn whole_number(&self) -> Option<i64> {
        match (&self.value, self.form) {
            (Value::Number(number), _) => number::whole(number),
            (Value::String(text), Form::Query) => number::written(text),
            _ => None,
        }
    }

    fn truth(&self) -> Option<bool> {
        match (&self.value, self.form) {
            (Value::Bool(value), _) => Some(*value),
            (Value::String(text), Form::Query) => text.parse().ok(),
            _ => None,
        }
    }
}

macro_rules! whole_numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            match self.whole_number() {
                Some(number) => visitor.visit_i64(number),
                None => Err(self.is_not("a whole number")),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Fields {
    type Error = FieldError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => {
                if let Some(whole) = number.as_i64() {
                    visitor.visit_i64(whole)
                } else if let Some(whole) = number.as_u64() {
                    visitor.visit_u64(whole)
                } else {
                    visitor.visit_f64(number.as_f64().unwrap_or_default())
                }
            }
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(Items::new(items, self.form)),
            Value::Object(fields) => visitor.visit_map(Entries::new(fields, self.form)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        if self.is_absent() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.truth() {
            Some(value) => visitor.visit_bool(value),
            None => Err(self.is_not("true or false")),
        }
    }

    whole_numbers! { deserialize_i64 deserialize_u64 }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        if self.is_absent() {
            return Err(self.is_not("text"));
        }
        match self.value {
            Value::String(text) => visitor.visit_string(text),
            _ => Err(self.is_not("text")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.value {
            Value::Array(items) => visitor.visit_seq(Items::new(items, self.form)),
            _ => Err(self.is_not("an array")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.value {
            Value::Object(fields) => visitor.visit_map(Entries::new(fields, self.form)),
            _ => Err(self.is_not("an object")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        match self.value {
            Value::String(word) => visitor.visit_enum(word.into_deserializer()),
            _ => Err(self.is_not("a string")),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct
        identifier ignored_any
    }
}

/// The items of an array.
struct Items {
    items: std::vec::IntoIter<Value>,
    next: usize,
    form: Form,
}

impl Items {
    fn new(items: Vec<Value>, form: Form) -> Self {
        Self {
            items: items.into_iter(),
            next: 0,
            form,
        }
    }
}

impl<'de> SeqAccess<'de> for Items {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        let item = seed.deserialize(Fields::new(item, self.form));
        item.map(Some)
            .map_err(|error| error.within(&format!("[{index}]")))
    }
}

/// The fields of an object.
struct Entries {
    fields: serde_json::map::IntoIter,
    current: Option<(String, Value)>,
    form: Form,
}

impl Entries {
    fn new(fields: Map<String, Value>, form: Form) -> Self {
        Self {
            fields: fields.into_iter(),
            current: None,
            form,
        }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FieldError> {
        self.current = self.fields.next();
        match &self.current {
            Some((name, _)) => seed
                .deserialize(name.as_str().into_deserializer())
                .map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, FieldError> {
        let (name, value) = self.current.take().unwrap_or_default();
        seed.deserialize(Fields::new(value, self.form))
            .map_err(|error| error.within(&name))
    }
}

impl FieldError {
    fn within(mut self, name: &str) -> Self {
        prepend(name, &mut self.path);
        self
    }
}

impl Error for FieldError {
    /// Drops the message, because a type's own message may quote the value.
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self {
            path: String::new(),
            fault: Fault::Not("of the form given in the API description"),
        }
    }

    fn unknown_field(field: &str, _expected: &'static [&'static str]) -> Self {
        Self {
            path: field.to_owned(),
            fault: Fault::Unknown,
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            path: field.to_owned(),
            fault: Fault::Missing,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.path, self.fault)
    }
}

impl std::error::Error for FieldError {}

impl From<FieldError> for Invalid {
    fn from(error: FieldError) -> Self {
        let path = error.path;
        let shown = shortened(&path);
        match error.fault {
            Fault::Unknown => refuse(
                &path,
                Reason::Unknown,
                format!("{shown} is not a field of this request"),
            ),
            Fault::Missing => refuse(&path, Reason::Missing, format!("{shown} is required")),
            Fault::Not(expected) => {
                refuse(&path, Reason::Value, format!("{shown} must be {expected}"))
            }
        }
    }
}
