//! `If`: the outputs of one of two graphs. Only the chosen one runs.

use onnx_schema::{attr, op};

use crate::cx::{Cx, Outcome, Stop};
use crate::engine::control::{Control, Next};
use crate::registry::{OpKernels, eval, since_control};
use crate::value::Value;

pub(super) const KERNELS: OpKernels = eval(op::IF, &[since_control(1, |_| Ok(Box::new(If)))]);

struct If;

impl Control for If {
    fn step(&mut self, cx: &mut Cx<'_, '_>, results: Option<Vec<Value>>) -> Outcome<Next> {
        if let Some(results) = results {
            for (index, value) in results.into_iter().enumerate() {
                cx.put_value(index, value)?;
            }
            return Ok(Next::Done);
        }
        let condition = cx.tensor(0)?;
        let graph = match *cx.units::<u8>(&condition)? {
            [condition] if condition != 0 => attr::THEN_BRANCH,
            [_] => attr::ELSE_BRANCH,
            _ => return Err(Stop::failed("the condition must have one element")),
        };
        Ok(Next::Enter { graph, inputs: Vec::new() })
    }
}
