//! The types that a model declares, compared with the values that it is given or computes.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use onnx_diag::{Diagnostic, Quoted};
use onnx_ir::{Model, Places, ValueId};
use onnx_types::{Dim, ElemType, Symbol, Type, TypeKind};

use crate::engine::is_narrow;
use crate::fault;
use crate::options::Precision;
use crate::value::{MapKey, Value};

/// Compares the values of a run with the types that the model declares for them: those of inputs, outputs and `value_info`.
///
/// In the main graph, a dimension variable is the size that the first value with it has there. In nested graphs and functions,
/// which can run several times with different sizes, numbers are compared and variables are not.
///
/// ```
/// use onnx_eval::RunTypes;
/// use onnx_eval::Value;
/// use onnx_types::tensor::Tensor;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) { y = Concat <axis = 0> (x, x) }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let graph = model.graph(model.main_graph());
/// let mut declared = RunTypes::new(&model);
/// let value = |size: usize| Value::from(Tensor::vector(&vec![1.0_f32; size]));
/// assert!(declared.check(graph.inputs()[0], &value(2)).is_none());
/// let found = declared.check(graph.outputs()[0].value(), &value(4)).expect("`N` is 2");
/// assert_eq!(found.message, "output `y`: axis 0 is declared as `N`, which is 2, computed with 4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunTypes<'m> {
    model: &'m Model,
    /// The indices of the outputs of the main graph.
    outputs: HashMap<ValueId, usize, RandomState>,
    /// Sizes of the variables of the main graph.
    sizes: HashMap<Symbol, i64, RandomState>,
    /// Values with a contradiction, which is reported once.
    reported: HashSet<ValueId, RandomState>,
}

impl<'m> RunTypes<'m> {
    /// The declared types of a model, before any of its variables has a size.
    #[must_use]
    pub fn new(model: &'m Model) -> Self {
        let outputs = model.graph(model.main_graph()).outputs().iter().enumerate();
        Self {
            model,
            // Of several outputs of one value, the first one is named.
            outputs: outputs.map(|(index, output)| (output.value(), index)).rev().collect(),
            sizes: HashMap::default(),
            reported: HashSet::default(),
        }
    }

    /// Returns a diagnostic if a value contradicts its declared type. That of a value in a loop is returned once.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    pub fn check(&mut self, id: ValueId, value: &Value) -> Option<Diagnostic> {
        if self.reported.contains(&id) {
            return None;
        }
        let (model, main) = (self.model, self.model.main_graph());
        let index = self.outputs.get(&id).copied();
        let output = index.and_then(|index| model.graph(main).outputs().get(index));
        let own = output.and_then(|output| output.own()).and_then(|own| own.ty.as_deref());
        let ty = own.or_else(|| model.ty(id))?;
        let found = difference(ty, value, Precision::Declared, "computed").or_else(|| {
            let is_main = model.graph_of(id) == main;
            if is_main { self.variable_difference(ty, value) } else { None }
        });
        let found = found?;
        self.reported.insert(id);
        let places = Places::new(model);
        let (kind, locus) = match index {
            Some(index) => ("output", places.graph_output(main, index)),
            None => ("value", places.definition(id)),
        };
        let name = Quoted(model.str(model.value(id).name()));
        let message = format!("{kind} {name}: {found}");
        Some(Diagnostic::new(&fault::VALUE_DIFFERS, locus, message).help(fault::help(&fault::VALUE_DIFFERS)))
    }

    /// The contradiction between the sizes of a tensor and the dimension variables of its declared type. Variables without a
    /// size get that of the tensor.
    fn variable_difference(&mut self, ty: &Type, value: &Value) -> Option<String> {
        let declared = ty.shape()?.dims();
        for (axis, (dim, &size)) in declared.iter().zip(value.tensor()?.dims()).enumerate() {
            let Dim::Var(variable) = *dim else { continue };
            let known = *self.sizes.entry(variable).or_insert(size);
            if known != size {
                let variable = Quoted(self.model.str(variable));
                return Some(format!(
                    "axis {axis} is declared as {variable}, which is {known}, computed with {size}"
                ));
            }
        }
        None
    }
}

/// How a value that is given contradicts a declared type; `None` if it does not. Sizes that are variables are not compared.
#[must_use]
pub fn contradiction(ty: &Type, given: &Value) -> Option<String> {
    difference(ty, given, Precision::Declared, "given")
}

/// The contradiction between a value and a declared type; `None` if there is none. Sizes that are variables are not
/// compared. `verb` says where the value is from: "given" or "computed".
pub(crate) fn difference(ty: &Type, value: &Value, precision: Precision, verb: &str) -> Option<String> {
    let is_kind = match (&ty.kind, value) {
        (TypeKind::Tensor(declared), Value::Tensor(tensor)) => {
            let is_widened = precision == Precision::Double
                && tensor.elem() == ElemType::Double
                && is_narrow(declared.elem);
            if declared.elem != ElemType::Undefined && declared.elem != tensor.elem() && !is_widened {
                return Some(format!(
                    "declared as a tensor of {}, {verb} one of {}",
                    declared.elem,
                    tensor.elem()
                ));
            }
            let dims = declared.shape.as_ref()?.dims();
            let differs =
                |(declared, given): (&Dim, &i64)| declared.known().is_some_and(|size| size != *given);
            if dims.len() != tensor.dims().len() {
                let (declared, given) = (dims.len(), tensor.dims().len());
                return Some(format!("declared with rank {declared}, {verb} with rank {given}"));
            }
            let axis = dims.iter().zip(tensor.dims()).position(differs)?;
            let declared = dims.get(axis).and_then(|dim| dim.known()).unwrap_or_default();
            let given = tensor.dims().get(axis).copied().unwrap_or_default();
            return Some(format!("axis {axis} is declared with size {declared}, {verb} with {given}"));
        }
        (TypeKind::Sequence(_), Value::Sequence(_))
        | (TypeKind::Map { .. }, Value::Map(_))
        | (TypeKind::Optional(_), _) => return nested_difference(ty, value, verb),
        (TypeKind::Undefined | TypeKind::Opaque { .. }, _)
        | (TypeKind::SparseTensor(_), Value::Tensor(_)) => true,
        _ => false,
    };
    (!is_kind).then(|| format!("{verb} a {}, which is not of the declared kind", value.describe()))
}

/// The contradiction between the kinds and element types of a value and of a declared type that holds others.
fn nested_difference(ty: &Type, value: &Value, verb: &str) -> Option<String> {
    let mut open = vec![(ty, value)];
    while let Some((ty, value)) = open.pop() {
        match (&ty.kind, value) {
            (TypeKind::Tensor(declared), Value::Tensor(tensor)) => {
                if declared.elem != ElemType::Undefined && declared.elem != tensor.elem() {
                    let (declared, given) = (declared.elem, tensor.elem());
                    return Some(format!("declared with tensors of {declared}, {verb} one of {given}"));
                }
            }
            (TypeKind::Sequence(Some(ty)), Value::Sequence(items)) => {
                open.extend(items.iter().map(|item| (&**ty, item)));
            }
            (TypeKind::Optional(Some(ty)), Value::Optional(inner)) => {
                open.extend(inner.as_deref().map(|inner| (&**ty, inner)));
            }
            // What is given for an optional need not be wrapped.
            (TypeKind::Optional(Some(ty)), value) => open.push((ty, value)),
            (TypeKind::Map { key, value: ty }, Value::Map(entries)) => {
                let is_text = *key == ElemType::String;
                if entries.keys().any(|key| matches!(key, MapKey::Text(_)) != is_text) {
                    return Some(format!("declared with keys of {key}, {verb} others"));
                }
                open.extend(ty.iter().flat_map(|ty| entries.values().map(move |value| (&**ty, value))));
            }
            (TypeKind::Sequence(None), Value::Sequence(_))
            | (TypeKind::SparseTensor(_), Value::Tensor(_))
            | (TypeKind::Optional(None) | TypeKind::Undefined | TypeKind::Opaque { .. }, _) => {}
            _ => return Some(format!("{verb} a {}, which is not of the declared kind", value.describe())),
        }
    }
    None
}
