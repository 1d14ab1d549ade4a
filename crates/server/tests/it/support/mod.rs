//! Runs the real binary in separate directories and databases.

pub(crate) mod client;
pub(crate) mod cluster;
pub(crate) mod database;
pub(crate) mod flow;
pub(crate) mod installation;
pub(crate) mod mixed_load;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod proxy;
pub(crate) mod receiver;
