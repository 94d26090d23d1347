//! Values that an operator collects from the runs of its graph.

use crate::cx::{Cx, Outcome, Stop};
use crate::value::Value;

/// The values of an output, one of each run. The budget counts them until they are released.
#[derive(Clone, Default)]
pub(super) struct Collected {
    values: Vec<Value>,
    bytes: u64,
}

impl Collected {
    pub(super) fn push(&mut self, cx: &mut Cx<'_, '_>, value: Value) -> Outcome {
        let bytes = cx.budget.bytes_of(&value)?;
        cx.budget.keep(bytes)?;
        self.bytes = self.bytes.saturating_add(bytes);
        self.values.try_reserve(1).map_err(|_| Stop::out_of_memory(self.values.len(), size_of::<Value>()))?;
        self.values.push(value);
        Ok(())
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(super) fn reverse(&mut self) {
        self.values.reverse();
    }

    /// Ends the accounting, and returns the values.
    pub(super) fn release(self, cx: &mut Cx<'_, '_>) -> Vec<Value> {
        cx.budget.release(self.bytes);
        self.values
    }
}
