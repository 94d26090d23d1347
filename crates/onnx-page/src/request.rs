//! What a page asks.

use serde::Deserialize;

/// A level and a box of it.
pub(crate) type Place = (usize, usize);

/// A request, and the model that it is about.
#[derive(Debug, Deserialize)]
pub(crate) struct Sided {
    /// 0 for the model, 1 for the older one of a comparison.
    #[serde(default)]
    pub(crate) side: u8,
    #[serde(flatten)]
    pub(crate) request: Request,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "call", rename_all = "lowercase")]
pub(crate) enum Request {
    Overview,
    Level {
        id: usize,
    },
    /// Levels, with the values of the last run at their edges if `labels` says so.
    Levels {
        ids: Vec<usize>,
        #[serde(default)]
        labels: bool,
    },
    Search {
        text: String,
    },
    /// The nodes between two boxes.
    Path {
        from: Place,
        to: Place,
    },
    /// What the model declares about itself.
    Model,
    /// A box; with `folded`, a node that computes a weight of the node with the box.
    Details {
        level: usize,
        item: usize,
        #[serde(default)]
        folded: Option<usize>,
    },
    /// The statistics of a weight, by the position of the operand.
    Weight {
        level: usize,
        item: usize,
        input: usize,
        #[serde(default)]
        folded: Option<usize>,
    },
    Findings,
    Repair,
    Cost {
        sizes: String,
    },
    Simplify {
        #[serde(default)]
        prove: bool,
    },
    Convert {
        version: i64,
    },
    /// Makes the nodes of a box the model.
    Extract {
        level: usize,
        item: usize,
    },
    Undo,
    Text {
        level: usize,
        item: i64,
    },
    /// The picture with these boxes open, as SVG.
    Picture {
        #[serde(default)]
        open: Vec<Vec<u32>>,
        #[serde(default)]
        color: String,
    },
    Versions,
    /// Runs the model on generated inputs.
    Run {
        #[serde(default)]
        sizes: String,
        #[serde(default)]
        seed: u64,
    },
    /// The differences from the older model.
    Compare,
    /// Compares with the model before the last change.
    Before,
    /// Ends the comparison.
    Single,
    /// The box of the other model that corresponds to a box of the model `from`.
    Counterpart {
        level: usize,
        item: usize,
        from: u8,
    },
}

impl Request {
    /// Returns `true` if the model stays as it is.
    pub(crate) const fn reads(&self) -> bool {
        !matches!(
            self,
            Self::Repair
                | Self::Simplify { .. }
                | Self::Convert { .. }
                | Self::Extract { .. }
                | Self::Undo
                | Self::Compare
                | Self::Before
                | Self::Single
                | Self::Counterpart { .. }
        )
    }
}
