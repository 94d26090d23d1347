//! Making and removing functions.

use onnx_types::Symbol;

use crate::edit::EditError;
use crate::entity::FunctionId;
use crate::graph::{Function, Graph, Owner};
use crate::model::Model;

impl Model {
    /// Makes a function with an empty body.
    pub fn add_function(&mut self, domain: Symbol, name: Symbol, overload: Symbol) -> FunctionId {
        let body = self.graphs.insert(Graph::new(Owner::Detached));
        let function = self.functions.insert(Function {
            name,
            domain,
            overload,
            body,
            attributes: Vec::new(),
            defaults: Vec::new(),
            opset_imports: Vec::new(),
            versions: std::sync::OnceLock::new(),
            doc: Symbol::EMPTY,
            metadata: Vec::new(),
            mask: onnx_types::FieldMask::NONE,
            unknown: Vec::new(),
        });
        self.set_owner(body, Owner::Function(function));
        self.function_order.push(function);
        let key = (onnx_schema::normalize_domain(domain), name, overload);
        self.function_index.entry(key).or_insert(function);
        function
    }

    /// Removes a function with its body; calls of it stay, and mean nothing the model defines any more.
    ///
    /// # Errors
    ///
    /// When the function is gone already.
    pub fn remove_function(&mut self, function: FunctionId) -> Result<(), EditError> {
        let record = self.functions.remove(function).ok_or(EditError::Gone)?;
        self.function_order.retain(|&other| other != function);
        let mut graphs = vec![record.body];
        graphs.extend(record.defaults.iter().flat_map(|default| default.value().graphs()));
        self.drop_graphs(graphs);
        let key = (record.domain(), record.name, record.overload);
        if self.function_index.get(&key) == Some(&function) {
            self.function_index.remove(&key);
            let twin = self.function_order.iter().copied().find(|&other| {
                let other = &self.functions[other];
                (other.domain(), other.name, other.overload) == key
            });
            if let Some(twin) = twin {
                self.function_index.insert(key, twin);
            }
        }
        Ok(())
    }
}
