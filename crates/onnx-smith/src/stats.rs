//! How often nodes of each schema were made and refused.

use onnx_schema::SchemaId;

/// How often nodes of each schema were made, and how often they were tried and refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stats {
    counts: Vec<(u32, u32)>,
}

impl Default for Stats {
    fn default() -> Self {
        Self { counts: vec![(0, 0); SchemaId::COUNT] }
    }
}

impl Stats {
    pub(crate) fn count(&mut self, schema: SchemaId, was_made: bool) {
        if let Some((made, refused)) = self.counts.get_mut(schema.index()) {
            let count = if was_made { made } else { refused };
            *count = count.saturating_add(1);
        }
    }

    /// Adds the numbers of another model.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.0 = mine.0.saturating_add(theirs.0);
            mine.1 = mine.1.saturating_add(theirs.1);
        }
    }

    /// How many nodes of a schema were made.
    #[must_use]
    pub fn made(&self, schema: SchemaId) -> u32 {
        self.counts.get(schema.index()).map_or(0, |counts| counts.0)
    }

    /// How many nodes of a schema were proposed and refused, because inference or the checker found something against
    /// them or no operands could be made.
    #[must_use]
    pub fn refused(&self, schema: SchemaId) -> u32 {
        self.counts.get(schema.index()).map_or(0, |counts| counts.1)
    }
}
