//! Making, renaming and erasing values, and turning them into initializers.

use std::sync::Arc;

use onnx_types::{Dim, Symbol, Type};

use crate::attr::AttrValue;
use crate::changes::Aspects;
use crate::constant::Constant;
use crate::edit::EditError;
use crate::entity::{GraphId, NodeId, ValueId};
use crate::graph::Owner;
use crate::model::Model;
use crate::node::NewNode;
use crate::order::Position;
use crate::value::{Def, User, Value, ValueFlags};

impl Model {
    /// Makes a value that nothing defines yet. An empty name is filled in when the model is written.
    pub fn new_value(&mut self, name: Symbol) -> ValueId {
        self.new_value_in(self.main, name)
    }

    /// Makes a value that nothing defines yet and that belongs to the names of `graph`.
    pub fn new_value_in(&mut self, graph: GraphId, name: Symbol) -> ValueId {
        self.names_touched = true;
        let value = self.values.insert(Value::new(name, Def::Unresolved(graph)));
        self.record(value, Aspects::CREATED);
        value
    }

    /// Makes an initializer, and the value that it defines.
    ///
    /// # Panics
    ///
    /// Panics if the graph is not of this model or was removed.
    pub fn add_initializer(
        &mut self,
        graph: GraphId,
        name: Symbol,
        constant: impl Into<Constant>,
    ) -> ValueId {
        let value = self.new_value_in(graph, name);
        self.set_initializer(graph, value, Some(Arc::new(constant.into())));
        value
    }

    /// Makes a value an initializer of `graph` with the given content, or no initializer any more.
    ///
    /// An input of `graph` becomes an input with a default; an unresolved value becomes an initializer. Values that nodes
    /// define, and values of other graphs, are left as they are.
    ///
    /// # Panics
    ///
    /// Panics if the graph or the value is not of this model or was erased.
    pub fn set_initializer(&mut self, graph: GraphId, value: ValueId, constant: Option<Arc<Constant>>) {
        let record = &mut self.values[value];
        let had = record.constant.is_some();
        let def = match record.def {
            Def::Unresolved(_) if constant.is_some() => Def::Initializer(graph),
            Def::Initializer(owner) if owner == graph && constant.is_none() => Def::Unresolved(graph),
            Def::Initializer(owner) | Def::Input { graph: owner, .. } if owner == graph => record.def,
            _ => return,
        };
        let mut aspects = Aspects::DEFINITION.when(record.def != def);
        record.def = def;
        let has = constant.is_some();
        // Contents are not compared: that would read all of a weight.
        let is_same = record.constant.as_ref().map(Arc::as_ptr) == constant.as_ref().map(Arc::as_ptr);
        aspects |= Aspects::CONSTANT.when(!is_same);
        record.constant = constant;
        self.record(value, aspects);
        if has && !had {
            self.graphs[graph].initializers.push(value);
        } else if had && !has {
            // Values lose their constants in the order of the list, or in the opposite one, when all of them do.
            let list = &mut self.graphs[graph].initializers;
            if list.last() == Some(&value) {
                list.pop();
            } else if let Some(index) = list.iter().position(|&other| other == value) {
                list.remove(index);
            }
        }
        self.names_touched = true;
    }

    /// Removes a value that nothing uses and no node or graph input defines: an initializer or an unresolved value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is used, is gone already, or is defined by a node or a graph input.
    pub fn erase_value(&mut self, value: ValueId) -> Result<(), EditError> {
        let record = self.values.get(value).ok_or(EditError::Gone)?;
        self.refuse_used(value)?;
        match record.def {
            Def::Unresolved(_) => {}
            Def::Initializer(graph) => self.forget_initializer(graph),
            Def::Input { .. } | Def::Output { .. } => return Err(EditError::AlreadyDefined { value }),
        }
        self.values.remove(value);
        self.record(value, Aspects::ERASED);
        Ok(())
    }

    /// Counts a key in a list of initializers that is about to be stale, and tidies the list when half of it is.
    fn forget_initializer(&mut self, graph: GraphId) {
        let record = &mut self.graphs[graph];
        record.stale_initializers += 1;
        if record.stale_initializers * 2 > record.initializers.len() {
            let values = &self.values;
            record.initializers.retain(|&value| values.contains_key(value));
            // The value that is being erased is still there: it is the one stale key that remains.
            record.stale_initializers = 1;
        }
    }

    /// Sets or removes the type of a value.
    ///
    /// A node output with a type is listed in `value_info` when the model is written. A dimension that this model cannot have, an
    /// [unnamed](onnx_types::Symbol::unnamed) symbol or an expression of another table, becomes unknown: its number stands
    /// for something else here.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    pub fn set_type(&mut self, value: ValueId, ty: Option<impl Into<Arc<Type>>>) {
        let ty = ty
            .map(Into::into)
            .map(|ty: Arc<Type>| ty.forgetting(|dim| !self.can_have(dim)).map_or(ty, Arc::new));
        let record = &mut self.values[value];
        if self.changes.is_on() {
            // The expressions of dimensions may be the same with another encoding.
            let source = |ty: &Option<Arc<Type>>| ty.as_ref().map(|ty| ty.source.clone());
            let differs = record.ty != ty || source(&record.ty) != source(&ty);
            self.changes.record(value, Aspects::TYPE.when(differs));
        }
        record.ty = ty;
    }

    /// Changes the types that outputs and entries of `value_info` state for a value on their own, where a file declares it several
    /// times in different ways. `change` gives the new type; `None` keeps the old one.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    pub fn change_own_types(&mut self, value: ValueId, change: impl Fn(&Type) -> Option<Type>) {
        let graph = self.graph_of(value);
        self.change_own_types_in(graph, |of| of == value, change);
    }

    /// The same for the values of a graph that a condition selects. Returns how many types were changed.
    fn change_own_types_in(
        &mut self,
        graph: GraphId,
        is_selected: impl Fn(ValueId) -> bool,
        change: impl Fn(&Type) -> Option<Type>,
    ) -> usize {
        let record = &mut self.graphs[graph];
        let of_outputs = record.outputs.iter_mut().map(|output| (output.value, &mut output.own));
        let of_entries = record.value_info.iter_mut().map(|entry| (entry.value, &mut entry.own));
        let mut changed = 0;
        for (_, own) in of_outputs.chain(of_entries).filter(|&(value, _)| is_selected(value)) {
            let Some(own) = own else { continue };
            if let Some(ty) = own.ty.as_ref().and_then(|ty| change(ty)) {
                own.ty = Some(Arc::new(ty));
                changed += 1;
            }
        }
        self.record(graph, Aspects::TYPE.when(changed > 0));
        changed
    }

    fn can_have(&self, dim: Dim) -> bool {
        match dim {
            Dim::Var(symbol) => symbol.number().is_none(),
            Dim::Expr(_) => self.exprs().has(dim),
            Dim::Known(_) | Dim::Unknown => true,
        }
    }

    /// Removes the negative numbers that declared types have in the places of sizes: the dimensions are unknown, as which everything
    /// reads them. Returns how many types had some.
    pub fn forget_negative_dimensions(&mut self) -> usize {
        let mut count = 0;
        let typed: Vec<(ValueId, Type)> = (self.values.iter())
            .filter_map(|(value, record)| Some((value, record.ty()?.without_negative()?)))
            .collect();
        count += typed.len();
        for (value, ty) in typed {
            self.set_type(value, Some(ty));
        }
        let graphs: Vec<GraphId> = self.graphs.keys().collect();
        for graph in graphs {
            count += self.change_own_types_in(graph, |_| true, Type::without_negative);
        }
        count + self.forget_negative_in_attributes()
    }

    fn forget_negative_in_attributes(&mut self) -> usize {
        let mut changed: Vec<NodeId> = Vec::new();
        for (node, record) in &mut self.nodes {
            for attribute in &mut record.attributes {
                let types = match attribute.value_mut() {
                    AttrValue::Type(ty) => {
                        if let Some(plain) = ty.without_negative() {
                            *ty = Arc::new(plain);
                            changed.push(node);
                        }
                        continue;
                    }
                    AttrValue::Types(types) => types,
                    _ => continue,
                };
                for ty in types {
                    if let Some(plain) = ty.without_negative() {
                        *ty = plain;
                        changed.push(node);
                    }
                }
            }
        }
        changed.iter().for_each(|&node| self.record(node, Aspects::OPERATOR));
        changed.len()
    }

    /// Changes the name of a value; its uses follow, as they hold no names.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    pub fn set_value_name(&mut self, value: ValueId, name: Symbol) {
        let record = &mut self.values[value];
        let differs = record.name != name || record.flags.has(ValueFlags::NAME_AS_READ);
        record.name = name;
        record.flags.set(ValueFlags::NAME_AS_READ, false);
        self.record(value, Aspects::NAME.when(differs));
        self.names_touched = true;
    }

    /// Gives the name of `from` to `to`, and the name of `to` to `from`: what to do before `to` replaces `from` as an
    /// output of a graph whose callers know it by name.
    ///
    /// # Panics
    ///
    /// Panics if a value is not of this model or was erased.
    pub fn take_name(&mut self, to: ValueId, from: ValueId) {
        let (old, new) = (self.values[to].name, self.values[from].name);
        self.set_value_name(to, new);
        self.set_value_name(from, old);
    }

    /// Redirects every use of `old` to `new`; outputs of the main graph and of functions keep their names if
    /// [`Model::can_replace`] returns `true`.
    ///
    /// Callers know such an output by its name, so `old` and `new` exchange their names when `old` is one. The type that an output
    /// of a graph declares is that of `new` then, [completed](Type::completed_by) by what `new` declares: callers rely on
    /// it, and it is the type of a scan output of no iteration.
    ///
    /// # Panics
    ///
    /// Panics if a value is not of this model or was erased.
    pub fn replace_value(&mut self, old: ValueId, new: ValueId) {
        if old != new && self.is_graph_output(old) && self.declares_for(old, new) {
            self.keep_output_type(old, new);
        }
        if old != new && self.is_known_output(old) && self.can_replace(old, new) {
            self.take_name(new, old);
        }
        self.replace_all_uses(old, new);
    }

    /// Whether what `old` declares holds for `new`, too: what a nested graph declares holds only where the graph is executed.
    fn declares_for(&self, old: ValueId, new: ValueId) -> bool {
        let (inner, outer) = (self.graph_of(new), self.graph_of(old));
        // The graph of a value that nothing defines may be gone.
        self.graphs.contains_key(inner) && self.is_inside(inner, outer)
    }

    /// Gives `new` what the type of an output that it replaces states.
    fn keep_output_type(&mut self, old: ValueId, new: ValueId) {
        let (of_old, of_new) = (&self.values[old], &self.values[new]);
        // The data of an initializer has the type.
        let Some(declared) = of_old.ty.as_ref().filter(|_| of_new.initializer().is_none()) else { return };
        let ty = match &of_new.ty {
            Some(ty) if ty != declared => Arc::new(declared.completed_by(ty)),
            Some(_) => return,
            None => Arc::clone(declared),
        };
        self.set_type(new, Some(ty));
    }

    /// Like [`replace_value`](Self::replace_value), through an `Identity` where an output of a graph cannot be `new` itself
    /// ([`can_replace`](Self::can_replace)): its output takes the place of `old` there, and the name of `old` where callers know
    /// it. Returns that node. If `new` has no declared type, it gets that of `old`, unless `old` is in a graph that `new` is
    /// outside of, or `new` is an initializer: its data has the type.
    ///
    /// The `Identity` follows the nodes that make `old` and `new`; if `old` is not made by a node, it is added at the end of a
    /// graph that has `old` as an output.
    ///
    /// # Errors
    ///
    /// Returns an error if `old` is an input or initializer at an output that callers know by name: the name cannot be
    /// given to another value.
    ///
    /// # Panics
    ///
    /// Panics if a value is not of this model or was erased.
    pub fn replace_or_alias(&mut self, old: ValueId, new: ValueId) -> Result<Option<NodeId>, EditError> {
        let is_direct = old == new || self.can_replace(old, new);
        if !is_direct && self.values[old].producer().is_none() && self.is_known_output(old) {
            return Err(EditError::AlreadyDefined { value: old });
        }
        let holds = self.declares_for(old, new);
        if holds && self.values[new].ty.is_none() && self.values[new].initializer().is_none() {
            let ty = self.values[old].ty.clone();
            self.set_type(new, ty);
        }
        if is_direct {
            self.replace_value(old, new);
            return Ok(None);
        }
        let (graph, at) = match self.values[old].producer() {
            Some(producer) => {
                let graph = self.nodes[producer].graph;
                let later = self.values[new].producer();
                let later =
                    later.filter(|&new| self.nodes[new].graph == graph && self.is_before(producer, new));
                (graph, Position::After(later.unwrap_or(producer)))
            }
            None => {
                let graphs = self.values[old].output_uses().iter().filter_map(|at| match at.user {
                    User::Graph(graph) => Some(graph),
                    User::Node(_) | User::Attribute(_) => None,
                });
                let Some(graph) = graphs.min() else { return Ok(None) };
                (graph, Position::End(graph))
            }
        };
        let alias = self.new_value_in(graph, Symbol::EMPTY);
        let node = NewNode::new(onnx_schema::op::IDENTITY).inputs([new]).outputs([alias]);
        let node = self.add_node(at, node)?;
        let ty = self.values[old].ty.clone();
        self.set_type(alias, ty);
        if self.is_known_output(old) {
            self.take_name(alias, old);
        }
        self.replace_uses_where(old, alias, |_, at| matches!(at.user, User::Graph(_)));
        self.replace_all_uses(old, new);
        Ok(Some(node))
    }

    /// Returns `true` if `new` can replace `old` in all uses, as far as outputs of graphs are concerned.
    ///
    /// This is always the case if `old` is not an output of a graph. Otherwise `new` must be produced by a node of that
    /// graph, because some runtimes do not accept an input, an initializer or an outer value directly as an output; it
    /// must not already be an output of a graph; and if callers know the output by name, `old` must also be produced by
    /// a node, so that the name can be transferred. If this returns `false`, insert an `Identity` between the two.
    ///
    /// Visibility and order are not checked.
    ///
    /// # Panics
    ///
    /// Panics if a value is not of this model or was erased.
    #[must_use]
    pub fn can_replace(&self, old: ValueId, new: ValueId) -> bool {
        let maker = self.values[new].producer().map(|node| self.nodes[node].graph);
        self.values[old].output_uses().iter().all(|at| match at.user {
            User::Node(_) | User::Attribute(_) => true,
            User::Graph(graph) => maker == Some(graph) && !self.is_graph_output(new),
        }) && (self.values[old].producer().is_some() || !self.is_known_output(old))
    }

    /// Whether a value is an output of the main graph or of a function, so that callers know it by name.
    ///
    /// # Panics
    ///
    /// Panics if the value is not of this model or was erased.
    #[must_use]
    pub fn is_known_output(&self, value: ValueId) -> bool {
        self.values[value].output_uses().iter().any(|at| match at.user {
            User::Graph(graph) => matches!(self.graphs[graph].owner, Owner::Model | Owner::Function(_)),
            User::Node(_) | User::Attribute(_) => false,
        })
    }
}
