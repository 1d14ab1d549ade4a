//! Runs the real binary in separate directories and databases.

pub(crate) mod client;
pub(crate) mod cluster;
pub(crate) mod database;
pub(crate) mod front;
pub(crate) mod journey;
pub(crate) mod mixed_load;
pub(crate) mod process;
pub(crate) mod receiver;
pub(crate) mod site;
pub(crate) mod wire;
