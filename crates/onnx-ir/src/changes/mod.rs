//! The record of edits: revisions of a model, and what changed since one of them.
//!
//! The edits themselves record, not the accesses to the arenas that they are made of: moving an entry of a use list or
//! relabeling order keys writes to other nodes, but is not a change of these nodes.

mod aspects;
mod edit;
mod edits;
mod recorder;

pub use aspects::Aspects;
pub use edit::Edit;
pub use edits::{Change, Changes, Edits};
pub use recorder::Revision;

pub(crate) use recorder::{Entity, Recorder};

use crate::model::Model;

/// Edits beyond the number of entities that [`Model::changes_since`] still lists one by one, so that a long script of
/// edits of a small model is listed, too.
const SLACK: usize = 1024;

impl Model {
    /// The current revision of the model, for a later [`Model::changes_since`].
    ///
    /// The first call starts the record of edits. Until then, an edit costs one branch more than without a record.
    ///
    /// ```
    /// use onnx_ir::{Aspects, Change, Changes, Model, Position};
    /// use onnx_schema::op;
    ///
    /// # fn main() -> Result<(), onnx_ir::EditError> {
    /// let mut model = Model::new();
    /// let graph = model.main_graph();
    /// let x = model.add_graph_input(graph, "x", None);
    /// let y = model.build_at(Position::End(graph)).op(op::RELU, [x]).output_named("y")?;
    ///
    /// let before = model.revision();
    /// let abs = model.build_at(Position::End(graph)).op(op::ABS, [y]).output_named("z")?;
    /// let name = model.intern("renamed");
    /// model.set_value_name(y, name);
    ///
    /// let Changes::Edits(edits) = model.changes_since(&before) else { panic!("the record covers two edits") };
    /// let values: Vec<_> = edits.values().collect();
    /// assert_eq!(values, [(abs, Change::Created), (y, Change::Changed(Aspects::NAME))]);
    /// assert_eq!(edits.nodes().count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.changes.revision()
    }

    /// The edited entities since a revision, in the order of the first edit of each entity.
    ///
    /// The result is [`Changes::Everything`] if the edits are not on record: for a revision of another model (a clone
    /// has a separate record), and if there were more edits than the record holds or than the model has entities. It is
    /// never incomplete: an entity that is not listed is unchanged since the revision.
    ///
    /// The cost is proportional to the number of edits since the revision.
    ///
    /// The tables of names and expressions, which only grow, and the origins of nodes and values are not part of a
    /// revision.
    #[must_use]
    pub fn changes_since(&self, revision: &Revision) -> Changes {
        let Some(entries) = self.changes.since(revision) else { return Changes::Everything };
        let entities = self.nodes.len() + self.values.len() + self.graphs.len() + self.functions.len();
        if entries.len() > entities.saturating_add(SLACK) {
            return Changes::Everything;
        }
        Changes::Edits(Edits::new(entries))
    }

    /// Ends the record of edits and drops it; all revisions so far are foreign from now on.
    pub fn forget_changes(&mut self) {
        self.changes = Recorder::default();
    }

    /// Records an edit.
    #[inline]
    pub(crate) fn record(&mut self, entity: impl Into<Entity>, aspects: Aspects) {
        self.changes.record(entity, aspects);
    }
}
