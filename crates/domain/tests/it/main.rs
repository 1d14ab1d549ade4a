//! The rules of the domain beside implementations that are not ours.

mod phone_reference;
