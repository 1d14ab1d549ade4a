//! The administration of the deployment: management keys.

mod management_keys;

pub use management_keys::{NewManagementKey, NewManagementKeyFields};
