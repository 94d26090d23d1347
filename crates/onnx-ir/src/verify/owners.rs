//! Owners of graphs, and the index of functions.

use onnx_types::Stopped;
use slotmap::SecondaryMap;

use super::FaultKind::{Function as FunctionFault, Owner as OwnerFault};
use super::{Subject, Verifier};
use crate::entity::{FunctionId, GraphId};
use crate::graph::Owner;
use crate::resolve::OpsetScope;

impl Verifier<'_> {
    pub(super) fn owners(&mut self) -> Result<(), Stopped> {
        let model = self.model;
        let mut claims: SecondaryMap<GraphId, ()> = SecondaryMap::new();
        self.claim(model.main, Owner::Model, None, &mut claims);
        for (node, record) in model.nodes.iter() {
            self.watch.work(1)?;
            for graph in record.nested_graphs() {
                self.claim(graph, Owner::Node(node), Some(Subject::Node(node)), &mut claims);
            }
        }
        for (function, record) in &model.functions {
            let defaults = record.defaults.iter().flat_map(|default| default.value().graphs());
            for &graph in std::iter::once(&record.body).chain(defaults) {
                let subject = Some(Subject::Function(function));
                self.claim(graph, Owner::Function(function), subject, &mut claims);
            }
        }
        for training in &model.info.training {
            if let Some(graph) = training.initialization {
                self.claim(graph, Owner::Initialization, None, &mut claims);
            }
            if let Some(graph) = training.algorithm {
                self.claim(graph, Owner::Algorithm, None, &mut claims);
            }
        }
        for (graph, record) in &model.graphs {
            let holds = record.owner == Owner::Detached || claims.contains_key(graph);
            self.require(
                holds,
                OwnerFault,
                Subject::Graph(graph),
                "the owner that it names does not hold it",
            );
        }
        self.forest();
        Ok(())
    }

    fn claim(
        &mut self,
        graph: GraphId,
        owner: Owner,
        holder: Option<Subject>,
        claims: &mut SecondaryMap<GraphId, ()>,
    ) {
        let subject = Subject::Graph(graph);
        match self.model.graphs.get(graph) {
            None => {
                let holder = holder.map_or_else(|| "the model".to_owned(), |holder| holder.to_string());
                self.fault(OwnerFault, subject, || format!("{holder} holds the graph, which is gone"));
            }
            Some(record) => {
                self.require(
                    record.owner == owner,
                    OwnerFault,
                    subject,
                    "it names another owner than the one that holds it",
                );
                let scope = match owner {
                    Owner::Node(node) => self.model.nodes.get(node).map(|node| node.graph),
                    _ => None,
                };
                let scope = match (scope.and_then(|graph| self.model.graphs.get(graph)), owner) {
                    (Some(outer), _) => outer.scope,
                    (None, Owner::Function(function)) => OpsetScope::Function(function),
                    (None, _) => OpsetScope::Model,
                };
                self.require(
                    record.scope == scope,
                    OwnerFault,
                    subject,
                    "its scope is not that of its owner",
                );
                let once = claims.insert(graph, ()).is_none();
                self.require(once, OwnerFault, subject, "it is held twice");
            }
        }
    }

    /// Numbers the graphs around their forest, and reports graphs that lie in themselves.
    fn forest(&mut self) {
        let model = self.model;
        let parent = |graph: GraphId| match model.graphs.get(graph)?.owner {
            Owner::Node(node) => Some(model.nodes.get(node)?.graph),
            Owner::Algorithm => Some(model.main),
            _ => None,
        };
        let mut children: SecondaryMap<GraphId, Vec<GraphId>> = SecondaryMap::new();
        let mut tasks = Vec::new();
        for (graph, _) in &model.graphs {
            match parent(graph) {
                None => tasks.push((graph, false)),
                Some(parent) => match children.get_mut(parent) {
                    Some(list) => list.push(graph),
                    None => {
                        children.insert(parent, vec![graph]);
                    }
                },
            }
        }
        let mut clock = 0_u32;
        while let Some((graph, left)) = tasks.pop() {
            if left {
                if let Some(span) = self.span.get_mut(graph) {
                    span.1 = clock;
                }
                continue;
            }
            clock += 1;
            self.span.insert(graph, (clock, clock));
            tasks.push((graph, true));
            tasks.extend(children.get(graph).into_iter().flatten().map(|&child| (child, false)));
        }
        for (graph, _) in &model.graphs {
            let holds = self.span.contains_key(graph);
            self.require(holds, OwnerFault, Subject::Graph(graph), "it lies in itself");
        }
    }

    pub(super) fn functions(&mut self) {
        let model = self.model;
        let mut seen: SecondaryMap<FunctionId, ()> = SecondaryMap::new();
        for &function in &model.function_order {
            let subject = Subject::Function(function);
            let Some(record) = model.functions.get(function) else {
                self.fault(FunctionFault, subject, || {
                    "the file order names the function, which is gone".to_owned()
                });
                continue;
            };
            let once = seen.insert(function, ()).is_none();
            self.require(once, FunctionFault, subject, "the file order contains it twice");
            let found = model.function_index.get(&(record.domain(), record.name, record.overload));
            let first = found.is_some_and(|&first| first == function || seen.contains_key(first));
            self.require(
                first,
                FunctionFault,
                subject,
                "its identity does not lead to the first function that has it",
            );
        }
        for (function, _) in &model.functions {
            let holds = seen.contains_key(function);
            self.require(
                holds,
                FunctionFault,
                Subject::Function(function),
                "it is missing in the file order",
            );
        }
        let holds = model.function_index.len() <= model.functions.len();
        self.require(
            holds,
            FunctionFault,
            Subject::Graph(model.main),
            "the index of functions holds more than there are",
        );
    }
}
