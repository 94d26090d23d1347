//! Functions in the versions that apply to their calls.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{CopyMap, FunctionId, GraphId, Model, OpsetScope, Position};
use onnx_types::Symbol;

use crate::inline::{Calls, InlineOptions};
use crate::reason::FunctionReason;
use crate::versions::{Convert, Mismatch, compare};

/// A function whose operators have the meaning that they have in the graph of a call.
#[derive(Clone, Debug)]
pub(crate) struct Fitting {
    /// The function, or a copy of it that was converted.
    pub(crate) function: FunctionId,
    /// The operator sets that the graph does not import.
    pub(crate) missing: Vec<(Symbol, i64)>,
}

/// Functions that were compared with the versions of scopes.
#[derive(Debug, Default)]
pub(crate) struct Conversions {
    known:
        HashMap<FunctionId, HashMap<OpsetScope, Result<Fitting, FunctionReason>, RandomState>, RandomState>,
    copies: Vec<FunctionId>,
}

impl Conversions {
    /// The function in the versions that apply to a graph. Calls in a converted copy are added to `calls`.
    pub(crate) fn get(
        &mut self,
        model: &mut Model,
        function: FunctionId,
        graph: GraphId,
        options: &InlineOptions<'_>,
        calls: &mut Calls,
    ) -> Result<Fitting, FunctionReason> {
        let scope = model.scope(graph);
        if let Some(known) = self.known.get(&function).and_then(|known| known.get(&scope)) {
            return known.clone();
        }
        let found = match compare(model, function, graph, &[], options.registry) {
            Ok(missing) => Ok(Fitting { function, missing }),
            Err(mismatch) => match options.convert {
                Some(convert) => self.convert(model, function, graph, (options, convert), mismatch, calls),
                None => Err(mismatch.reason),
            },
        };
        self.known.entry(function).or_default().insert(scope, found.clone());
        found
    }

    /// Clears the cached results about a function, because its body changed.
    pub(crate) fn forget(&mut self, function: FunctionId) {
        self.known.remove(&function);
    }

    /// Converts a copy of a function, one operator set after the other.
    fn convert(
        &mut self,
        model: &mut Model,
        function: FunctionId,
        graph: GraphId,
        (options, convert): (&InlineOptions<'_>, &dyn Convert),
        mut mismatch: Mismatch,
        calls: &mut Calls,
    ) -> Result<Fitting, FunctionReason> {
        let copy = copy_function(model, function, calls)?;
        self.copies.push(copy);
        let mut done: Vec<Symbol> = Vec::new();
        loop {
            // If a domain still differs after its conversion, no further conversion helps.
            if mismatch.here == 0 || done.contains(&mismatch.domain) {
                return Err(mismatch.reason);
            }
            done.push(mismatch.domain);
            convert.convert(model, copy, mismatch.domain, mismatch.here)?;
            match compare(model, copy, graph, &[], options.registry) {
                Ok(missing) => return Ok(Fitting { function: copy, missing }),
                Err(next) => mismatch = next,
            }
        }
    }

    /// Removes the copies.
    pub(crate) fn remove(self, model: &mut Model) {
        model.remove_functions(&self.copies);
    }
}

/// Makes a function like another one, under an overload that nothing calls.
fn copy_function(
    model: &mut Model,
    function: FunctionId,
    calls: &mut Calls,
) -> Result<FunctionId, FunctionReason> {
    let record = model.function(function);
    let (domain, name, from) = (record.written_domain(), record.name(), record.body());
    let defaults = record.defaults.clone();
    let (attributes, imports) = (record.attributes.clone(), record.opset_imports.clone());
    let overload = model.fresh_name("converted");
    let copy = model.add_function(domain, name, overload);
    {
        let mut info = model.function_mut(copy);
        info.attributes = attributes;
        info.opset_imports = imports;
    }
    let body = model.function(copy).body();
    let mut map = CopyMap::new();
    for formal in model.graph(from).inputs().to_vec() {
        let name = model.str(model.value(formal).name()).to_owned();
        let ty = model.ty(formal).cloned();
        let new = model.add_graph_input(body, &name, ty);
        map.map(formal, new);
    }
    model.copy_nodes(from, Position::End(body), &mut map)?;
    for index in 0..model.graph(from).outputs().len() {
        if let Some(output) = model.graph(from).outputs().get(index) {
            let value = map.get(output.value());
            model.push_graph_output(body, value);
        }
    }
    for &(original, copied) in map.copied_nodes() {
        if let Some(&callee) = calls.get(original) {
            calls.insert(copied, callee);
        }
    }
    for default in defaults {
        if !default.value().graphs().is_empty() {
            return Err("the function has a graph as the default of an attribute".into());
        }
        model.push_function_default(copy, default)?;
    }
    Ok(copy)
}
