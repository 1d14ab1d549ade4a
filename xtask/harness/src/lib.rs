//! What the commands under `xtask/` share: command lines, child processes, throwaway servers and installations of the service.
//!
//! It stays thin in dependencies, because it is compiled before anything else can start.

pub mod arguments;
pub mod child_guard;
pub mod command;
pub mod database;
pub mod debian;
pub mod environment;
pub mod failure;
pub mod installation;
pub mod lane;
pub mod node;
pub mod postgres;
pub mod process;
pub mod project;
pub mod python;
pub mod redis;
pub mod source_builds;
pub mod temporary;
pub mod test_servers;
pub mod wait;
