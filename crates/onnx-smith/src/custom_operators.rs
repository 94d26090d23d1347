//! Nodes of operators that a pack declares: operands of the types that the declaration allows, chosen by a recipe.

use std::collections::BTreeMap;
use std::sync::Arc;

use onnx_ir::{AttrValue, Attribute, NewNode, NodeId, ValueId};
use onnx_schema::{
    AttrKind, DeclaredAttribute, DeclaredFormal, DeclaredSchema, DeclaredType, Extension, FormalOption, Pack,
    PerOperator, SupportLevel, TypeForm, TypeId,
};
use onnx_shape_infer::Ty;
use onnx_types::{Dim, ElemType, Shape, Type};

use crate::draft::Operand;
use crate::elements;
use crate::smith::{Kind, Smith};

/// The most elements of a constant.
const MOST_ELEMENTS: i64 = 256;

/// Probability, in percent, that an optional operand or attribute is given.
const OPTIONAL: usize = 50;

/// A recipe for an operator outside the standard sets.
pub type CustomRecipe = Arc<dyn Fn(&mut Proposal<'_, '_>) -> Option<()> + Send + Sync>;

/// What the packs of a registry say about generating nodes.
#[derive(Clone, Default)]
pub(crate) struct Recipes(PerOperator<CustomRecipe>);

impl Extension for Recipes {
    fn merge(&mut self, later: &Self) {
        self.0.merge(&later.0);
    }
}

/// Recipes of the generator in a [`Pack`].
pub trait SmithPack: Sized {
    /// Adds how operands and attributes of an operator fit together, at all its versions. `None` where no node can be made
    /// here.
    ///
    /// Without a recipe, every operand has any sizes, and proposals that inference or the checker refuse are dropped: most
    /// operators need none. A recipe raises the share of those that do.
    ///
    /// ```
    /// use onnx_schema::Pack;
    /// use onnx_smith::SmithPack;
    ///
    /// // Both operands have the same sizes.
    /// let pack = Pack::new().with_recipe("com.acme", "Interleave", |node| {
    ///     let dims = node.any()?;
    ///     node.shaped(&dims)
    /// });
    /// # let _ = pack;
    /// ```
    #[must_use]
    fn with_recipe(
        self,
        domain: &str,
        op: &str,
        recipe: impl Fn(&mut Proposal<'_, '_>) -> Option<()> + Send + Sync + 'static,
    ) -> Self;
}

impl SmithPack for Pack {
    fn with_recipe(
        self,
        domain: &str,
        op: &str,
        recipe: impl Fn(&mut Proposal<'_, '_>) -> Option<()> + Send + Sync + 'static,
    ) -> Self {
        self.extended(|recipes: &mut Recipes| recipes.0.insert(domain, op, Arc::new(recipe)))
    }
}

/// The operators of the declared sets, at the versions that a model imports, that nodes can be made of.
pub(crate) fn usable<'b>(smith: &Smith<'b>) -> Vec<&'b DeclaredSchema> {
    let registry = smith.options.registry;
    let mut found = Vec::new();
    for domain in registry.declared_domains() {
        let imports = &smith.model.info().opset_imports;
        let import = imports.iter().find(|import| smith.model.str(import.domain()) == domain);
        let Some(version) = import.map(onnx_ir::OpsetImport::version) else { continue };
        let schemas =
            registry.declared_operators(domain).filter_map(|op| registry.declared(domain, op, version));
        found.extend(schemas.filter(|schema| {
            let is_standard = onnx_schema::lookup_by_name(domain, schema.name(), version).is_some();
            !schema.is_deprecated && schema.support == SupportLevel::Common && !is_standard
        }));
    }
    found
}

/// A node of a declared operator before it is made, as a recipe sees it.
///
/// Methods that choose an operand choose the next one. They return `None` if none fits; a recipe propagates the `None`,
/// and no node is created.
pub struct Proposal<'s, 'b> {
    smith: &'s mut Smith<'b>,
    schema: &'b DeclaredSchema,
    operands: Vec<Operand>,
    /// The types that type variables stand for.
    bound: BTreeMap<String, TypeForm>,
    attributes: Vec<Attribute>,
}

impl<'s, 'b> Proposal<'s, 'b> {
    /// Makes a node, if inference and the checker have nothing to say against it.
    pub(crate) fn forge(smith: &'s mut Smith<'b>, schema: &'b DeclaredSchema) -> Option<NodeId> {
        let (operands, attributes) = (Vec::new(), Vec::new());
        let mut node = Self { smith, schema, operands, bound: BTreeMap::new(), attributes };
        let recipes = node.smith.options.registry.extension::<Recipes>();
        match recipes.and_then(|recipes| recipes.0.get(schema.domain(), schema.name())) {
            Some(recipe) => recipe(&mut node)?,
            None => node.general()?,
        }
        node.fill_attributes()?;
        let (domain, op) = (node.smith.model.intern(schema.domain()), node.smith.model.intern(schema.name()));
        let mut new = NewNode::new(op).domain(domain);
        new.attributes = std::mem::take(&mut node.attributes);
        while matches!(node.operands.last(), Some(Operand::Missing)) {
            node.operands.pop();
        }
        let outputs = node.outputs();
        node.smith.commit(new, &node.operands, &outputs)
    }

    /// Operands of any sizes.
    fn general(&mut self) -> Option<()> {
        let least = self.schema.min_inputs();
        let most = self.schema.max_inputs().unwrap_or(least.saturating_add(2)).max(least);
        for index in 0..most {
            let is_single = self.formal()?.option == FormalOption::Single;
            if is_single || index < least || self.chance(OPTIONAL) {
                self.any()?;
            } else {
                self.skip();
            }
        }
        Some(())
    }

    /// The declaration of the operator.
    #[must_use]
    pub const fn schema(&self) -> &'b DeclaredSchema {
        self.schema
    }

    /// How many operands were chosen so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.operands.len()
    }

    /// Returns `true` with a probability of about `percent` percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.smith.choices.chance(percent)
    }

    /// An integer of a range, both ends included.
    pub fn int(&mut self, least: i64, most: i64) -> i64 {
        self.smith.choices.int(least, most)
    }

    /// Leaves the next operand out.
    pub fn skip(&mut self) {
        self.operands.push(Operand::Missing);
    }

    /// An operand of any sizes; returns these.
    pub fn any(&mut self) -> Option<Vec<Dim>> {
        self.of_rank(0, 4)
    }

    /// An operand of any sizes with a rank in a range, both ends included; returns the sizes.
    pub fn of_rank(&mut self, least: usize, most: usize) -> Option<Vec<Dim>> {
        let rank = self.smith.choices.between(least, most);
        let new = self.smith.dims(rank);
        self.operand(|dims| (least..=most.max(least)).contains(&dims.len()), &new)
    }

    /// An operand of exactly these sizes.
    pub fn shaped(&mut self, dims: &[Dim]) -> Option<()> {
        if dims.iter().any(|dim| dim.is_unknown()) {
            return None;
        }
        self.operand(|found| found == dims, dims).map(drop)
    }

    /// A constant operand with these numbers; what the element type cannot hold becomes the nearest that it can.
    pub fn constant(&mut self, dims: &[i64], numbers: &[i64]) -> Option<()> {
        let TypeForm::Tensor(elem) = self.form()? else { return None };
        self.operands.push(Operand::Constant(elements::tensor(elem, dims, numbers)?));
        Some(())
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: &str, value: impl Into<AttrValue>) {
        let name = self.smith.model.intern(name);
        if self.attributes.iter().all(|attribute| attribute.name() != name) {
            self.attributes.push(Attribute::new(name, value));
        }
    }

    fn formal(&self) -> Option<&'b DeclaredFormal> {
        self.schema.input_for(self.operands.len())
    }

    /// The type of the next operand: that of its variable, or a new choice.
    fn form(&mut self) -> Option<TypeForm> {
        let formal = self.formal()?;
        let variable = match &formal.ty {
            DeclaredType::Variable(name) if formal.is_homogeneous => Some(name),
            _ => None,
        };
        if let Some(&bound) = variable.and_then(|name| self.bound.get(name)) {
            return Some(bound);
        }
        let allowed: Vec<TypeForm> = match self.schema.types_of(formal) {
            Some(types) => types.iter().map(|id| *id.form()).collect(),
            None => vec![TypeForm::Tensor(ElemType::Float)],
        };
        let is_there = |form: &TypeForm| {
            let types = self.smith.visible().filter_map(|entry| TypeId::of(&entry.ty.to_type()?));
            types.into_iter().any(|id| id.form() == form)
        };
        let there: Vec<TypeForm> = allowed.iter().copied().filter(is_there).collect();
        let choices = &mut self.smith.choices;
        let form = choices.pick(&there).filter(|_| choices.chance(70)).or_else(|| choices.pick(&allowed))?;
        if let Some(name) = variable {
            self.bound.insert(name.clone(), form);
        }
        Some(form)
    }

    /// An operand whose sizes fit, or a new one.
    fn operand(&mut self, fits: impl Fn(&[Dim]) -> bool, new: &[Dim]) -> Option<Vec<Dim>> {
        let TypeForm::Tensor(elem) = self.form()? else { return None };
        let fitting = self.smith.visible().filter_map(|entry| match &entry.ty {
            Ty::Tensor(_, Some(dims)) if entry.ty.elem() == Some(elem) && fits(dims) => {
                Some((entry.value, dims.to_vec()))
            }
            _ => None,
        });
        let there: Vec<(ValueId, Vec<Dim>)> = fitting.collect();
        let chosen = self.smith.choices.below(there.len());
        if let Some((value, dims)) = there.get(chosen)
            && self.smith.choices.chance(75)
        {
            self.operands.push(Operand::Value(*value));
            return Some(dims.clone());
        }
        match self.new_operand(elem, new) {
            Some(operand) => {
                self.operands.push(operand);
                Some(new.to_vec())
            }
            None => {
                let (value, dims) = there.into_iter().next_back()?;
                self.operands.push(Operand::Value(value));
                Some(dims)
            }
        }
    }

    /// A new constant, or a new input of the main graph.
    fn new_operand(&mut self, elem: ElemType, dims: &[Dim]) -> Option<Operand> {
        let is_main = self.smith.kind() == Kind::Main;
        let sizes: Option<Vec<i64>> = dims.iter().map(|dim| dim.known()).collect();
        if let Some(sizes) = sizes
            && (!is_main || self.smith.choices.chance(30))
        {
            let count = sizes.iter().try_fold(1_i64, |all, &size| all.checked_mul(size))?;
            if count <= MOST_ELEMENTS {
                let start = self.smith.choices.int(0, 3);
                let numbers: Vec<i64> = (0..count).map(|index| start.wrapping_add(index) & 3).collect();
                return elements::tensor(elem, &sizes, &numbers).map(Operand::Constant);
            }
        }
        let is_plain = dims.iter().all(|&dim| self.smith.is_plain(dim));
        (is_main && is_plain)
            .then(|| Operand::Input(Type::tensor(elem, Some(Shape::new(dims.iter().copied())))))
    }

    /// Sets the required attributes that are open; `None` for one of a kind that only a recipe can make.
    fn fill_attributes(&mut self) -> Option<()> {
        for formal in &self.schema.attributes {
            let name = self.smith.model.intern(&formal.name);
            let is_set = self.attributes.iter().any(|attribute| attribute.name() == name);
            if formal.is_required && !is_set {
                let value = self.attribute(formal)?;
                self.attributes.push(Attribute::new(name, value));
            }
        }
        Some(())
    }

    fn attribute(&mut self, formal: &DeclaredAttribute) -> Option<AttrValue> {
        Some(match formal.kind? {
            AttrKind::Int => AttrValue::Int(self.int(0, 1)),
            AttrKind::Ints => AttrValue::Ints(vec![1, 2]),
            AttrKind::Float => AttrValue::Float(self.smith.choices.pick(&[0.5, 1.0, 2.0])?),
            AttrKind::Floats => AttrValue::Floats(vec![1.0, 0.5]),
            AttrKind::String => "a".into(),
            _ => return None,
        })
    }

    /// Which outputs the node has.
    fn outputs(&mut self) -> Vec<bool> {
        let least = self.schema.min_outputs().max(1);
        let most = self.schema.max_outputs().unwrap_or(least).max(least);
        vec![true; if self.chance(OPTIONAL) { least } else { self.smith.choices.between(least, most) }]
    }
}
