//! A borrow for editing that records what was edited.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::aspects::Aspects;
use super::recorder::{Entity, Recorder};
use crate::extras::Extras;
use crate::graph::{FunctionInfo, GraphInfo};
use crate::info::ModelInfo;
use crate::resolve::OpsetVersions;

/// A borrow of a part of a model for editing, such as [`Model::info_mut`](crate::Model::info_mut) returns. What was edited
/// is recorded when it ends.
pub struct Edit<'a, T: Recorded> {
    data: &'a mut T,
    recorder: &'a mut Recorder,
    entity: Entity,
    /// The data before the first access for editing, if edits are recorded.
    before: Option<T>,
}

impl<'a, T: Recorded> Edit<'a, T> {
    pub(crate) const fn new(data: &'a mut T, recorder: &'a mut Recorder, entity: Entity) -> Self {
        Self { data, recorder, entity, before: None }
    }

    /// Keeps the data as it is, and records that anything may have changed: what stays on record if the borrow is never
    /// dropped.
    #[cold]
    fn begin(&mut self) {
        self.before = Some(self.data.clone());
        self.recorder.record(self.entity, T::ALL);
    }
}

impl<T: Recorded> Deref for Edit<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.data
    }
}

impl<T: Recorded> DerefMut for Edit<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        if self.before.is_none() && self.recorder.is_on() {
            self.begin();
        }
        self.data
    }
}

impl<T: Recorded> Drop for Edit<'_, T> {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            self.recorder.correct(T::differences(before, self.data));
        }
    }
}

impl<T: Recorded + fmt::Debug> fmt::Debug for Edit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data.fmt(f)
    }
}

/// Data whose edits are recorded by comparison.
pub trait Recorded: Clone {
    /// All aspects that an edit can change.
    const ALL: Aspects;

    /// The aspects in which two states differ.
    fn differences(before: &Self, after: &Self) -> Aspects;
}

impl Recorded for Extras {
    const ALL: Aspects = Aspects::NAME;

    fn differences(before: &Self, after: &Self) -> Aspects {
        Aspects::NAME.when(before != after)
    }
}

impl Recorded for GraphInfo {
    const ALL: Aspects = Aspects::NAME;

    fn differences(before: &Self, after: &Self) -> Aspects {
        Aspects::NAME.when(before != after)
    }
}

impl Recorded for FunctionInfo {
    const ALL: Aspects = Aspects::INTERFACE.or(Aspects::VERSIONS).or(Aspects::NAME);

    fn differences(before: &Self, after: &Self) -> Aspects {
        let versions = |info: &Self| OpsetVersions::new(&info.opset_imports);
        let named = |info: &Self| Self { attributes: Vec::new(), ..info.clone() };
        let mut aspects = Aspects::INTERFACE.when(before.attributes != after.attributes);
        aspects |= Aspects::VERSIONS.when(versions(before) != versions(after));
        aspects | Aspects::NAME.when(named(before) != named(after))
    }
}

impl Recorded for ModelInfo {
    const ALL: Aspects = Aspects::INTERFACE.or(Aspects::VERSIONS).or(Aspects::NAME);

    fn differences(before: &Self, after: &Self) -> Aspects {
        let versions = |info: &Self| OpsetVersions::of_model(&info.opset_imports, info.ir_version);
        let named = |info: &Self| Self { training: Vec::new(), ..info.clone() };
        let mut aspects = Aspects::INTERFACE.when(before.training != after.training);
        aspects |= Aspects::VERSIONS.when(versions(before) != versions(after));
        aspects | Aspects::NAME.when(named(before) != named(after))
    }
}
