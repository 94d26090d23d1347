//! Runs of generated models: whatever the model and its inputs, a run ends with outputs or with a failure, within its limits,
//! and outputs have the types and sizes that inference concluded. No run refutes a fact that inference states as proved.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use std::sync::Arc;

use onnx_eval::{EvalOptions, Evaluator, FailureKind, MapKey, Value, has_kernel};
use onnx_ir::{Model, ValueId};
use onnx_schema::SchemaId;
use onnx_shape_infer::{Fact, Guard, InferOptions, Inference, Justification, Strength, Violation, infer};
use onnx_smith::from_seed;
use onnx_types::tensor::{Payload, Tensor, f16};
use onnx_types::{Dim, ElemClass, ElemType, Limits, Symbol, Type, TypeKind};

/// Numbers for sizes and elements.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A small number, or rarely a special one.
    fn float(&mut self) -> f64 {
        match self.next() % 40 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            4 => 1e30,
            _ => (self.next() % 64) as f64 / 8.0 - 3.0,
        }
    }

    fn int(&mut self) -> i64 {
        match self.next() % 40 {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => -1,
            3 => 1 << 40,
            _ => (self.next() % 6) as i64 - 1,
        }
    }

    fn element(&mut self, elem: ElemType) -> Vec<u8> {
        match elem {
            ElemType::Float => (self.float() as f32).to_le_bytes().to_vec(),
            ElemType::Double => self.float().to_le_bytes().to_vec(),
            ElemType::Float16 => f16::from_f64(self.float()).to_le_bytes().to_vec(),
            ElemType::Bool => vec![(self.next() % 2) as u8],
            _ => {
                let bytes = elem.bits().unwrap_or(8).div_ceil(8) as usize;
                let number = if elem.class() == ElemClass::Float { self.next() as i64 } else { self.int() };
                number.to_le_bytes().into_iter().cycle().take(bytes).collect()
            }
        }
    }

    fn tensor(&mut self, elem: ElemType, dims: &[i64]) -> Tensor {
        let count: i64 = dims.iter().product();
        if elem == ElemType::String {
            let texts = (0..count).map(|_| format!("{}", self.next() % 4));
            return Tensor::from_strings(dims.iter().copied(), texts.collect::<Vec<_>>()).unwrap();
        }
        let bytes = elem.byte_len(count as u64).unwrap() as usize;
        let elements: Vec<u8> = (0..count).flat_map(|_| self.element(elem)).take(bytes).collect();
        let payload = Payload::Raw(elements.into());
        Tensor::from_parts(elem.code(), dims.into(), payload)
    }

    fn value(&mut self, ty: &Type, sizes: &mut Vec<(Symbol, i64)>, depth: u32) -> Value {
        match &ty.kind {
            TypeKind::Sequence(Some(inner)) if depth < 4 => {
                let count = self.next() % 3;
                Value::Sequence(Arc::new((0..count).map(|_| self.value(inner, sizes, depth + 1)).collect()))
            }
            TypeKind::Optional(Some(inner)) if depth < 4 => {
                let value =
                    (!self.next().is_multiple_of(3)).then(|| Arc::new(self.value(inner, sizes, depth + 1)));
                Value::Optional(value)
            }
            TypeKind::Map { key, value: Some(inner) } if depth < 4 => {
                let key = |index: u64| match key {
                    ElemType::String => MapKey::Text(index.to_string().into()),
                    _ => MapKey::Int(index as i64),
                };
                let count = self.next() % 3;
                let made = (0..count).map(|index| (key(index), self.value(inner, sizes, depth + 1)));
                Value::Map(Arc::new(made.collect()))
            }
            _ => {
                let shape = ty.shape().map(|shape| shape.dims().to_vec()).unwrap_or_default();
                let dims: Vec<i64> = shape.iter().map(|&dim| self.size(dim, sizes)).collect();
                let elem = if ty.elem() == ElemType::Undefined { ElemType::Float } else { ty.elem() };
                self.tensor(elem, &dims).into()
            }
        }
    }

    fn size(&mut self, dim: Dim, sizes: &mut Vec<(Symbol, i64)>) -> i64 {
        match dim {
            Dim::Known(size) => size.max(0),
            Dim::Var(name) => match sizes.iter().find(|(known, _)| *known == name) {
                Some(&(_, size)) => size,
                None => {
                    // Mostly sizes at which formulas break, and now and then a large one.
                    let size = [0, 1, 2, 3, 1, 2, 4, 17][(self.next() % 8) as usize];
                    sizes.push((name, size));
                    size
                }
            },
            Dim::Expr(_) | Dim::Unknown => (self.next() % 4) as i64,
        }
    }
}

/// A fact that inference states as proved and that a run of the model refutes: without assumptions, with assumptions whose guards
/// hold, or as the reason why given shapes are refused.
fn refuted(
    model: &Model,
    inference: &Inference,
    sizes: &[(Symbol, i64)],
    shapes: &[(ValueId, Vec<i64>)],
) -> Option<String> {
    let size = |symbol| sizes.iter().find(|(known, _)| *known == symbol).map(|&(_, size)| size);
    let fails = |fact: &Fact| fact.relation.fails(|dim| inference.exprs().eval(dim, &size));
    let is_proved = |fact: &Fact| fact.strength == Strength::Proved && !fact.is_conditional();
    let holds_elsewhere = |fact: &Fact| match inference.fact_justification(model, fact) {
        Justification::Unrecorded => true,
        justification => justification.guards().iter().any(fails),
    };
    let facts = inference.facts().all().iter();
    let mut wrong = facts.filter(|fact| is_proved(fact) && fails(fact) && !holds_elsewhere(fact)).copied();
    let shapes: Vec<(ValueId, &[i64])> = shapes.iter().map(|(id, dims)| (*id, dims.as_slice())).collect();
    let (_, violations) = inference.solve(model, &shapes);
    let refused = violations.into_iter().find_map(|violation| match violation {
        Violation::Fact(fact) if is_proved(&fact) => Some(fact),
        _ => None,
    });
    let fact = wrong.next().or(refused)?;
    Some(format!("proved for {sizes:?}: {}", Guard::new(model, inference, fact).line()))
}

/// The output that differs from what inference concluded.
fn contradiction(
    model: &Model,
    sizes: &[(Symbol, i64)],
    shapes: &[(ValueId, Vec<i64>)],
    outputs: &[Value],
) -> Option<String> {
    let options = InferOptions::default();
    [true, false].into_iter().find_map(|assumed| {
        let options = options.clone().with_assumed(assumed);
        let inference = infer(model, &options);
        refuted(model, &inference, sizes, shapes)
            .or_else(|| differs(model, &options, &inference, sizes, outputs))
    })
}

/// The output that differs from a result that is proved: without assumptions, that is every result.
fn differs(
    model: &Model,
    options: &InferOptions<'_>,
    inference: &Inference,
    sizes: &[(Symbol, i64)],
    outputs: &[Value],
) -> Option<String> {
    assert!(options.assumed || inference.facts().guards().next().is_none(), "a guard without assumptions");
    let mut shapes = inference.shapes(model);
    let evaluated = shapes.evaluate(sizes);
    let ids = model.graph(model.main_graph()).outputs().iter().map(onnx_ir::GraphOutput::value);
    let ids: Vec<ValueId> = ids.collect();
    for (&id, value) in ids.iter().zip(outputs) {
        let Value::Tensor(tensor) = value else { continue };
        if !inference.justification(model, id).is_proved() {
            assert!(options.assumed, "a result is assumed");
            continue;
        }
        let name = model.str(model.value(id).name());
        if inference.elem(id).is_some_and(|elem| elem != tensor.elem()) {
            return Some(format!("`{name}` is {value:?}, inferred {:?}", inference.elem(id)));
        }
        let Some(dims) = evaluated.shape(id) else { continue };
        let fits =
            |(inferred, found): (&Option<i64>, &i64)| inferred.is_none_or(|inferred| inferred == *found);
        if dims.len() != tensor.dims().len() || !dims.iter().zip(tensor.dims()).all(fits) {
            return Some(format!("`{name}` is {value:?}, inferred {dims:?}"));
        }
    }
    None
}

/// Runs a model on inputs made from a number; returns `true` if it ran to completion.
fn run(model: &Model, seed: u64) -> Result<bool, String> {
    let limits = Limits {
        run_elements: 1 << 16,
        run_bytes: 1 << 22,
        run_steps: 1 << 22,
        run_depth: 100,
        ..Limits::default()
    };
    let options = EvalOptions::default().with_limits(limits);
    let mut numbers = Numbers(seed);
    let mut sizes = Vec::new();
    let evaluator = Evaluator::new(model, &options).map_err(|failure| failure.to_string())?;
    let inputs = evaluator.inputs().iter().map(|&input| {
        let ty = model.ty(input).cloned().unwrap_or_default();
        let is_default = model.value(input).initializer().is_some();
        (!is_default).then(|| numbers.value(&ty, &mut sizes, 0))
    });
    let inputs: Vec<Option<Value>> = inputs.collect();
    let given = evaluator.inputs().iter().zip(&inputs);
    let shapes: Vec<(ValueId, Vec<i64>)> =
        given.filter_map(|(&id, value)| Some((id, value.as_ref()?.tensor()?.dims().to_vec()))).collect();
    match evaluator.run_in_order(inputs) {
        Ok(outputs) => match contradiction(model, &sizes, &shapes, &outputs) {
            Some(contradiction) => Err(contradiction),
            None => Ok(true),
        },
        Err(failure) if matches!(failure.kind(), FailureKind::Input | FailureKind::Model) => {
            Err(format!("{:?}: {failure}", failure.kind()))
        }
        Err(_) => Ok(false),
    }
}

/// The text of a model, for a report.
fn text(model: &Model) -> String {
    onnx_text::print_model(model, &onnx_text::PrintOptions::default())
        .map(|printed| printed.text)
        .unwrap_or_default()
}

#[test]
fn every_operator_with_a_kernel_runs_or_fails() {
    let schemas = (0..SchemaId::COUNT).filter_map(SchemaId::from_index).filter(|&schema| has_kernel(schema));
    let rounds: u64 = std::env::var("EVAL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    let (mut completed, mut runs, mut wrong) = (0, 0, Vec::new());
    for schema in schemas {
        for round in 0..rounds {
            let seed = schema.index() as u64 * 1000 + round;
            let made =
                from_seed(seed, &onnx_smith::SmithOptions::default().with_nodes(4).with_schema(schema));
            for inputs in 0..2 {
                runs += 1;
                match run(&made.model, seed * 7 + inputs) {
                    Ok(is_completed) => completed += i32::from(is_completed),
                    Err(error) => {
                        wrong.push(format!("{} seed {seed}: {error}\n{}", schema.schema(), text(&made.model)))
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {runs} runs: {}",
        wrong.len(),
        wrong.iter().take(4).cloned().collect::<String>()
    );
    // Inputs are made without regard to the operators, and many models have operators without a kernel.
    assert!(completed * 5 > runs, "{completed} of {runs} runs completed");
}
