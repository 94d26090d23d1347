//! Who knows more about the inputs never knows less about the outputs.

use onnx_ir::ValueId;
use onnx_schema::all;
use onnx_shape_infer::{Content, Elem, InferOptions, Inference, Ty, infer};
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

use crate::generate::{Given, Made, Numbers, Plan, variables};
use crate::rounds;

/// Operators some nodes of which cannot run and are not refused, because the reference does not: what is known about one
/// input then contradicts what is known about another, and which of them the outputs follow depends on what is known. Of
/// these, only that nothing becomes unknown is demanded.
const NOT_REFUSED: [(&str, &str); 8] = [
    ("Attention", "batches and heads of queries, keys and values that differ"),
    ("GridSample", "batches of image and grid that differ"),
    ("GRU", "batches of inputs, lengths and states that differ"),
    ("LSTM", "batches of inputs, lengths and states that differ"),
    ("RNN", "batches of inputs, lengths and states that differ"),
    ("Pad", "an input of unknown numbers that are not two for each axis"),
    ("PRelu", "a slope that is not smaller than the input"),
    ("Slice", "lists of unknown numbers that are not equally long"),
];

/// What remains when something about the inputs is forgotten.
fn forgotten(plan: &Plan, numbers: &mut Numbers) -> Plan {
    let mut less = plan.clone();
    for given in &mut less.inputs {
        *given = match std::mem::replace(given, Given::Missing) {
            Given::Missing => Given::Missing,
            Given::Constant(tensor) if numbers.chance(50) => {
                let dims = tensor.dims().iter().map(|&dim| Dim::Known(dim));
                Given::Free(Some(Type::tensor(tensor.elem(), Some(Shape::new(dims)))))
            }
            Given::Constant(tensor) => Given::Constant(tensor),
            Given::Free(_) if numbers.chance(5) => Given::Free(None),
            Given::Free(ty) => Given::Free(ty.map(|ty| less_known(ty, numbers))),
        };
    }
    less
}

fn less_known(mut ty: Type, numbers: &mut Numbers) -> Type {
    if let TypeKind::Tensor(tensor) = &mut ty.kind {
        if numbers.chance(10) {
            tensor.elem = ElemType::Undefined;
        }
        tensor.shape = match tensor.shape.take() {
            Some(_) if numbers.chance(15) => None,
            shape => shape.map(|shape| {
                let forget = |&dim: &Dim| if numbers.chance(40) { Dim::Unknown } else { dim };
                Shape::new(shape.dims().iter().map(forget).collect::<Vec<_>>())
            }),
        };
    }
    ty
}

/// What one run says.
pub(crate) struct Known<'a> {
    pub(crate) inference: &'a Inference,
    pub(crate) variables: [Symbol; 3],
}

impl Known<'_> {
    /// A size in terms of the declared variables: its values for some sizes of them. `None` where it rests on others.
    fn sizes(&self, dim: Dim) -> Option<Vec<Option<i64>>> {
        let is_declared = |symbol: &Symbol| self.variables.contains(symbol);
        match dim {
            Dim::Unknown => return None,
            Dim::Var(symbol) if !is_declared(&symbol) => return None,
            Dim::Expr(_) if !self.inference.exprs().symbols(dim).iter().all(is_declared) => return None,
            _ => {}
        }
        let sizes = |seed: i64| {
            let value = |symbol| {
                let index = self.variables.iter().position(|&known| known == symbol)?;
                Some(7 + seed * 5 + [11, 17, 29][index] * (index as i64 + seed))
            };
            self.inference.exprs().eval(dim, &value)
        };
        Some((0..3).map(sizes).collect())
    }

    pub(crate) fn ty(&self, value: ValueId) -> Ty {
        self.inference.ty(value)
    }
}

const OTHER_SIZE: &str = "a size as it was";
const OTHER_RANK: &str = "the rank as it was";

/// What `less` knows about a size and `more` does not.
fn lost_size(more: &Known<'_>, less: &Known<'_>, (ours, theirs): (Dim, Dim)) -> Option<&'static str> {
    match (more.sizes(ours), less.sizes(theirs)) {
        (_, None) => None,
        (None, Some(_)) => Some("a size"),
        // A size that cannot be computed for some variables says nothing for those.
        (Some(ours), Some(theirs)) => ours
            .iter()
            .zip(&theirs)
            .any(|(ours, theirs)| matches!((ours, theirs), (Some(ours), Some(theirs)) if ours != theirs))
            .then_some(OTHER_SIZE),
    }
}

pub(crate) fn lost(more: &Known<'_>, less: &Known<'_>, ours: &Ty, theirs: &Ty) -> Option<&'static str> {
    match (ours, theirs) {
        (_, Ty::Unknown) => None,
        (Ty::Unknown, _) => Some("the type"),
        (Ty::Tensor(our_elem, our_dims), Ty::Tensor(elem, dims)) => {
            if *elem != ElemType::Undefined && our_elem != elem {
                return Some("the element type");
            }
            let dims = dims.as_ref()?;
            let Some(our_dims) = our_dims.as_ref() else { return Some("the rank") };
            if our_dims.len() != dims.len() {
                return Some(OTHER_RANK);
            }
            let mut pairs = our_dims.iter().copied().zip(dims.iter().copied());
            pairs.find_map(|pair| lost_size(more, less, pair))
        }
        // Of other types only the kind is compared.
        (Ty::Other(ours), Ty::Other(theirs)) => {
            let differ = std::mem::discriminant(&ours.kind) != std::mem::discriminant(&theirs.kind);
            differ.then_some("the kind")
        }
        _ => Some("the kind"),
    }
}

pub(crate) fn lost_content(more: &Known<'_>, less: &Known<'_>, value: ValueId) -> bool {
    let content = |known: &Known<'_>| known.inference.content(value).cloned();
    let (ours, theirs): (Option<Content>, Option<Content>) = (content(more), content(less));
    let Some(theirs) = theirs else { return false };
    let is_known = |elem: &Elem| match *elem {
        Elem::Unknown => false,
        Elem::Int(dim) => less.sizes(dim).is_some(),
        _ => true,
    };
    let Some(ours) = ours else { return theirs.iter().any(is_known) };
    ours.len() != theirs.len()
        || ours.iter().zip(theirs.iter()).any(|(&ours, &theirs)| match (ours, theirs) {
            (Elem::Int(ours), Elem::Int(theirs)) => lost_size(more, less, (ours, theirs)).is_some(),
            (Elem::Unknown, theirs) => is_known(&theirs),
            _ => false,
        })
}

/// Infers with more and with less knowledge; says what is wrong.
fn compare(plan: &Plan, less: &Plan) -> Result<(), String> {
    let tell = |what: &str, details: String| Err(format!("{what} {details}\n  {less:?}\n  {plan:?}"));
    let (plenty, few): (Made, Made) = (plan.make(), less.make());
    // Of inputs of other types than the operator takes, nothing follows.
    let mut options = InferOptions::default();
    options.check_types = true;
    let (more, fewer) = (infer(&plenty.model, &options), infer(&few.model, &options));
    let is_excused = NOT_REFUSED.iter().any(|(op, _)| *op == plan.schema.name());
    let message = |inference: &Inference| {
        inference.findings().diagnostics().first().map(|found| found.message.to_string())
    };
    match (message(&more), message(&fewer)) {
        // What must fail says nothing about its outputs.
        (Some(_), _) => return Ok(()),
        // The reference accepts a constant that is not a vector as a shape, and refuses a computed one; so does the
        // inference rule.
        (None, Some(found)) if found == "the shape must be a vector" => return Ok(()),
        (None, Some(_)) if is_excused => return Ok(()),
        (None, Some(found)) => return tell("a contradiction that is gone:", found),
        (None, None) => {}
    }
    let variables = variables();
    let more = Known { inference: &more, variables };
    let fewer = Known { inference: &fewer, variables };
    for (index, (&ours, &theirs)) in plenty.outputs.iter().zip(&few.outputs).enumerate() {
        let (ty, before) = (more.ty(ours), fewer.ty(theirs));
        let lost = lost(&more, &fewer, &ty, &before);
        if let Some(what) = lost.filter(|what| !is_excused || !matches!(*what, OTHER_SIZE | OTHER_RANK)) {
            return tell("lost", format!("{what} of output {index}: {before:?} became {ty:?}"));
        }
        if !is_excused && lost_content(&more, &fewer, ours) {
            return tell("lost", format!("elements of output {index}"));
        }
    }
    Ok(())
}

#[test]
fn knowing_more_never_gives_less() {
    let variables = variables();
    let mut failures = Vec::new();
    let mut compared = 0;
    for (index, schema) in all().iter().enumerate() {
        for round in 0..rounds() {
            let mut numbers = Numbers::new(round * 1000 + index as u64 + 500_000_000);
            let wild = [0, 0, 5][numbers.below(3)];
            let plan = Plan::random(schema, &mut numbers, &variables, wild);
            let less = forgotten(&plan, &mut numbers);
            if let Err(problem) = compare(&plan, &less) {
                failures.push(format!("{} {problem}", schema));
            }
            compared += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {compared}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn an_optional_of_unknown_elements_is_one_of_those_allowed() {
    let schema = onnx_schema::lookup_by_name("", "Optional", 15).unwrap();
    let inputs = vec![Given::Free(Some(Type::tensor(ElemType::Undefined, Some(Shape::known(&[2])))))];
    let made = Plan { schema, inputs, attributes: Vec::new(), outputs: 1 }.make();
    let mut options = InferOptions::default();
    options.check_types = true;
    let inference = infer(&made.model, &options);
    assert!(inference.findings().diagnostics().is_empty());
    let Ty::Other(ty) = inference.ty(made.outputs[0]) else { panic!("it is an optional") };
    assert!(matches!(ty.kind, TypeKind::Optional(_)));
}
