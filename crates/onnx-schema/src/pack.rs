//! Operators that a third party registers together: operator sets, and extensions of other crates.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::declared_schemas::{OperatorSet, normal_domain};

/// Operators that are registered together: their declarations, and the extensions that other crates need to process
/// them.
///
/// This crate stores only the declarations. Inference rules, kernels and recipes of the generator are [`Extension`]s;
/// the crates that read them provide the methods that add them: `with_rule` of `onnx_shape_infer::InferPack`,
/// `with_kernel` of `onnx_eval::EvalPack`, `with_recipe` of `onnx_smith::SmithPack`.
/// [`Registry::with`](crate::Registry::with) registers a pack; every entry point that works with operators takes the
/// registry.
///
/// ```
/// use onnx_schema::{DeclareError, OperatorSet, Pack, Registry, declare};
///
/// fn pack() -> Result<Pack, DeclareError> {
///     let mut set = OperatorSet::new("com.acme", 1);
///     set.add(declare("Gain", 1).input("x", "tensor(float)").output("y", "tensor(float)"))?;
///     Ok(Pack::new().with_set(set))
/// }
///
/// let registry = Registry::standard().with(pack()?)?;
/// assert!(registry.declared("com.acme", "Gain", 1).is_some());
/// # Ok::<(), DeclareError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pack {
    pub(crate) sets: Vec<(OperatorSet, bool)>,
    pub(crate) extensions: Extensions,
}

impl Pack {
    /// A pack without anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operator set. Several versions of one domain are combined: an operator has the schemas of all of them.
    #[must_use]
    pub fn with_set(mut self, set: OperatorSet) -> Self {
        self.sets.push((set, false));
        self
    }

    /// Like [`with_set`](Self::with_set), for a set that is not all of its domain: other operators and versions of the
    /// domain are as unknown as without the set.
    #[must_use]
    pub fn with_open_set(mut self, set: OperatorSet) -> Self {
        self.sets.push((set, true));
        self
    }

    /// Adds to one extension, for crates that define one: users of a pack call methods of these crates.
    #[must_use]
    pub fn extended<T: Extension>(mut self, add: impl FnOnce(&mut T)) -> Self {
        // Edited in place: merging would apply the precedence of a later pack to parts of one pack.
        let mut extension = self.extensions.get::<T>().cloned().unwrap_or_default();
        add(&mut extension);
        self.extensions.0.insert(std::any::TypeId::of::<T>(), Arc::new(extension));
        self
    }
}

impl From<OperatorSet> for Pack {
    fn from(set: OperatorSet) -> Self {
        Self::new().with_set(set)
    }
}

impl From<&OperatorSet> for Pack {
    fn from(set: &OperatorSet) -> Self {
        Self::new().with_set(set.clone())
    }
}

/// What a crate keeps in a [`Registry`](crate::Registry) about operators that ONNX does not define. A registry has one value
/// of each type.
///
/// ```
/// use onnx_schema::{Extension, Pack, PerOperator, Registry};
///
/// /// What a kernel costs.
/// #[derive(Clone, Default)]
/// struct Costs(PerOperator<u32>);
///
/// impl Extension for Costs {
///     fn merge(&mut self, later: &Self) {
///         self.0.merge(&later.0);
///     }
/// }
///
/// let pack = Pack::new().extended(|costs: &mut Costs| costs.0.insert("com.acme", "Gain", 3));
/// let registry = Registry::standard().with(pack)?;
/// let costs = registry.extension::<Costs>().expect("the pack has one");
/// assert_eq!(costs.0.get("com.acme", "Gain"), Some(&3));
/// # Ok::<(), onnx_schema::DeclareError>(())
/// ```
pub trait Extension: Any + Clone + Default + Send + Sync {
    /// Adds the content of a pack that was registered later. If both describe one operator, the later one counts.
    fn merge(&mut self, later: &Self);
}

/// One value of each type of extension.
#[derive(Clone, Default)]
pub(crate) struct Extensions(BTreeMap<std::any::TypeId, Arc<dyn Slot>>);

impl Extensions {
    fn add_slot(&mut self, ty: std::any::TypeId, added: &Arc<dyn Slot>) {
        let merged = match self.0.get(&ty) {
            Some(known) => known.merged(&**added),
            None => Arc::clone(added),
        };
        self.0.insert(ty, merged);
    }

    pub(crate) fn merge(&mut self, later: &Self) {
        for (&ty, added) in &later.0 {
            self.add_slot(ty, added);
        }
    }

    pub(crate) fn get<T: Extension>(&self) -> Option<&T> {
        self.0.get(&std::any::TypeId::of::<T>())?.as_any().downcast_ref()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Extensions are functions as a rule, which have no text.
impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("count", &self.0.len()).finish()
    }
}

/// An extension of some type.
trait Slot: Send + Sync {
    fn as_any(&self) -> &dyn Any;

    /// This one and a later one of the same type.
    fn merged(&self, later: &dyn Slot) -> Arc<dyn Slot>;
}

impl<T: Extension> Slot for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn merged(&self, later: &dyn Slot) -> Arc<dyn Slot> {
        let mut merged = self.clone();
        if let Some(later) = later.as_any().downcast_ref::<T>() {
            merged.merge(later);
        }
        Arc::new(merged)
    }
}

/// Something about operators, by domain and name.
#[derive(Clone, Debug)]
pub struct PerOperator<T>(BTreeMap<String, BTreeMap<String, T>>);

impl<T> Default for PerOperator<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> PerOperator<T> {
    /// Sets what an operator has; `ai.onnx` is the default domain.
    pub fn insert(&mut self, domain: &str, op: &str, value: T) {
        self.0.entry(normal_domain(domain).to_owned()).or_default().insert(op.to_owned(), value);
    }

    /// The value of an operator.
    #[must_use]
    pub fn get(&self, domain: &str, op: &str) -> Option<&T> {
        self.0.get(normal_domain(domain))?.get(op)
    }

    /// The value of an operator, for editing; the default if it has none.
    pub fn entry(&mut self, domain: &str, op: &str) -> &mut T
    where
        T: Default,
    {
        self.0.entry(normal_domain(domain).to_owned()).or_default().entry(op.to_owned()).or_default()
    }

    /// All operators with what they have, in alphabetical order: domain, name, value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &T)> {
        self.0.iter().flat_map(|(domain, ops)| {
            ops.iter().map(move |(op, value)| (domain.as_str(), op.as_str(), value))
        })
    }

    /// Adds what another one has, which counts where both have something.
    pub fn merge(&mut self, later: &Self)
    where
        T: Clone,
    {
        for (domain, op, value) in later.iter() {
            self.insert(domain, op, value.clone());
        }
    }
}

/// Something that holds from a version of an operator set on, until the next version that has a value.
///
/// ```
/// use onnx_schema::ByVersion;
///
/// let mut costs = ByVersion::default();
/// costs.insert(1, 3);
/// costs.insert(7, 2);
/// assert_eq!([0, 1, 6, 7, 20].map(|version| costs.at(version).copied()), [None, Some(3), Some(3), Some(2), Some(2)]);
/// ```
#[derive(Clone, Debug)]
pub struct ByVersion<T>(BTreeMap<i64, T>);

impl<T> Default for ByVersion<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> ByVersion<T> {
    /// Sets the value from a version on; `i64::MIN` for all versions.
    pub fn insert(&mut self, since: i64, value: T) {
        self.0.insert(since, value);
    }

    /// The value at a version.
    #[must_use]
    pub fn at(&self, version: i64) -> Option<&T> {
        self.0.range(..=version).next_back().map(|(_, value)| value)
    }

    /// Replaces the values from the first version on that a later one has.
    pub fn merge(&mut self, later: &Self)
    where
        T: Clone,
    {
        if let Some((&first, _)) = later.0.first_key_value() {
            drop(self.0.split_off(&first));
            self.0.extend(later.0.iter().map(|(&since, value)| (since, value.clone())));
        }
    }
}
