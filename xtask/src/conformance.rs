//! `cargo xtask conformance`.

use crate::TaskResult;

pub(crate) fn run(_args: &[String]) -> TaskResult {
    Ok(())
}
