//! Adds addresses next to the ids in events, for Apps that enable it.

use std::collections::HashMap;

use vestry_domain::event::{Addressed, Event};
use vestry_ports::store::{Repositories, StoreResult};

/// Adds the current email addresses, phone numbers and wallet addresses to the objects that events name.
pub(crate) async fn show_addresses(
    read: &mut dyn Repositories,
    events: &mut [Event],
) -> StoreResult<()> {
    let mut known: HashMap<Addressed, Option<String>> = HashMap::new();
    for event in events {
        let world = event.event.world;
        for one in event.addressed() {
            let address = match known.get(&one) {
                Some(address) => address.clone(),
                None => {
                    let address = match one {
                        Addressed::Email(id) => {
                            let email = read.identifiers().email(&world, id).await?;
                            email.map(|email| email.email.address().to_owned())
                        }
                        Addressed::Phone(id) => {
                            let phone = read.identifiers().phone(&world, id).await?;
                            phone.map(|phone| phone.number.as_str().to_owned())
                        }
                        Addressed::Wallet(id) => {
                            let wallet = read.wallets().find(&world, id).await?;
                            wallet.map(|wallet| wallet.wallet.public_address)
                        }
                    };
                    known.insert(one, address.clone());
                    address
                }
            };
            event.show_address(one, address);
        }
    }
    Ok(())
}
