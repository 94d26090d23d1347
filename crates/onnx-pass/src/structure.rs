//! The first level of a proof: the patch can be applied, and the structure of the resulting model is valid.

use onnx_diag::Quoted;
use onnx_ir::{Def, FunctionId, GraphId, Model, NodeId, OpsetScope, Use, User, ValueId};
use onnx_schema::traits::newest;
use onnx_schema::{Registry, Schema, Traits};
use onnx_types::Symbol;

use crate::collect::Recorded;
use crate::cx::PassOptions;
use crate::determinism::{is_deterministic, is_deterministic_in, is_undeclared};
use crate::keys::KeySet;
use crate::patch::{Draft, RefusalKind, RefusalReason};
use crate::query::label;
use crate::references::References;

/// The changes of a commit.
pub(crate) struct Plan {
    /// The nodes that nothing needs afterwards, users before producers.
    pub(crate) dying: Vec<NodeId>,
    /// Nodes that are not erased and call another schema in the new version of an operator set: the proof compares
    /// both.
    pub(crate) restated: Vec<NodeId>,
}

/// Checks that a patch can be applied. The reason if it cannot, as a clause.
pub(crate) fn check(
    model: &Model,
    draft: &Draft,
    options: &PassOptions<'_>,
    references: &References,
) -> Result<Plan, RefusalReason> {
    let registry = options.registry;
    if draft.pairs.is_empty() {
        return Err("it replaces nothing".to_owned().into());
    }
    for &node in &draft.nodes {
        if !is_deterministic_in(model, node, registry, &draft.versions) {
            match is_undeclared(model, node, registry, &draft.versions) {
                true if options.allow_untested => {}
                true => {
                    let op = op_name(model, model.node(node).op());
                    let text =
                        format!("it makes a node of {op}, of which nothing says that it is deterministic");
                    return Err(RefusalReason::new(RefusalKind::Undeclared, text));
                }
                false => {
                    return Err("it makes a node that is not known to be deterministic".to_owned().into());
                }
            }
        }
        operands_are_defined(model, node)?;
        runs_no_more(model, draft, node)?;
    }
    for (index, &(old, new)) in draft.pairs.iter().enumerate() {
        let earlier = draft.pairs.get(..index).unwrap_or_default();
        if earlier.iter().any(|(other, _)| *other == old) {
            return Err(format!("{} is replaced twice", label(model, old)).into());
        }
        if draft.pairs.iter().any(|(other, _)| *other == new) {
            return Err(format!("{}, which replaces a value, is replaced itself", label(model, new)).into());
        }
        pair(model, registry, old, new)?;
        if let Some(by) = references.to(old) {
            return Err(format!("{by} refers to {}", label(model, old)).into());
        }
    }
    let dying = dying(model, draft, references);
    for &(old, new) in &draft.pairs {
        order(model, old, new, &dying)?;
    }
    for &node in &dying {
        if !is_deterministic(model, node, registry) {
            return Err("it drops a node that is not known to be deterministic".to_owned().into());
        }
    }
    versions(model, draft)?;
    let restated = restated(model, draft, &dying)?;
    scopes(model, draft)?;
    Ok(Plan { dying, restated })
}

/// Facts that hold only in a nested graph are only used there.
fn scopes(model: &Model, draft: &Draft) -> Result<(), String> {
    for recorded in &draft.recorded {
        let Recorded::Scope(scope) = *recorded else { continue };
        if draft.pairs.iter().any(|&(old, _)| !model.is_inside(model.graph_of(old), scope)) {
            let name = Quoted(model.str(model.graph(scope).name())).to_string();
            return Err(format!("it relies on a relation that holds only where graph {name} is executed"));
        }
    }
    Ok(())
}

/// A value that is replaced is made by a deterministic node, and the new one is visible where it is.
fn pair(model: &Model, registry: &Registry, old: ValueId, new: ValueId) -> Result<(), String> {
    let (Some(record), Some(_)) = (model.get_value(old), model.get_value(new)) else {
        return Err("a value is gone".to_owned());
    };
    let Def::Output { node, .. } = record.def() else {
        let name = label(model, old);
        return Err(format!(
            "{name} is not made by a node, and only results of nodes are replaced: `restructure` changes inputs and initializers"
        ));
    };
    if !is_deterministic(model, node, registry) {
        return Err("it replaces the result of a node that is not known to be deterministic".to_owned());
    }
    if !model.is_visible(new, model.graph_of(old)) {
        return Err(format!("{} is not visible where {} is", label(model, new), label(model, old)));
    }
    Ok(())
}

/// The operands of a new node are visible and defined before it.
fn operands_are_defined(model: &Model, node: NodeId) -> Result<(), String> {
    let graph = model.node(node).graph();
    let op = Quoted(model.str(model.node(node).op()));
    let mut problem = None;
    model.for_each_use_within(node, |value| {
        let home = model.graph_of(value);
        let is_nested = model.is_inside(home, graph) && home != graph;
        if is_nested {
            return;
        }
        if !model.is_inside(graph, home) {
            problem = Some(format!("{} is not visible where the new node {op} uses it", label(model, value)));
        } else if let Def::Output { node: producer, .. } = model.value(value).def() {
            let user = model.ancestor_in(node, home);
            if !user.is_some_and(|user| model.is_before(producer, user)) {
                problem =
                    Some(format!("{} is defined after the new node {op} that uses it", label(model, value)));
            }
        } else if let Def::Unresolved(_) = model.value(value).def() {
            problem = Some(format!("nothing defines {}, which the new node {op} uses", label(model, value)));
        }
    });
    problem.map_or(Ok(()), Err)
}

/// A new node runs only where a node runs whose result it replaces: outside a branch or a loop, it may fail where the old one
/// was not reached. Nodes that cannot fail may run more often.
fn runs_no_more(model: &Model, draft: &Draft, node: NodeId) -> Result<(), String> {
    let record = model.node(node);
    let is_total = record.domain().is_empty() && newest(record.op()).is_some_and(Traits::cannot_fail);
    let home = record.graph();
    if is_total || draft.pairs.iter().any(|&(old, _)| model.is_inside(home, model.graph_of(old))) {
        return Ok(());
    }
    let op = Quoted(model.str(record.op())).to_string();
    Err(format!(
        "the new node {op} is outside the graphs of all values that are replaced, and may fail where they are not computed"
    ))
}

/// The new value is defined before all users of the old one.
fn order(model: &Model, old: ValueId, new: ValueId, dying: &[NodeId]) -> Result<(), String> {
    let Some(producer) = model.value(new).producer() else { return Ok(()) };
    let home = model.node(producer).graph();
    for at in model.value(old).uses() {
        let user = match at.user {
            User::Node(user) | User::Attribute(user) => user,
            // An output of the graph itself is read after all nodes.
            User::Graph(graph) => match model.owner_node(graph).filter(|_| graph != home) {
                Some(owner) => owner,
                None => continue,
            },
        };
        if is_within(model, user, |node| dying.contains(&node)) {
            continue;
        }
        let user = model.ancestor_in(user, home);
        if !user.is_some_and(|user| model.is_before(producer, user)) {
            let [new, old] = [new, old].map(|value| label(model, value));
            return Err(format!("{new} is defined after a user of {old}, or depends on it"));
        }
    }
    Ok(())
}

/// The nodes that nothing needs after the patch, users before producers.
fn dying(model: &Model, draft: &Draft, references: &References) -> Vec<NodeId> {
    let mut dying: KeySet<NodeId> = KeySet::default();
    let mut order = Vec::new();
    let mut open: Vec<NodeId> =
        draft.pairs.iter().filter_map(|&(old, _)| model.value(old).producer()).collect();
    while let Some(node) = open.pop() {
        if dying.contains_key(node) || draft.nodes.contains(&node) {
            continue;
        }
        let is_gone = |at: &Use| match at.user {
            User::Node(user) | User::Attribute(user) => {
                is_within(model, user, |node| dying.contains_key(node))
            }
            User::Graph(graph) => model
                .owner_node(graph)
                .is_some_and(|owner| is_within(model, owner, |node| dying.contains_key(node))),
        };
        let is_unused = |value: ValueId| {
            let is_kept = draft.pairs.iter().any(|(_, new)| *new == value);
            let is_replaced = draft.pairs.iter().any(|(old, _)| *old == value);
            !is_kept
                && references.allow(value)
                && (is_replaced || model.value(value).uses().iter().all(is_gone))
        };
        if model.node(node).outputs().iter().flatten().all(|&value| is_unused(value)) {
            dying.insert(node, ());
            order.push(node);
            model.for_each_use_within(node, |value| open.extend(model.value(value).producer()));
        }
    }
    // Producers inside nested graphs of a dead node are erased with it.
    order.retain(|&node| {
        let owner = model.owner_node(model.node(node).graph());
        !owner.is_some_and(|owner| is_within(model, owner, |node| dying.contains_key(node)))
    });
    order
}

/// Returns `true` if a node, or a node that it is nested in, is one of a set.
fn is_within(model: &Model, node: NodeId, contains: impl Fn(NodeId) -> bool) -> bool {
    std::iter::successors(Some(node), |&node| model.owner_node(model.node(node).graph())).any(contains)
}

/// The versions of operator sets that the patch sets exist, as far as the operator set is a standard one.
fn versions(model: &Model, draft: &Draft) -> Result<(), String> {
    for &(domain, version) in &draft.versions {
        let is_known = match onnx_schema::opset_versions(domain) {
            Some(versions) => versions.contains(&version),
            None => version >= 1,
        };
        if !is_known {
            return Err(no_version(model, domain, version));
        }
    }
    Ok(())
}

/// That an operator set does not have a version, as a clause.
pub(crate) fn no_version(model: &Model, domain: Symbol, version: i64) -> String {
    let name = if domain.is_empty() { "ai.onnx" } else { model.str(domain) };
    format!("the operator set {} does not have version {version}", Quoted(name))
}

/// The nodes that are not erased and call another schema after a change of operator set versions. Operators with graphs
/// must differ in their types at most; their nodes are compared one by one.
fn restated(model: &Model, draft: &Draft, dying: &[NodeId]) -> Result<Vec<NodeId>, String> {
    let mut restated = Vec::new();
    for &(domain, to) in &draft.versions {
        let from = model.opset_version(domain);
        let in_function = |graph: GraphId| function_around(model, graph).is_some();
        if let Some(&(old, _)) = draft.pairs.first()
            && let Some(function) = function_around(model, model.graph_of(old))
        {
            // An operator set that the function does not import yet changes none of its nodes.
            let is_elsewhere = |&(old, _): &(ValueId, ValueId)| {
                function_around(model, model.graph_of(old)) != Some(function)
            };
            let graph = model.function(function).body();
            if model.versions_in(graph).get(domain).is_some() || draft.pairs.iter().any(is_elsewhere) {
                return Err("it changes the operator sets of a function".to_owned());
            }
            continue;
        }
        if draft.pairs.iter().any(|&(old, _)| in_function(model.graph_of(old))) {
            return Err("it changes the operator sets of a function".to_owned());
        }
        for graph in model.all_graphs().filter(|&graph| !in_function(graph)) {
            for node in model.nodes(graph) {
                let record = model.node(node);
                // Nodes nested in those that are replaced are erased with them.
                let is_replaced =
                    draft.nodes.contains(&node) || is_within(model, node, |node| dying.contains(&node));
                if record.domain() != domain || is_replaced {
                    continue;
                }
                let schema = |version: i64| onnx_schema::lookup(domain, record.op(), version);
                let (old, new) = (from.and_then(schema), schema(to));
                let name = op_name(model, record.op());
                if old.is_none() && new.is_none() {
                    // The body of a function defines its meaning in every version.
                    if from == Some(to) || model.function_called(record).is_some() {
                        continue;
                    }
                    return Err(format!("the meaning of {name} in version {to} is not known"));
                }
                if old.map(Schema::id) == new.map(Schema::id) {
                    continue;
                }
                let new = new.filter(|new| !new.is_deprecated());
                let (Some(old), Some(new)) = (old, new) else {
                    return Err(format!("version {to} does not have {name}"));
                };
                if record.nested_graphs().next().is_none() {
                    restated.push(node);
                } else if !differ_in_types_only(old, new) {
                    return Err(format!("{name} has another meaning in version {to}"));
                }
            }
        }
    }
    Ok(restated)
}

/// The function whose body a graph is, or is nested in.
pub(crate) fn function_around(model: &Model, graph: GraphId) -> Option<FunctionId> {
    match model.scope(graph) {
        OpsetScope::Function(function) => Some(function),
        OpsetScope::Model => None,
    }
}

/// Returns `true` if a schema allows more types than an older one, and is the same otherwise.
fn differ_in_types_only(old: &'static Schema, new: &'static Schema) -> bool {
    let [old, new] = [old, new].map(onnx_schema::DeclaredSchema::from);
    let changes = onnx_schema::changes(&old, &new);
    changes.iter().all(|change| match change {
        onnx_schema::SchemaChange::Types { removed, .. } => removed.is_empty(),
        _ => false,
    })
}

fn op_name(model: &Model, op: Symbol) -> String {
    format!("`{}`", model.str(op))
}
