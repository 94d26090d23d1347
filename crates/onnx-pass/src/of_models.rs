//! Equivalences of whole models: what converts or replaces a model claims that both compute the same.

use onnx_ir::{FunctionId, GraphId, Importer, Model, OpsetImport, Position, ValueId};
use onnx_schema::{attr, domain, op};
use onnx_types::Symbol;

use crate::assumption::Exactness;
use crate::equivalence::{DOMAIN, Equivalence, EquivalenceError, SIDES};

impl Equivalence {
    /// The claim that two models with the same inputs and as many outputs compute the same. Each side keeps its operator set
    /// versions, and initializers become `Constant` nodes.
    ///
    /// # Errors
    ///
    /// Returns an error if the inputs or the numbers of outputs differ, a model has functions or sparse initializers, or its
    /// nodes cannot be copied.
    pub fn of_models(before: &Model, after: &Model, class: Exactness) -> Result<Self, EquivalenceError> {
        let form = EquivalenceError::Form;
        let name = |model: &Model, value: ValueId| model.str(model.value(value).name()).to_owned();
        let names = |model: &Model| -> Vec<String> {
            let inputs = model.graph(model.main_graph()).inputs();
            inputs.iter().map(|&input| name(model, input)).collect()
        };
        let count = |model: &Model| model.graph(model.main_graph()).outputs().len();
        if names(before) != names(after) || count(before) != count(after) {
            return Err(form("the models have other inputs or outputs"));
        }
        if !before.functions().is_empty() || !after.functions().is_empty() {
            return Err(form("a model has functions"));
        }
        let mut model = Model::new();
        model.info_mut().ir_version = before.info().ir_version.max(after.info().ir_version).max(10);
        let main = model.main_graph();
        let mut importer = Importer::new(before);
        let mut inputs = Vec::new();
        for &input in before.graph(before.main_graph()).inputs() {
            let made = importer.input(&mut model, input, main);
            inputs.push(made.map_err(|_| form("an input cannot be copied"))?);
        }
        for (side, from) in SIDES.into_iter().zip([before, after]) {
            let function = add_side(&mut model, from, side)?;
            call(&mut model, function, side, &inputs)?;
        }
        let mut imports =
            vec![OpsetImport::new(domain::ONNX, before.opset_version(domain::ONNX).unwrap_or(1))];
        imports.push(OpsetImport::new(model.intern(DOMAIN), 1));
        model.info_mut().opset_imports = imports;
        Self::write_metadata(&mut model, class, &[]);
        Self::from_model(model)
    }
}

/// Adds a model as a function.
fn add_side(model: &mut Model, from: &Model, side: &str) -> Result<FunctionId, EquivalenceError> {
    let form = EquivalenceError::Form;
    let (set, name) = (model.intern(DOMAIN), model.intern(side));
    let function = model.add_function(set, name, Symbol::EMPTY);
    let body = model.function(function).body();
    let mut importer = Importer::new(from);
    let imports: Vec<(String, i64)> = from
        .info()
        .opset_imports
        .iter()
        .map(|import| (from.str(import.domain()).to_owned(), import.version()))
        .collect();
    let imports: Vec<OpsetImport> =
        imports.into_iter().map(|(set, version)| OpsetImport::new(model.intern(&set), version)).collect();
    model.function_mut(function).opset_imports = imports;
    let graph = from.main_graph();
    for &input in from.graph(graph).inputs() {
        let name = from.str(from.value(input).name()).to_owned();
        let made = model.add_graph_input(body, &name, None);
        importer.map(input, Some(made));
    }
    constants(model, from, body, &mut importer)?;
    importer.nodes(model, graph, Position::End(body)).map_err(|_| form("a node cannot be copied"))?;
    for output in from.graph(graph).outputs() {
        let made = importer.get(output.value()).ok_or(form("an output is not computed"))?;
        model.push_graph_output(body, made);
    }
    Ok(function)
}

fn constants(
    model: &mut Model,
    from: &Model,
    body: GraphId,
    importer: &mut Importer<'_>,
) -> Result<(), EquivalenceError> {
    let form = EquivalenceError::Form;
    let graph = from.main_graph();
    for value in from.initializers(graph) {
        if from.graph(graph).inputs().contains(&value) {
            continue;
        }
        let tensor = from.constant_tensor(value).cloned().ok_or(form("an initializer is sparse"))?;
        let mut build = model.build_at(Position::End(body));
        let made = build.op(op::CONSTANT, []).attr(attr::VALUE, tensor).output();
        importer.map(value, Some(made.map_err(|_| form("an initializer cannot be copied"))?));
    }
    Ok(())
}

fn call(
    model: &mut Model,
    function: FunctionId,
    side: &str,
    inputs: &[ValueId],
) -> Result<(), EquivalenceError> {
    let count = model.graph(model.function(function).body()).outputs().len();
    let main = model.main_graph();
    let mut build = model.build_at(Position::End(main));
    let made = build.call(DOMAIN, side, inputs.iter().copied()).outputs_if(&vec![true; count]);
    let made = made.map_err(|_| EquivalenceError::Form("the call cannot be added"))?;
    for (index, value) in made.into_iter().flatten().enumerate() {
        let name = model.intern(&format!("{side}{index}"));
        model.set_value_name(value, name);
        model.push_graph_output(main, value);
    }
    Ok(())
}
