//! The version of the format.

use onnx_check::{CheckOptions, check};
use onnx_diag::{Caps, Policy, Severity, Sink};
use onnx_ir::{
    AttrValue, Def, FIRST_IR_WITH_IMPORTS, GraphId, Model, OpsetImport, OpsetScope, Position, ValueId,
};
use onnx_schema::{LATEST_IR_VERSION, TypeId, attr, domain, op};
use onnx_types::tensor::Tensor;
use onnx_types::{ElemType, Type};

use crate::step::as_double;

/// The last version in which every initializer is an input.
const LAST_WITH_INPUTS: i64 = 3;

/// Codes of the rules about versions of the format that do not exist.
const EXISTENCE: &[u16] = &[2001, 2002];

/// Codes of the rules about what a version does not have or requires: imports (2003, 2004), features (2030), inputs with
/// defaults (2103, 2105, 2215), kinds of attributes (2403). Annotations that a version does not have (2031) are kept.
const RULES: &[u16] = &[2003, 2004, 2030, 2103, 2105, 2215, 2403];

/// Those of them that the version of the model may violate already: the conversion does not make the model worse.
const TOLERATED: &[u16] = &[2003, 2105, 2215, 2403];

/// Sets the version of the format, after comparing it with everything that the model uses: functions, overloads, defaults of
/// attributes, device configurations, element types.
///
/// Before version 4, initializers of the main graph become inputs with defaults, and those of nested graphs become `Constant`
/// nodes, with a `Cast` where `Constant` does not allow the type. From version 3 on, a model without imports gets the import
/// that its version implied. Metadata of nodes and values, which older readers ignore, is kept.
///
/// # Errors
///
/// Returns a diagnostic of severity error if the version does not exist, and for each feature that it does not have. The model
/// is unchanged then.
pub fn set_ir_version(model: &mut Model, version: i64) -> Result<(), Box<Sink>> {
    let mut after = model.clone();
    after.info_mut().ir_version = version;
    let implied = model.opset_version(domain::ONNX).filter(|_| model.info().opset_imports.is_empty());
    if let Some(implied) = implied.filter(|_| version >= FIRST_IR_WITH_IMPORTS) {
        after.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, implied));
    }
    if (1..=LAST_WITH_INPUTS).contains(&version) {
        for graph in after.all_graphs().collect::<Vec<_>>() {
            if after.scope(graph) == OpsetScope::Model {
                without_constants(&mut after, graph);
            }
        }
    }
    let rules = if (1..=LATEST_IR_VERSION).contains(&version) { RULES } else { EXISTENCE };
    // For these rules, a warning of the checker prevents the conversion, too.
    let mut found = Sink::with(Policy::new().deny_from(Severity::Note), Caps::DEFAULT);
    let checked = check(&after, &CheckOptions::default());
    let new: Vec<_> =
        checked.diagnostics().iter().filter(|diagnostic| rules.contains(&diagnostic.rule.code)).collect();
    if !new.is_empty() {
        let before = check(model, &CheckOptions::default());
        let is_old = |code: u16| before.diagnostics().iter().any(|diagnostic| diagnostic.rule.code == code);
        for diagnostic in new {
            let code = diagnostic.rule.code;
            if !TOLERATED.contains(&code) || !is_old(code) {
                found.report(diagnostic.clone());
            }
        }
    }
    if !found.is_empty() {
        return Err(Box::new(found));
    }
    *model = after;
    Ok(())
}

/// Converts the initializers of a graph that are not inputs of it.
fn without_constants(model: &mut Model, graph: GraphId) {
    let is_main = graph == model.main_graph();
    let is_open = |model: &Model, value: ValueId| matches!(model.value(value).def(), Def::Initializer(_));
    let open: Vec<ValueId> = model.initializers(graph).filter(|&value| is_open(model, value)).collect();
    let mut inputs = model.graph(graph).inputs().to_vec();
    for value in open {
        // These versions of the format have no sparse initializers.
        let Some(tensor) = model.constant_tensor(value).cloned() else { continue };
        if is_main {
            if model.ty(value).is_none() {
                let shape = onnx_types::Shape::known(tensor.dims());
                model.set_type(value, Some(Type::tensor(tensor.elem(), Some(shape))));
            }
            inputs.push(value);
            continue;
        }
        // The checker reports initializers that are left.
        if let Some(made) = constant_node(model, graph, tensor) {
            model.replace_value(value, made);
            let _ = model.erase_value(value);
        }
    }
    if is_main {
        // Initializers of the graph can be inputs of it; if one could not, the checker would report it.
        let _ = model.set_graph_inputs(graph, &inputs);
    }
}

/// Adds a `Constant` at the start of a graph. Before version 9 of the operators, it has floats only, and a `Cast` makes other
/// elements from them. Returns `None` if the version does not allow the type in either way.
pub fn constant_node(model: &mut Model, graph: GraphId, tensor: Tensor) -> Option<ValueId> {
    let version = model.versions_in(graph).get(domain::ONNX)?;
    let allows = |op, elem: ElemType| {
        let schema = onnx_schema::lookup(domain::ONNX, op, version);
        let formal = schema.and_then(|schema| Some((schema, schema.output_for(0)?)));
        let ty = TypeId::of(&Type::tensor(elem, None));
        formal.zip(ty).is_some_and(|((schema, formal), ty)| schema.types_of(formal).contains(ty))
    };
    let elem = tensor.elem();
    if allows(op::CONSTANT, elem) {
        let mut build = model.build_at(Position::Start(graph));
        return build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output().ok();
    }
    if version >= 9 || !allows(op::CAST, elem) {
        return None;
    }
    let wide = as_double(&tensor).ok()?;
    let to = match version < 6 {
        true => AttrValue::String(elem.proto_name().as_bytes().to_vec().into()),
        false => AttrValue::Int(elem.code().into()),
    };
    // The start is before the node that was inserted there, so the `Cast` is inserted after it.
    let mut build = model.build_at(Position::Start(graph));
    let made = build.op(op::CONSTANT, []).attr(attr::VALUE, wide).output().ok()?;
    let node = model.value(made).producer()?;
    let mut build = model.build_at(Position::After(node));
    build.op(op::CAST, [made]).attr(attr::TO, to).output().ok()
}
