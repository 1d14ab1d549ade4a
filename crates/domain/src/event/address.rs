//! Addresses shown next to ids in events, for Apps that enable this. They are looked up each time that an event is shown or sent, and never
//! stored with it (E-5, E-6).

use serde_json::{Map, Value};

use super::Event;
use crate::ids::{EmailId, PhoneNumberId, WalletId};

/// An object in an event that has an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Addressed {
    /// Given by `email_id`; its address is shown as `email`.
    Email(EmailId),
    /// Given by `phone_number_id`; its number is shown as `phone_number`.
    Phone(PhoneNumberId),
    /// Given by `wallet_id`; its address is shown as `public_address`.
    Wallet(WalletId),
}

impl Addressed {
    /// The fields that hold addresses, each paired with the field that holds the object's id.
    pub const FIELDS: [(&'static str, &'static str); 3] = [
        ("email_id", "email"),
        ("phone_number_id", "phone_number"),
        ("wallet_id", "public_address"),
    ];

    const fn field(self) -> &'static str {
        match self {
            Self::Email(_) => "email",
            Self::Phone(_) => "phone_number",
            Self::Wallet(_) => "public_address",
        }
    }
}

impl Event {
    /// The objects in this event that have an address.
    pub fn addressed(&self) -> Vec<Addressed> {
        let data: Map<String, Value> = serde_json::from_str(&self.event.data).unwrap_or_default();
        let text = |name| data.get(name).and_then(Value::as_str);
        let email = text("email_id").and_then(|id| id.parse().ok());
        let phone = text("phone_number_id").and_then(|id| id.parse().ok());
        let wallet = text("wallet_id").and_then(|id| id.parse().ok());
        let all = [
            email.map(Addressed::Email),
            phone.map(Addressed::Phone),
            wallet.map(Addressed::Wallet),
        ];
        all.into_iter().flatten().collect()
    }

    /// Adds the address of one of these objects; `null` if it no longer exists.
    pub fn show_address(&mut self, of: Addressed, address: Option<String>) {
        let data: Result<Map<String, Value>, _> = serde_json::from_str(&self.event.data);
        // Corrupt data is left as it is; showing the event reports the error.
        if let Ok(mut data) = data {
            data.insert(of.field().to_owned(), address.into());
            self.event.data = Value::Object(data).to_string();
        }
    }
}
