//! The claim of each converted node: that it computes the same in both versions.

use std::collections::HashMap;

use onnx_ir::{Event, Importer, Model, NodeId, OpsetImport, OpsetScope, Position, ValueId};
use onnx_schema::{attr, op};
use onnx_shape_infer::{InferOptions, Inference, infer};
use onnx_types::{Dim, Shape, Type, TypeKind};

use crate::convert::{ConvertOptions, VersionError, convert};
use crate::plan::{StepChange, plan};

/// A single node, before and after its conversion: models with the same inputs and outputs, each with its own imports.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Claim {
    /// The node, in the model before the conversion.
    pub node: NodeId,
    /// The node as the only one of a model, with the constants that it reads.
    pub before: Model,
    /// The replacement of the node.
    pub after: Model,
    /// Whether both compute the same bits. A body that replaces an operator may be rounded differently.
    pub is_exact: bool,
}

/// Isolates every node that a conversion changes, and converts it separately. The prover of `onnx-pass` can make an equivalence of
/// each pair.
///
/// Nodes that cannot be isolated or converted separately are omitted: those in functions whose attributes they refer
/// to, and those whose conversion depends on facts that inference proves only for the whole model.
///
/// # Errors
///
/// See [`plan`].
pub fn claims(model: &Model, version: i64, options: &ConvertOptions<'_>) -> Result<Vec<Claim>, VersionError> {
    let plan = plan(model, version, options)?;
    let infer_options =
        InferOptions::default().with_registry(options.registry).with_execution(options.execution.clone());
    let inference = infer(model, &infer_options);
    let mut claims: Vec<Claim> = Vec::new();
    let mut seen: HashMap<NodeId, Option<usize>> = HashMap::new();
    for step in &plan.steps {
        options.execution.interrupt.check()?;
        let is_exact = step.change != StepChange::Expanded;
        let known = seen.get(&step.node).copied();
        if let Some(known) = known {
            if let Some(claim) = known.and_then(|index| claims.get_mut(index)) {
                claim.is_exact &= is_exact;
            }
            continue;
        }
        seen.insert(step.node, None);
        let Some(before) = isolated(model, &inference, step.node) else { continue };
        let mut after = before.clone();
        if convert(&mut after, version, options).is_ok() {
            seen.insert(step.node, Some(claims.len()));
            claims.push(Claim { node: step.node, before, after, is_exact });
        }
    }
    Ok(claims)
}

/// A model with one node, whose operands are inputs of the inferred types, or constants.
fn isolated(model: &Model, inference: &Inference, node: NodeId) -> Option<Model> {
    let mut into = Model::new();
    let mut importer = Importer::new(model);
    importer.versions(&mut into);
    if let scope @ OpsetScope::Function(_) = model.scope(model.node(node).graph()) {
        let versions = model.versions_of(scope).iter();
        let imports: Vec<OpsetImport> = versions
            .map(|(domain, version)| OpsetImport::new(into.intern(model.str(domain)), version))
            .collect();
        into.info_mut().opset_imports = imports;
    }
    let graph = into.main_graph();
    let mut variables: HashMap<Dim, Dim> = HashMap::new();
    for value in operands(model, node) {
        if importer.get(value).is_some() {
            continue;
        }
        let record = model.value(value);
        let constant = match record.producer() {
            Some(producer) => model.node(producer).constant_tensor(),
            None if record.initializer().is_some()
                && model.graph(model.graph_of(value)).inputs().contains(&value) =>
            {
                None
            }
            None => model.constant_tensor(value).cloned(),
        };
        if let Some(tensor) = constant {
            let mut build = into.build_at(Position::End(graph));
            let made = build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output().ok()?;
            importer.map(value, Some(made));
            continue;
        }
        let made = importer.input(&mut into, value, graph).ok()?;
        let ty = inference.ty(value).to_type()?;
        let ty = own_variables(&mut into, ty, &mut variables);
        into.set_type(made, Some(ty));
    }
    let copy = importer.node(&mut into, node, Position::End(graph)).ok()?;
    for output in into.node(copy).outputs().to_vec().into_iter().flatten() {
        let original = model.node(node).outputs().iter().flatten();
        let original = original.copied().find(|&value| importer.get(value) == Some(output))?;
        let ty = inference.ty(original).to_type();
        let ty = ty.map(|ty| own_variables(&mut into, ty, &mut variables));
        into.set_type(output, ty);
        into.push_graph_output(graph, output);
    }
    Some(into)
}

/// The values that a node reads, also in its nested graphs.
fn operands(model: &Model, node: NodeId) -> Vec<ValueId> {
    let mut values: Vec<ValueId> = model.node(node).inputs().flatten().collect();
    for event in model.walk_node(node) {
        if let Event::Enter(graph) = event {
            values.extend(model.captures(graph));
        }
    }
    values
}

/// A type with dimension variables of another model: the same one for each that was equal.
fn own_variables(into: &mut Model, mut ty: Type, variables: &mut HashMap<Dim, Dim>) -> Type {
    let mut open = &mut ty;
    loop {
        match &mut open.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                let dims = tensor.shape.as_ref().map(|shape| shape.dims().to_vec());
                tensor.shape = dims.map(|dims| {
                    Shape::new(dims.into_iter().map(|dim| match dim {
                        Dim::Known(_) | Dim::Unknown => dim,
                        dim => {
                            let number = variables.len();
                            *variables
                                .entry(dim)
                                .or_insert_with(|| Dim::Var(into.intern(&format!("d{number}"))))
                        }
                    }))
                });
                break;
            }
            TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => open = inner,
            _ => break,
        }
    }
    ty
}
