//! `cargo xtask tidy`.

use crate::TaskResult;

pub(crate) fn run(_args: &[String]) -> TaskResult {
    Ok(())
}
