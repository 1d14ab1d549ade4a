//! PSBTs of version 0 and 2.

mod bip322;
mod differential;
mod mutations;
mod official;
mod refusals;
mod signing;
mod support;
