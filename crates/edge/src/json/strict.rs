//! Parses bodies strictly: input that two JSON parsers could read differently is rejected.

use serde_json::{Map, Value};
use vestry_domain::invalid::Reason;
use vestry_domain::strict_json::{self, Fault, Malformed};

use super::{Refused, refuse, shortened};

/// Parses one JSON object.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refused> {
    match strict_json::read(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refused::Syntax("the body must be a JSON object")),
        Err(Malformed::Syntax) => Err(Refused::Syntax("the body is not valid JSON")),
        Err(Malformed::Value { fault, path }) => Err(refused(fault, &path)),
    }
}

fn refused(fault: Fault, path: &str) -> Refused {
    match fault {
        Fault::Repeated => Refused::Repeated {
            param: shortened(path),
        },
        Fault::Nul => {
            let message = "text must not contain the NUL character";
            Refused::Field(refuse(path, Reason::Value, message.to_owned()))
        }
        Fault::TooDeep => {
            // A path of a hundred names would not help: the error names the outermost field.
            let field = path.split(['.', '[']).next().unwrap_or_default();
            let message = format!("{} is nested too deeply", shortened(field));
            Refused::Field(refuse(field, Reason::Value, message))
        }
    }
}
