//! Addresses beside the ids of what has them, for Apps that want to see them in events. They are looked up whenever an event is shown
//! or sent, and never kept with it (E-5, E-6).

use serde_json::{Map, Value};

use super::Event;
use crate::ids::{EmailId, PhoneNumberId, WalletId};

/// Something that an event names and that has an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Addressed {
    /// As `email_id`; its address is `email`.
    Email(EmailId),
    /// As `phone_number_id`; its number is `phone_number`.
    Phone(PhoneNumberId),
    /// As `wallet_id`; its address is `public_address`.
    Wallet(WalletId),
}

impl Addressed {
    /// The fields that addresses are shown in, each with the one that names whose it is.
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
    /// What it names that has an address.
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

    /// Shows the address of one of them; `null` where that is gone.
    pub fn show_address(&mut self, of: Addressed, address: Option<String>) {
        let data: Result<Map<String, Value>, _> = serde_json::from_str(&self.event.data);
        // What is not as it was written is refused where it is shown.
        if let Ok(mut data) = data {
            data.insert(of.field().to_owned(), address.into());
            self.event.data = Value::Object(data).to_string();
        }
    }
}
