//! A JSON reader that refuses what other readers understand in two ways: repeated names, NUL, and endless nesting.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// Deepest nesting that is read at all. Below the reader's own limit, so that the refusal can name the field; above every
/// limit of the domain, which then says what is allowed.
const DEEPEST: usize = 100;

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Malformed {
    /// It is not JSON.
    Syntax,
    /// It is JSON with a value that is refused.
    Value {
        /// What is refused.
        fault: Fault,
        /// Where: names and `[places]`, the outermost first. As long as the text made it.
        path: String,
    },
}

/// What is refused of a value that is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// One name twice in one object: two readers may see two different values.
    Repeated,
    /// The character U+0000, where some readers see the end.
    Nul,
    /// More than a hundred objects and arrays in each other.
    TooDeep,
}

/// Reads one JSON value.
///
/// # Errors
/// [`Malformed`]; of several faults the first.
pub fn read(text: &[u8]) -> Result<Value, Malformed> {
    let finding = Finding::default();
    let mut reader = serde_json::Deserializer::from_slice(text);
    let root = Strict {
        depth: 0,
        finding: &finding,
    };
    let value = root
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    match finding.fault.into_inner() {
        Some(fault) => Err(Malformed::Value {
            fault,
            path: finding.path.into_inner(),
        }),
        None => value.map_err(|_malformed| Malformed::Syntax),
    }
}

/// Puts the name of an outer field, or its `[place]`, before a path.
pub fn prepend(name: &str, path: &mut String) {
    let separator = if path.is_empty() || path.starts_with('[') {
        ""
    } else {
        "."
    };
    *path = format!("{name}{separator}{path}");
}

/// What is wrong, and where: the path grows from the inside out while the reader unwinds.
#[derive(Default)]
struct Finding {
    fault: RefCell<Option<Fault>>,
    path: RefCell<String>,
}

impl Finding {
    /// The reader's error only unwinds; what matters is kept here.
    fn report<E: Error>(&self, fault: Fault) -> E {
        *self.fault.borrow_mut() = Some(fault);
        E::custom("refused")
    }

    fn within(&self, name: &str) {
        if self.fault.borrow().is_some() {
            prepend(name, &mut self.path.borrow_mut());
        }
    }
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: usize,
    finding: &'a Finding,
}

impl<'a> Strict<'a> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        if self.depth >= DEEPEST {
            return Err(self.finding.report(Fault::TooDeep));
        }
        Ok(Strict {
            depth: self.depth + 1,
            finding: self.finding,
        })
    }

    fn text<E: Error>(self, text: String) -> Result<String, E> {
        if text.contains('\0') {
            return Err(self.finding.report(Fault::Nul));
        }
        Ok(text)
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        self.text(text).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut array = Vec::new();
        loop {
            let item = items.next_element_seed(inner);
            match item.inspect_err(|_| self.finding.within(&format!("[{}]", array.len())))? {
                Some(item) => array.push(item),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name.contains('\0') {
                let fault = self.finding.report(Fault::Nul);
                self.finding.within(&name);
                return Err(fault);
            }
            let value = fields.next_value_seed(inner);
            let value = value.inspect_err(|_| self.finding.within(&name))?;
            match object.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(place) => {
                    let fault = self.finding.report(Fault::Repeated);
                    self.finding.within(place.key());
                    return Err(fault);
                }
            }
        }
        Ok(Value::Object(object))
    }
}
