//! Making graphs, and editing their inputs, outputs and lists of value infos.

use onnx_types::Symbol;
use slotmap::SecondaryMap;

use crate::changes::{Aspects, Edit};
use crate::edit::EditError;
use crate::entity::{GraphId, ValueId};
use crate::graph::{Graph, GraphInfo, GraphOutput, Owner};
use crate::model::Model;
use crate::value::{Def, InfoEntry, OwnInfo, User, ValueFlags};

impl Model {
    /// Makes a graph that belongs to nothing yet, such as the body of a node that is about to be made.
    ///
    /// The operator sets of the model apply to it until it becomes part of a function; see [`Model::new_graph_in`].
    pub fn new_graph(&mut self, name: Symbol) -> GraphId {
        let graph = self.graphs.insert(Graph::new(Owner::Detached));
        self.graphs[graph].name = name;
        self.record(graph, Aspects::CREATED);
        graph
    }

    /// Makes a graph that belongs to nothing yet and will be nested in `parent`, whose operator sets apply to it.
    ///
    /// # Panics
    ///
    /// Panics if `parent` is not of this model or was removed.
    pub fn new_graph_in(&mut self, parent: GraphId, name: Symbol) -> GraphId {
        let scope = self.graphs[parent].scope;
        let graph = self.new_graph(name);
        self.graphs[graph].scope = scope;
        graph
    }

    /// Removes a graph that belongs to nothing, with everything in it.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph is gone already or belongs to a node, a function or the model.
    pub fn erase_graph(&mut self, graph: GraphId) -> Result<(), EditError> {
        match self.graphs.get(graph).ok_or(EditError::Gone)?.owner {
            Owner::Detached => {
                self.drop_graphs(vec![graph]);
                Ok(())
            }
            _ => Err(EditError::AlreadyOwned { graph }),
        }
    }

    /// Makes a training graph: `owner` is [`Owner::Initialization`] or [`Owner::Algorithm`]. It becomes part of the model
    /// when [`ModelInfo::training`](crate::ModelInfo::training) names it.
    pub fn new_training_graph(&mut self, owner: Owner) -> GraphId {
        debug_assert!(matches!(owner, Owner::Initialization | Owner::Algorithm));
        let graph = self.graphs.insert(Graph::new(owner));
        self.record(graph, Aspects::CREATED);
        graph
    }

    /// Removes the training information: bindings and training graphs. Returns `true` if there was any.
    pub fn remove_training(&mut self) -> bool {
        if self.info.training.is_empty() {
            return false;
        }
        let training = std::mem::take(&mut self.info_mut().training);
        self.drop_graphs(
            training.iter().flat_map(|step| [step.initialization, step.algorithm]).flatten().collect(),
        );
        true
    }

    /// Changes the name of a graph.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn set_graph_name(&mut self, graph: GraphId, name: Symbol) {
        let old = std::mem::replace(&mut self.graphs[graph].name, name);
        self.record(graph, Aspects::NAME.when(old != name));
    }

    /// Documentation, metadata and annotations of a graph, for editing.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn graph_mut(&mut self, graph: GraphId) -> Edit<'_, GraphInfo> {
        Edit::new(&mut self.graphs[graph].info, &mut self.changes, graph.into())
    }

    /// Makes an unresolved value an input of a graph.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is gone or has a definition.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn push_graph_input(&mut self, graph: GraphId, value: ValueId) -> Result<(), EditError> {
        let index = self.graphs[graph].inputs.len() as u32;
        self.define(value, Def::Input { graph, index })?;
        self.graphs[graph].inputs.push(value);
        self.record(graph, Aspects::INTERFACE);
        Ok(())
    }

    /// Makes `inputs` the inputs of a graph, in this order and in linear time. Each of them is an input of the graph already, an
    /// initializer of it, which becomes the default of the input, or unresolved. Inputs that are not among them stay values,
    /// unresolved or as initializers.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is gone, has another definition, or is listed twice. The model is unchanged then.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn set_graph_inputs(&mut self, graph: GraphId, inputs: &[ValueId]) -> Result<(), EditError> {
        let mut seen: SecondaryMap<ValueId, ()> = SecondaryMap::new();
        for &value in inputs {
            let is_free = match self.values.get(value).ok_or(EditError::Gone)?.def {
                Def::Unresolved(_) => true,
                Def::Initializer(owner) | Def::Input { graph: owner, .. } => owner == graph,
                Def::Output { .. } => false,
            };
            if !is_free || seen.insert(value, ()).is_some() {
                return Err(EditError::AlreadyDefined { value });
            }
        }
        for value in std::mem::replace(&mut self.graphs[graph].inputs, inputs.to_vec()) {
            let record = &mut self.values[value];
            record.def =
                if record.constant.is_some() { Def::Initializer(graph) } else { Def::Unresolved(graph) };
            self.record(value, Aspects::DEFINITION);
        }
        for (index, &value) in inputs.iter().enumerate() {
            self.values[value].def = Def::Input { graph, index: index as u32 };
            self.record(value, Aspects::DEFINITION);
        }
        self.names_touched = true;
        self.record(graph, Aspects::INTERFACE);
        Ok(())
    }

    /// Removes an input from its graph. The value stays, unresolved or as an initializer.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or has no such input.
    pub fn remove_graph_input(&mut self, graph: GraphId, index: usize) -> ValueId {
        let value = self.graphs[graph].inputs.remove(index);
        self.names_touched = true;
        self.record(graph, Aspects::INTERFACE);
        self.record(value, Aspects::DEFINITION);
        let record = &mut self.values[value];
        record.def = if record.constant.is_some() { Def::Initializer(graph) } else { Def::Unresolved(graph) };
        for position in index..self.graphs[graph].inputs.len() {
            let later = self.graphs[graph].inputs[position];
            self.values[later].def = Def::Input { graph, index: position as u32 };
        }
        value
    }

    fn define(&mut self, value: ValueId, def: Def) -> Result<(), EditError> {
        let record = self.values.get_mut(value).ok_or(EditError::Gone)?;
        if !matches!(record.def, Def::Unresolved(_)) {
            return Err(EditError::AlreadyDefined { value });
        }
        record.def = def;
        self.names_touched = true;
        self.record(value, Aspects::DEFINITION);
        Ok(())
    }

    /// Adds an output to a graph.
    ///
    /// # Panics
    ///
    /// Panics if the graph or the value is not of this model or was erased.
    pub fn push_graph_output(&mut self, graph: GraphId, value: ValueId) {
        let index = self.graphs[graph].outputs.len() as u32;
        let slot = self.link_use(value, User::Graph(graph), index);
        self.graphs[graph].outputs.push(GraphOutput { value, slot, own: None });
        self.names_touched = true;
        self.record(graph, Aspects::INTERFACE);
    }

    /// Removes an output of a graph; the later ones move up.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or has no such output.
    pub fn remove_graph_output(&mut self, graph: GraphId, index: usize) {
        let output = &self.graphs[graph].outputs[index];
        let (value, slot) = (output.value, output.slot);
        self.unlink_use(value, slot);
        let removed = self.graphs[graph].outputs.remove(index);
        self.record(graph, Aspects::INTERFACE | Aspects::TYPE.when(removed.own.is_some()));
        for position in index..self.graphs[graph].outputs.len() {
            let later = &self.graphs[graph].outputs[position];
            let (value, slot) = (later.value, later.slot);
            self.values[value].uses[slot as usize].index = position as u32;
        }
    }

    /// Keeps the outputs of a graph for which `keep` says so, in linear time, and returns the number of the others.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn retain_graph_outputs(
        &mut self,
        graph: GraphId,
        mut keep: impl FnMut(usize, &GraphOutput) -> bool,
    ) -> usize {
        let outputs = self.graphs[graph].outputs.iter().enumerate();
        let gone: Vec<usize> =
            outputs.filter(|&(index, output)| !keep(index, output)).map(|(index, _)| index).collect();
        let mut aspects = Aspects::INTERFACE;
        // Uses are unlinked while every output is at its index.
        for &index in &gone {
            let output = &self.graphs[graph].outputs[index];
            let (value, slot) = (output.value, output.slot);
            aspects |= Aspects::TYPE.when(output.own.is_some());
            self.unlink_use(value, slot);
        }
        if gone.is_empty() {
            return 0;
        }
        let (mut index, mut next) = (0, gone.iter().peekable());
        self.graphs[graph].outputs.retain(|_| {
            let is_gone = next.next_if(|&&gone| gone == index).is_some();
            index += 1;
            !is_gone
        });
        self.record(graph, aspects);
        for position in 0..self.graphs[graph].outputs.len() {
            let output = &self.graphs[graph].outputs[position];
            self.values[output.value].uses[output.slot as usize].index = position as u32;
        }
        gone.len()
    }

    /// Lists a value in `value_info` of a graph; `own` is what the entry says where it differs from the value.
    ///
    /// # Panics
    ///
    /// Panics if the graph or the value is not of this model or was erased.
    pub fn push_value_info(&mut self, graph: GraphId, value: ValueId, own: Option<Box<OwnInfo>>) {
        self.values[value].flags.set(ValueFlags::IN_VALUE_INFO, true);
        self.graphs[graph].value_info.push(InfoEntry { value, own });
        self.record(graph, Aspects::TYPE);
    }

    /// Keeps the entries of `value_info` of a graph for which `keep` says so. The values stay what they are.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn retain_value_info(&mut self, graph: GraphId, mut keep: impl FnMut(&InfoEntry) -> bool) {
        let mut dropped = Vec::new();
        self.graphs[graph].value_info.retain(|entry| {
            let is_kept = keep(entry);
            if !is_kept {
                dropped.push(entry.value);
            }
            is_kept
        });
        self.record(graph, Aspects::TYPE.when(!dropped.is_empty()));
        for value in dropped {
            if let Some(record) = self.values.get_mut(value) {
                record.flags.set(ValueFlags::IN_VALUE_INFO, false);
            }
        }
        // Of several entries about one value, others may be left.
        for entry in &self.graphs[graph].value_info {
            if let Some(record) = self.values.get_mut(entry.value) {
                record.flags.set(ValueFlags::IN_VALUE_INFO, true);
            }
        }
    }
}
