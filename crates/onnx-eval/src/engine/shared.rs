//! Results of one run for another one: the products that two models have in common are computed once.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use foldhash::fast::{FixedState, RandomState};
use onnx_ir::Model;
use onnx_schema::{SchemaId, SchemaRef};
use onnx_types::tensor::{NoData, Tensor};

use super::plan::Step;
use crate::value::Value;

/// Results of nodes that take more work than comparing their operands, for runs with the same options.
///
/// A kernel computes the same results from the same attributes and the same bits of operands.
pub(crate) struct Shared {
    kept: Mutex<Kept>,
}

struct Kept {
    by_hash: HashMap<u64, Vec<(Key, Results)>, RandomState>,
    /// Bytes that may still be kept.
    left: u64,
}

/// What a kernel reads.
pub(super) struct Key {
    schema: SchemaId,
    attributes: Vec<(String, Tensor)>,
    inputs: Vec<Option<Value>>,
    /// Which outputs the node does not omit.
    outputs: Vec<bool>,
    hash: u64,
}

/// What a kernel made, and how many operations it counted.
#[derive(Clone)]
pub(super) struct Results {
    pub(super) outputs: Vec<Option<Value>>,
    pub(super) steps: u64,
}

impl Shared {
    /// Keeps operands and results of at most this many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { kept: Mutex::new(Kept { by_hash: HashMap::default(), left: bytes }) }
    }

    /// The results of a node that read the same.
    pub(super) fn find(&self, key: &Key) -> Option<Results> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let alike = kept.by_hash.get(&key.hash)?;
        alike.iter().find(|(other, _)| other.is_same(key)).map(|(_, results)| results.clone())
    }

    /// Keeps results, if they are worth it.
    pub(super) fn keep(&self, key: Key, results: Results) {
        /// Work that takes longer than comparing a byte of an operand.
        const STEPS_OF_BYTE: u64 = 4;
        let bytes = |values: &[Option<Value>]| -> u64 {
            values.iter().flatten().map(Value::resident_bytes).fold(0, u64::saturating_add)
        };
        let read = bytes(&key.inputs);
        if results.steps < read.saturating_mul(STEPS_OF_BYTE) {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = kept.left.checked_sub(read.saturating_add(bytes(&results.outputs))) else { return };
        kept.left = left;
        kept.by_hash.entry(key.hash).or_default().push((key, results));
    }
}

impl Key {
    /// What the kernel of a node reads; `None` if comparing it takes as long as computing, or if the node refers to more than its
    /// operands and attributes.
    pub(super) fn of(model: &Model, step: &Step<'_>, inputs: &[Option<Value>]) -> Option<Self> {
        let Some(SchemaRef::Standard(schema)) = step.schema else { return None };
        if !schema.traits().contracts() || inputs.iter().flatten().any(|input| input.tensor().is_none()) {
            return None;
        }
        let attributes = step.node.attributes().iter();
        let attributes: Option<Vec<(String, Tensor)>> = attributes
            .map(|attribute| Some((model.str(attribute.name()).to_owned(), attribute.value().to_tensor()?)))
            .collect();
        let outputs = step.node.outputs().iter().map(Option::is_some).collect();
        let mut key =
            Self { schema: schema.id(), attributes: attributes?, inputs: inputs.to_vec(), outputs, hash: 0 };
        let mut hasher = std::hash::BuildHasher::build_hasher(&FixedState::default());
        key.schema.hash(&mut hasher);
        for (name, value) in &key.attributes {
            name.hash(&mut hasher);
            value.hash_meaning(&NoData, &mut hasher);
        }
        for input in &key.inputs {
            if let Some(tensor) = input.as_ref().and_then(Value::tensor) {
                tensor.hash_meaning(&NoData, &mut hasher);
            }
        }
        key.hash = hasher.finish();
        Some(key)
    }

    /// Whether both are equal bit for bit.
    fn is_same(&self, other: &Self) -> bool {
        let is_same_tensor = |a: &Tensor, b: &Tensor| std::ptr::eq(a, b) || a.same_meaning(b, &NoData);
        let attributes = || {
            self.attributes.len() == other.attributes.len()
                && self
                    .attributes
                    .iter()
                    .zip(&other.attributes)
                    .all(|((own, a), (name, b))| own == name && is_same_tensor(a, b))
        };
        let is_same_input = |pair: (&Option<Value>, &Option<Value>)| match pair {
            (Some(a), Some(b)) => a.tensor().zip(b.tensor()).is_some_and(|(a, b)| is_same_tensor(a, b)),
            (None, None) => true,
            _ => false,
        };
        (self.schema, &self.outputs) == (other.schema, &other.outputs)
            && attributes()
            && self.inputs.len() == other.inputs.len()
            && self.inputs.iter().zip(&other.inputs).all(is_same_input)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use onnx_types::tensor::Tensor;

    use super::Shared;
    use crate::{EvalOptions, Evaluator, Value};

    /// The results of a graph with the inputs `x` and `w`, and the operations of the run.
    fn run(graph: &str, x: &Tensor, w: &Tensor, shared: Option<&Shared>) -> (Vec<Arc<Tensor>>, u64) {
        let text =
            format!("<ir_version: 10, opset_import: [\"\": 20]> g (float[M,K] x, float[K,K] w) => {graph}");
        let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default()).unwrap();
        let steps = AtomicU64::new(0);
        let options = EvalOptions { shared, meter: Some(&steps), ..EvalOptions::default() };
        let inputs = vec![Some(Value::from(x.clone())), Some(Value::from(w.clone()))];
        let outputs = Evaluator::new(&model, &options).unwrap().run_in_order(inputs).unwrap();
        let tensor = |output: Value| match output {
            Value::Tensor(tensor) => tensor,
            other => panic!("{other:?}"),
        };
        (outputs.into_iter().map(tensor).collect(), steps.load(Ordering::Relaxed))
    }

    fn numbers(first: f32) -> Tensor {
        let mut numbers: Vec<f32> = (0..64 * 64).map(|number| (number % 7) as f32 - 3.0).collect();
        numbers[0] = first;
        Tensor::from_slice([64, 64], &numbers).unwrap()
    }

    #[test]
    fn products_of_the_same_bits_are_computed_once() {
        let (x, w) = (numbers(0.0), numbers(1.0));
        let shared = Shared::new(1 << 20);
        let first = "(y) { a = Neg (x) b = Gemm <alpha = 2.0> (a, w) y = Relu (b) }";
        let second = "(z, c) { b = Neg (x) c = Gemm <alpha = 2.0> (b, w) z = Abs (c) }";
        let (_, steps) = run(first, &x, &w, Some(&shared));
        assert_eq!(steps, run(first, &x, &w, None).1);
        // The results are those that were kept, and count as much work.
        let (one, steps) = run(second, &x, &w, Some(&shared));
        let (other, _) = run(second, &x, &w, Some(&shared));
        assert!(Arc::ptr_eq(&one[1], &other[1]) && !Arc::ptr_eq(&one[0], &other[0]));
        let (own, own_steps) = run(second, &x, &w, None);
        assert_eq!((&own, own_steps), (&one, steps));
        // Other attributes, another operator, and operands in another order or of other bits.
        for graph in [
            "(z, c) { b = Neg (x) c = Gemm <alpha = 2.0, transB = 1> (b, w) z = Abs (c) }",
            "(z, c) { b = Neg (x) c = Gemm (b, w) z = Abs (c) }",
            "(z, c) { b = Neg (x) c = MatMul (b, w) z = Abs (c) }",
            "(z, c) { b = Neg (x) c = Gemm <alpha = 2.0> (w, b) z = Abs (c) }",
        ] {
            let (found, _) = run(graph, &x, &w, Some(&shared));
            assert!(!Arc::ptr_eq(&found[1], &one[1]), "{graph}");
            assert_eq!(found, run(graph, &x, &w, None).0, "{graph}");
        }
        let (found, _) = run(second, &numbers(-0.0), &w, Some(&shared));
        assert!(!Arc::ptr_eq(&found[1], &one[1]));
    }

    #[test]
    fn memory_of_shared_results_is_bounded() {
        let (x, w) = (numbers(0.0), numbers(1.0));
        let shared = Shared::new(40_000);
        let graph = "(y) { y = MatMul (x, w) }";
        let [one, other] = [0, 1].map(|_| run(graph, &x, &w, Some(&shared)).0);
        assert!(!Arc::ptr_eq(&one[0], &other[0]));
    }
}
