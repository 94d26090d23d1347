//! Making and removing functions.

use onnx_types::Symbol;

use crate::attr::Attribute;
use crate::changes::{Aspects, Edit, Entity};
use crate::edit::EditError;
use crate::entity::FunctionId;
use crate::graph::{Function, FunctionInfo, Graph, Owner};
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
            defaults: Vec::new(),
            versions: std::sync::OnceLock::new(),
            info: FunctionInfo::default(),
        });
        self.record(body, Aspects::CREATED);
        self.record(function, Aspects::CREATED);
        self.set_owner(body, Owner::Function(function));
        self.function_order.push(function);
        let key = (onnx_schema::normalize_domain(domain), name, overload);
        self.function_index.entry(key).or_insert(function);
        function
    }

    /// Gives functions other identities: domain, name and overload. Calls keep theirs, and call the first function that has it,
    /// if there is one. It takes time linear in the functions of the model, however many get another identity.
    ///
    /// # Panics
    ///
    /// Panics if a function is not of this model or was removed.
    pub fn set_function_identities(
        &mut self,
        identities: impl IntoIterator<Item = (FunctionId, (Symbol, Symbol, Symbol))>,
    ) {
        let mut changed = false;
        for (function, identity) in identities {
            let record = &mut self.functions[function];
            if (record.domain, record.name, record.overload) != identity {
                (record.domain, record.name, record.overload) = identity;
                changed = true;
                self.record(function, Aspects::INTERFACE);
            }
        }
        if changed {
            self.index_functions();
            // Calls of the old and the new identities can mean another function now.
            self.record(Entity::Model, Aspects::VERSIONS);
        }
    }

    /// Sets the order of the functions in the file. Of several functions of one identity, the first is called.
    ///
    /// # Errors
    ///
    /// Returns an error if the list is not that of all functions of the model, each once.
    pub fn set_function_order(&mut self, order: &[FunctionId]) -> Result<(), EditError> {
        let mut seen = slotmap::SecondaryMap::new();
        let is_new = |&function: &FunctionId| {
            self.functions.contains_key(function) && seen.insert(function, ()).is_none()
        };
        if order.len() != self.function_order.len() || !order.iter().all(is_new) {
            return Err(EditError::Gone);
        }
        if order == self.function_order.as_slice() {
            return Ok(());
        }
        self.function_order = order.to_vec();
        let old = self.function_index.clone();
        self.index_functions();
        let changed = if old == self.function_index { Aspects::NAME } else { Aspects::VERSIONS };
        self.record(Entity::Model, changed);
        Ok(())
    }

    /// Finds the first function of each identity.
    fn index_functions(&mut self) {
        self.function_index.clear();
        for &function in &self.function_order {
            let record = &self.functions[function];
            let key = (record.domain(), record.name, record.overload);
            self.function_index.entry(key).or_insert(function);
        }
    }

    /// Removes a function with its body; calls of it stay, and mean nothing the model defines any more.
    ///
    /// # Errors
    ///
    /// Returns an error if the function is gone already.
    pub fn remove_function(&mut self, function: FunctionId) -> Result<(), EditError> {
        if self.remove_functions(&[function]) == 0 { Err(EditError::Gone) } else { Ok(()) }
    }

    /// Removes functions with their bodies, like [`remove_function`](Self::remove_function), and returns how many there were. It
    /// takes time linear in the functions of the model and in the bodies that are removed, however many functions are removed.
    pub fn remove_functions(&mut self, functions: &[FunctionId]) -> usize {
        let (mut removed, mut graphs, mut is_indexed) = (0, Vec::new(), false);
        // Without functions of one identity, none takes the place of another one.
        let is_unique = self.function_index.len() == self.functions.len();
        for &function in functions {
            let Some(record) = self.functions.remove(function) else { continue };
            removed += 1;
            let key = (record.domain(), record.name, record.overload);
            if self.function_index.get(&key) == Some(&function) {
                self.function_index.remove(&key);
                is_indexed |= !is_unique;
            }
            self.record(function, Aspects::ERASED);
            graphs.push(record.body);
            graphs.extend(record.defaults.iter().flat_map(|default| default.value().graphs()));
        }
        if removed == 0 {
            return 0;
        }
        // The last ones are removed in constant time each: those that were just made.
        let (left, count) = (&self.functions, self.functions.len());
        while self.function_order.pop_if(|function| !left.contains_key(*function)).is_some() {}
        if self.function_order.len() > count {
            self.function_order.retain(|&function| left.contains_key(function));
        }
        self.drop_graphs(graphs);
        if is_indexed {
            // The next function of a removed identity takes its place.
            self.index_functions();
        }
        removed
    }

    /// The declarations of a function except its body and the defaults of attributes, for editing.
    ///
    /// # Panics
    ///
    /// Panics if the function is not of this model or was removed.
    pub fn function_mut(&mut self, function: FunctionId) -> Edit<'_, FunctionInfo> {
        let record = &mut self.functions[function];
        record.versions.take();
        Edit::new(&mut record.info, &mut self.changes, function.into())
    }

    /// Adds an attribute with a default to a function. Graphs in it come to belong to the function.
    ///
    /// # Errors
    ///
    /// Returns an error if a graph of the default is gone or belongs to something else.
    ///
    /// # Panics
    ///
    /// Panics if the function is not of this model or was removed.
    pub fn push_function_default(
        &mut self,
        function: FunctionId,
        default: Attribute,
    ) -> Result<(), EditError> {
        let body = self.functions[function].body;
        self.check_adoptable(body, std::slice::from_ref(&default))?;
        self.add_function_default(function, default);
        Ok(())
    }

    /// Adds a default whose graphs are detached.
    pub(crate) fn add_function_default(&mut self, function: FunctionId, default: Attribute) {
        let graphs = default.value().graphs().to_vec();
        self.functions[function].defaults.push(default);
        self.record(function, Aspects::INTERFACE);
        for graph in graphs {
            self.set_owner(graph, Owner::Function(function));
        }
        self.names_touched = true;
    }

    /// Replaces the default at a position. Graphs of the old one are removed.
    ///
    /// # Errors
    ///
    /// Returns an error if a graph of the default is gone or belongs to something else.
    ///
    /// # Panics
    ///
    /// Panics if the function is not of this model or was removed, or has no default at the position.
    pub fn replace_function_default(
        &mut self,
        function: FunctionId,
        position: usize,
        default: Attribute,
    ) -> Result<(), EditError> {
        self.push_function_default(function, default)?;
        let old = self.functions[function].defaults.swap_remove(position);
        self.drop_graphs(old.value().graphs().to_vec());
        Ok(())
    }

    /// Removes the default at a position, and its graphs; the later ones move up.
    ///
    /// # Panics
    ///
    /// Panics if the function is not of this model or was removed, or has no default at the position.
    pub fn remove_function_default(&mut self, function: FunctionId, position: usize) {
        let old = self.functions[function].defaults.remove(position);
        self.record(function, Aspects::INTERFACE);
        self.drop_graphs(old.value().graphs().to_vec());
    }
}
