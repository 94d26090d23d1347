//! The version of the format.

use onnx_check::{CheckOptions, check};
use onnx_diag::{Caps, Policy, Severity, Sink};
use onnx_ir::{Def, GraphId, Model, OpsetScope, Position, ValueId};
use onnx_schema::{attr, op};
use onnx_types::Type;

/// The last version in which every initializer is an input.
const LAST_WITH_INPUTS: i64 = 3;

/// Codes of the rules about versions of the format that do not exist, and about what a version does not have.
const RULES: [u16; 4] = [2001, 2002, 2030, 2103];

/// Sets the version of the format, after comparing it with everything that the model uses: functions, overloads, defaults of
/// attributes, device configurations, element types.
///
/// Before version 4, initializers of the main graph become inputs with defaults, and those of nested graphs become `Constant`
/// nodes. Metadata of nodes and values, which older readers ignore, is kept.
///
/// # Errors
///
/// Returns a diagnostic of severity error if the version does not exist, and for each feature that it does not have. The model
/// is unchanged then.
pub fn set_ir_version(model: &mut Model, version: i64) -> Result<(), Box<Sink>> {
    let mut after = model.clone();
    after.info_mut().ir_version = version;
    if (1..=LAST_WITH_INPUTS).contains(&version) {
        for graph in after.all_graphs().collect::<Vec<_>>() {
            if after.scope(graph) == OpsetScope::Model {
                without_constants(&mut after, graph);
            }
        }
    }
    // For these rules, a warning of the checker prevents the conversion, too.
    let mut found = Sink::with(Policy::new().deny_from(Severity::Note), Caps::DEFAULT);
    for diagnostic in check(&after, &CheckOptions::default()).diagnostics() {
        if RULES.contains(&diagnostic.rule.code) {
            found.report(diagnostic.clone());
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
        let mut build = model.build_at(Position::Start(graph));
        if let Ok(made) = build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output() {
            model.replace_value(value, made);
            let _ = model.erase_value(value);
        }
    }
    if is_main {
        // Initializers of the graph can be inputs of it; if one could not, the checker would report it.
        let _ = model.set_graph_inputs(graph, &inputs);
    }
}
