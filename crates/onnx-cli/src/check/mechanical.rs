//! Repairs that follow from inference, or for which other commands have a pass: names, types and outputs of branches.

use onnx_check::{CheckOptions, Fix, check};
use onnx_diag::{Quoted, Rule, Severity};
use onnx_ir::{Def, GraphId, GraphOutput, Model, NewNode, Position, ValueId};
use onnx_pass::{PassOptions, Pipeline};
use onnx_schema::{Registry, op};
use onnx_shape_infer::{InferOptions, MergePolicy, infer};
use onnx_types::{Dim, Type};

use crate::exit::Failure;
use crate::input::Loaded;
use crate::output::shown;
use crate::rules;

/// Whether `onnx check --fix` repairs violations of a rule, at least some of them.
pub(crate) fn is_fixable(rule: &Rule) -> bool {
    const RULES: [&str; 5] = ["ONNX2101", "ONNX2202", "ONNX2901", "ONNX3016", "ONNX3025"];
    onnx_check::is_fixable(rule) || RULES.contains(&rule.id().to_string().as_str())
}

/// Repairs a model, and verifies that each repair leaves fewer defects.
pub(super) fn repair(loaded: &mut Loaded) -> Result<Vec<Fix>, Failure> {
    let mut done = outputs_of_branches(&mut loaded.model)?;
    done.extend(names(loaded)?);
    done.extend(types(loaded)?);
    Ok(done)
}

/// The rules of the errors that the checker finds, each once.
fn errors(loaded: &Loaded) -> Vec<&'static Rule> {
    let options = CheckOptions::default().with_execution(loaded.execution.clone());
    let found = check(&loaded.model, &options);
    let rules = found.rule_counts().map(|count| count.rule);
    rules.filter(|rule| rule.severity == Severity::Error).collect()
}

/// Hands values of outer graphs that nested graphs return through `Identity`.
fn outputs_of_branches(model: &mut Model) -> Result<Vec<Fix>, Failure> {
    let rule = rules::find("ONNX2202")?;
    let main = model.main_graph();
    let graphs: Vec<GraphId> = model.all_graphs().filter(|&graph| graph != main).collect();
    let mut done = Vec::new();
    for graph in graphs {
        let outputs: Vec<ValueId> = model.graph(graph).outputs().iter().map(GraphOutput::value).collect();
        let is_outer = |model: &Model, value: ValueId| match model.value(value).def() {
            Def::Output { node, .. } => model.node(node).graph() != graph,
            Def::Input { graph: owner, .. } | Def::Initializer(owner) => owner != graph,
            Def::Unresolved(_) => false,
        };
        if model.graph(graph).outputs().is_empty() || !outputs.iter().any(|&value| is_outer(model, value)) {
            continue;
        }
        let mut replaced = Vec::new();
        for value in outputs {
            if !is_outer(model, value) {
                replaced.push(value);
                continue;
            }
            let name = format!("{}_1", model.str(model.value(value).name()));
            let symbol = model.unused_name(&name);
            let copy = model.new_value_in(graph, symbol);
            let node = NewNode::new(op::IDENTITY).inputs([value]).outputs([copy]);
            model.add_node(Position::End(graph), node).map_err(Failure::new)?;
            let ty = model.ty(value).cloned();
            model.set_type(copy, ty);
            let outer = shown(model.str(model.value(value).name()));
            done.push(Fix {
                rule,
                what: format!("handed `{outer}` through an `Identity` in a nested graph"),
            });
            replaced.push(copy);
        }
        for index in (0..replaced.len()).rev() {
            model.remove_graph_output(graph, index);
        }
        replaced.into_iter().for_each(|value| model.push_graph_output(graph, value));
    }
    Ok(done)
}

/// Renames values and nodes of which several have one name.
fn names(loaded: &mut Loaded) -> Result<Vec<Fix>, Failure> {
    let rule = rules::find("value-defined-twice")?;
    if !errors(loaded).contains(&rule) {
        return Ok(Vec::new());
    }
    let before = loaded.model.clone();
    let pipeline = Pipeline::named(&["unique-names"], Registry::STANDARD).map_err(Failure::defect)?;
    let options = PassOptions::default().with_execution(loaded.execution.clone());
    pipeline.run(&mut loaded.model, &options);
    loaded.execution.interrupt.check()?;
    if errors(loaded).contains(&rule) {
        // In one graph, nothing says which of them a use means.
        loaded.model = before;
        return Ok(Vec::new());
    }
    Ok(vec![Fix { rule, what: "renamed values that have the name of an outer one".to_owned() }])
}

/// Whether a declared type contradicts an inferred one.
fn contradicts(declared: &Type, inferred: &Type) -> bool {
    let shapes = (declared.shape(), inferred.shape());
    let differ =
        |(one, two): (&Dim, &Dim)| matches!((one, two), (Dim::Known(one), Dim::Known(two)) if one != two);
    declared.elem() != inferred.elem()
        || matches!(shapes, (Some(one), Some(two))
            if one.dims().len() != two.dims().len() || one.dims().iter().zip(two.dims()).any(differ))
}

/// Declares the types of outputs that have none, and replaces declared types that contradict what the nodes compute, if nothing
/// contradicts the new ones.
fn types(loaded: &mut Loaded) -> Result<Vec<Fix>, Failure> {
    let missing = rules::find("ONNX2901")?;
    let stale = [rules::find("ONNX3016")?, rules::find("ONNX3025")?];
    let source = loaded.source()?;
    let registry = onnx_shape_infer::contrib::registry();
    let mut options = InferOptions::default().with_registry(&registry).with_data(&source);
    options.check_types = true;
    options.execution = loaded.execution.clone();
    let mut inference = infer(&loaded.model, &options);
    loaded.execution.interrupt.check()?;
    let has_stale = inference.findings().diagnostics().iter().any(|found| stale.contains(&found.rule));
    if !has_stale && !errors(loaded).contains(&missing) {
        return Ok(Vec::new());
    }
    let before = loaded.model.clone();
    inference.apply(&mut loaded.model, MergePolicy::Override).map_err(Failure::defect)?;
    let main = before.main_graph();
    let outputs: Vec<ValueId> = before.graph(main).outputs().iter().map(GraphOutput::value).collect();
    let graphs: Vec<GraphId> = before.all_graphs().collect();
    let values: Vec<ValueId> = graphs.into_iter().flat_map(|graph| before.definitions(graph)).collect();
    let mut done = Vec::new();
    for value in values {
        let (old, new) = (before.ty(value).cloned(), loaded.model.ty(value).cloned());
        let name = Quoted(before.str(before.value(value).name())).to_string();
        match (&old, &new) {
            (Some(old), Some(new)) if has_stale && contradicts(old, new) => {
                let [of_type, of_shape] = stale;
                let rule = if old.elem() == new.elem() { of_shape } else { of_type };
                done.push(Fix { rule, what: format!("declared {name} as it is computed") });
            }
            (None, Some(new)) if outputs.contains(&value) && new.shape().is_some() => {
                done.push(Fix { rule: missing, what: format!("declared the type of the output {name}") });
            }
            _ => loaded.model.set_type(value, old),
        }
    }
    let again = infer(&loaded.model, &options);
    loaded.execution.interrupt.check()?;
    let contradictions = |found: &onnx_shape_infer::Inference| found.findings().counts().errors;
    if contradictions(&again) > 0 && (has_stale || contradictions(&again) > contradictions(&inference)) {
        // The node may be wrong, and not the declaration.
        loaded.model = before;
        return Ok(Vec::new());
    }
    Ok(done)
}
