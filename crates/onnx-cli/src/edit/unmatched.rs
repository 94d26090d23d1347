//! Why `--rename` finds no name, although the model has one.

use onnx_ir::{Def, Model, ValueId};
use onnx_types::{Dim, Type};

use crate::args::EditArgs;
use crate::exit::Failure;
use crate::output::shown;

/// The failure for a name that exists, but is not of the kinds that `--names-of` lists, or is a name of a size.
pub(super) fn explained(model: &Model, old: &str, args: &EditArgs) -> Option<Failure> {
    let message = |what: &str| format!("`{}` is {what}", shown(old));
    if let Some((what, kind)) = kind(model, old).filter(|_| !args.names_of.is_empty()) {
        let failure = Failure::new(message(&format!("{what}, and `--names-of` does not list these names")));
        return Some(failure.help(format!("write `--names-of {kind}`, or leave `--names-of` away")));
    }
    is_size(model, old).then(|| {
        Failure::new(message("the name of a size, not of a value or a node"))
            .help(format!("`--set {}=NEW` renames sizes", shown(old)))
    })
}

/// What has a name, and the kind that `--names-of` takes for it.
fn kind(model: &Model, name: &str) -> Option<(&'static str, &'static str)> {
    let main = model.main_graph();
    let is_output = |value: ValueId| model.graph(main).outputs().iter().any(|output| output.value() == value);
    for graph in model.graphs_in(main) {
        if let Some(value) =
            model.definitions(graph).find(|&value| model.str(model.value(value).name()) == name)
        {
            return Some(match model.value(value).def() {
                Def::Input { graph, .. } if graph == main => ("an input", "inputs"),
                _ if is_output(value) => ("an output", "outputs"),
                _ if model.value(value).initializer().is_some() => ("an initializer", "initializers"),
                _ => ("an inner value", "values"),
            });
        }
        if model.nodes(graph).any(|node| model.str(model.node(node).name()) == name) {
            return Some(("a node", "nodes"));
        }
    }
    None
}

/// Whether a size in a declared type has this name.
fn is_size(model: &Model, name: &str) -> bool {
    model.definitions(model.main_graph()).any(|value| {
        let shape = model.ty(value).and_then(Type::shape);
        let mut dims = shape.into_iter().flat_map(|shape| shape.dims());
        dims.any(|dim| matches!(dim, Dim::Var(symbol) if model.str(*symbol) == name))
    })
}
