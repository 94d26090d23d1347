//! Facts about operators.

#![forbid(unsafe_code)]

mod declared;
mod facts;
mod lookup;
mod reference;
