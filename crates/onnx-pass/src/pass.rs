//! The record of a pass, and the passes that are known.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use onnx_schema::{Extension, Pack, Registry};

use crate::assumption::Exactness;
use crate::cx::PassCx;
use crate::passes::{self, Report};

/// The function of a pass.
type Run = dyn Fn(&mut PassCx<'_>) -> Report + Send + Sync;

/// A pass: a function of a [`PassCx`], and what a reader of a list of passes needs to know about it.
///
/// The name states the postcondition, such as `no-identities`: what holds when the pass has run, up to the edits that were
/// refused. [`Pass::standard`] lists the passes of this crate, [`PassPack::with_pass`] registers others.
#[derive(Clone)]
pub struct Pass {
    name: Cow<'static, str>,
    summary: Cow<'static, str>,
    page: Cow<'static, str>,
    class: Exactness,
    requires: Vec<Cow<'static, str>>,
    opposes: Vec<Cow<'static, str>>,
    run: Arc<Run>,
}

impl Pass {
    /// A pass with a name, a summary of one sentence, and the class of its least exact edit.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        summary: impl Into<Cow<'static, str>>,
        class: Exactness,
        run: impl Fn(&mut PassCx<'_>) -> Report + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            page: Cow::Borrowed(""),
            class,
            requires: Vec::new(),
            opposes: Vec::new(),
            run: Arc::new(run),
        }
    }

    /// Sets the page: Markdown that states what the pass changes, what it does not change, and why.
    #[must_use]
    pub fn with_page(mut self, page: impl Into<Cow<'static, str>>) -> Self {
        self.page = page.into();
        self
    }

    /// Adds a pass that a [`Pipeline`](crate::Pipeline) runs before this one, because this one relies on its postcondition.
    #[must_use]
    pub fn after(mut self, pass: impl Into<Cow<'static, str>>) -> Self {
        self.requires.push(pass.into());
        self
    }

    /// Adds a pass that undoes what this one does: the two cannot be in one phase that is repeated, because each would
    /// edit the results of the other one forever. It suffices that one of them names the other.
    #[must_use]
    pub fn against(mut self, pass: impl Into<Cow<'static, str>>) -> Self {
        self.opposes.push(pass.into());
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the pass does, in one sentence.
    #[must_use]
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// The page; empty if there is none.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// The class of the least exact edit.
    #[must_use]
    pub const fn class(&self) -> Exactness {
        self.class
    }

    /// The names of the passes that run before this one.
    pub fn requires(&self) -> impl Iterator<Item = &str> {
        self.requires.iter().map(AsRef::as_ref)
    }

    /// Returns `true` if this pass and another one undo each other.
    #[must_use]
    pub fn opposes(&self, other: &Self) -> bool {
        self.opposes.contains(&other.name) || other.opposes.contains(&self.name)
    }

    /// Runs the pass.
    pub fn run(&self, cx: &mut PassCx<'_>) -> Report {
        (self.run)(cx)
    }

    /// The passes of this crate, those that other passes rely on first.
    #[must_use]
    pub fn standard() -> Vec<Self> {
        passes::all()
    }

    /// All passes: those of this crate and those of the packs of a registry, which replace a standard one of their name.
    #[must_use]
    pub fn known(registry: &Registry) -> Vec<Self> {
        let mut known = Self::standard();
        if let Some(Registered(registered)) = registry.extension::<Registered>() {
            known.retain(|pass| registered.iter().all(|other| other.name != pass.name));
            known.extend(registered.iter().cloned());
        }
        known
    }

    /// The pass of a name.
    #[must_use]
    pub fn find(name: &str, registry: &Registry) -> Option<Self> {
        Self::known(registry).into_iter().find(|pass| pass.name() == name)
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pass").field("name", &self.name).field("class", &self.class).finish_non_exhaustive()
    }
}

/// The passes of packs.
#[derive(Clone, Default)]
struct Registered(Vec<Pass>);

impl Extension for Registered {
    fn merge(&mut self, later: &Self) {
        self.0.retain(|pass| later.0.iter().all(|other| other.name != pass.name));
        self.0.extend(later.0.iter().cloned());
    }
}

/// Passes of a [`Pack`].
///
/// ```
/// use onnx_pass::passes::Report;
/// use onnx_pass::{Exactness, Pass, PassPack};
/// use onnx_schema::{Pack, Registry};
///
/// let pass = Pass::new("no-gain", "Removes gains of one.", Exactness::Exact, |_| Report::default());
/// let registry = Registry::standard().with(Pack::new().with_pass(pass))?;
/// assert!(Pass::find("no-gain", &registry).is_some());
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
pub trait PassPack: Sized {
    /// Adds a pass.
    #[must_use]
    fn with_pass(self, pass: Pass) -> Self;
}

impl PassPack for Pack {
    fn with_pass(self, pass: Pass) -> Self {
        self.extended(|passes: &mut Registered| passes.0.push(pass))
    }
}
