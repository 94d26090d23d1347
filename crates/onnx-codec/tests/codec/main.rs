//! Reading and writing models, files and external data.

#![forbid(unsafe_code)]

mod external;
mod external_limits;
mod externalize;
mod files;
mod load;
mod message;
mod operator_set;
mod replacing;
mod sent;
