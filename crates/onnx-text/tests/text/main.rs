//! What the parser and the printer do, by example and by property.

mod compat;
mod errors;
mod hostile;
mod roundtrip;
