//! The scales of axes that a runtime supports.

use std::fmt;

use onnx_ir::ValueId;
use onnx_schema::Schema;
use onnx_types::tensor::NoData;
use serde::{Deserialize, Deserializer};

use super::combination::Combination;
use super::{Cx, Requirements};

/// The scales that nodes with some settings may have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ScaleForms {
    /// The settings of the nodes that this is about; none are those of all nodes.
    #[serde(default)]
    pub of: Combination,
    /// Only nodes that are known to change a size are meant, and no size to 0.
    #[serde(default)]
    pub if_resized: bool,
    /// The least scale of an axis.
    #[serde(default)]
    pub least: Option<f32>,
    /// Lists of scales for all axes, of which a node needs one; none are all.
    #[serde(default)]
    pub forms: Vec<Vec<ScaleForm>>,
}

/// The scale of an axis in a form.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum ScaleForm {
    /// Any scale: `null`.
    Any,
    /// A number.
    Equal(f32),
    /// A number or a greater one: `">=1"`.
    AtLeast(f32),
    /// A greater number: `">1"`.
    Above(f32),
}

impl ScaleForm {
    /// Returns `false` for a scale that is known not to have the form.
    fn may_fit(self, scale: Option<f32>) -> bool {
        let Some(scale) = scale else { return true };
        match self {
            Self::Any => true,
            #[allow(clippy::float_cmp, reason = "runtimes compare scales with numbers")]
            Self::Equal(number) => scale == number,
            Self::AtLeast(number) => scale >= number,
            Self::Above(number) => scale > number,
        }
    }
}

impl fmt::Display for ScaleForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Equal(number) => write!(f, "{number}"),
            Self::AtLeast(number) => write!(f, ">={number}"),
            Self::Above(number) => write!(f, ">{number}"),
        }
    }
}

impl<'de> Deserialize<'de> for ScaleForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Any(()),
            Number(f32),
            Text(String),
        }
        let text = match Written::deserialize(deserializer)? {
            Written::Any(()) => return Ok(Self::Any),
            Written::Number(number) => return Ok(Self::Equal(number)),
            Written::Text(text) => text,
        };
        let number = |rest: &str| rest.parse().ok().filter(|number: &f32| number.is_finite());
        let at_least = text.strip_prefix(">=").and_then(number).map(Self::AtLeast);
        at_least.or_else(|| text.strip_prefix('>').and_then(number).map(Self::Above)).ok_or_else(|| {
            serde::de::Error::custom("a scale is a number, null, or a text such as \">=1\" or \">1\"")
        })
    }
}

/// The scales of all axes, each as far as it is known; none if even their number is not.
type Scales = Vec<Option<f32>>;

impl Cx<'_> {
    /// Scales that are constant keep a node from being loaded, and sizes from every run; others are compared when it runs.
    pub(super) fn scales_unmet(
        &self,
        requires: &Requirements,
        name: &str,
        schema: &Schema,
    ) -> Option<String> {
        if requires.scales.is_empty() {
            return None;
        }
        let scales = self.scales(schema).filter(|scales| !scales.is_empty())?;
        let fits = |form: &Vec<ScaleForm>| {
            form.len() == scales.len() && form.iter().zip(&scales).all(|(form, &scale)| form.may_fit(scale))
        };
        let unmet = requires.scales.iter().find(|wanted| {
            let is_meant =
                self.has(&wanted.of, schema) && !(wanted.if_resized && self.may_keep_sizes(&scales));
            let is_less = |least: f32| scales.iter().any(|&scale| !ScaleForm::AtLeast(least).may_fit(scale));
            let fits = wanted.forms.is_empty() || wanted.forms.iter().any(fits);
            is_meant && (!fits || wanted.least.is_some_and(is_less))
        })?;
        let mut with = self.shown_settings(&unmet.of, schema);
        if !with.is_empty() {
            with.push_str(" and ");
        }
        let found = listed(scales.iter().map(|scale| scale.map_or(ScaleForm::Any, ScaleForm::Equal)));
        let mut all: Vec<String> = unmet.forms.iter().map(|form| listed(form.iter().copied())).collect();
        all.extend(unmet.least.map(|least| format!("scales of at least {least}")));
        Some(format!("no {name} with {with}scales {found}, only {}", all.join(" or ")))
    }

    /// Returns `true` unless a size is known to change, and none to become 0.
    fn may_keep_sizes(&self, scales: &Scales) -> bool {
        let record = self.model.node(self.node);
        let dims = |value: Option<ValueId>| {
            let ty = self.types.type_of(self.model, value?)?;
            Some(ty.shape()?.dims().iter().map(|dim| dim.known()).collect::<Vec<_>>())
        };
        let (from, to) = (dims(record.input(0)), dims(record.outputs().first().copied().flatten()));
        let at = |dims: &Option<Vec<Option<i64>>>, axis: usize| *dims.as_ref()?.get(axis)?;
        let mut changes = false;
        for (axis, scale) in scales.iter().enumerate() {
            let (from, to) = (at(&from, axis), at(&to, axis));
            if to.map_or_else(|| scale.is_none_or(|scale| scale < 1.0), |to| to == 0) {
                return true;
            }
            // Every size but 0 changes then.
            let is_doubled = || scale.is_some_and(|scale| scale >= 2.0);
            changes |= from.zip(to).map_or_else(is_doubled, |(from, to)| from != to);
        }
        !changes
    }

    /// The scales of all axes, as constants state them.
    fn scales(&self, schema: &Schema) -> Option<Scales> {
        if let Some(scales) = self.attribute(self.node, "scales") {
            return Some(scales.as_floats()?.iter().copied().map(Some).collect());
        }
        let scales = self.constant_operand(schema, "scales").filter(|scales| !scales.is_empty());
        if let Some(scales) = scales {
            #[allow(clippy::cast_possible_truncation, reason = "scales have the type float")]
            return self.on_all_axes(scales.into_iter().map(|scale| Some(scale as f32)).collect());
        }
        let sizes = self.is_always_run.then(|| self.constant_operand(schema, "sizes"))??;
        if sizes.is_empty() {
            return None;
        }
        self.scales_of_sizes(&sizes)
    }

    /// What sizes of a result are for the sizes of the operand. With a policy, one scale is that of all axes.
    fn scales_of_sizes(&self, sizes: &[f64]) -> Option<Scales> {
        let axes = self.axes();
        let dims = self.operand_dims();
        let dim_of = |place: usize| {
            let axis = match &axes {
                Some(axes) => at(*axes.get(place)?, dims.as_ref()?.len())?,
                None => place,
            };
            (*dims.as_ref()?.get(axis)?).filter(|&dim| dim > 0)
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "as runtimes divide")]
        let scale = |(place, &size): (usize, &f64)| Some(size as f32 / dim_of(place)? as f32);
        let mut scales: Scales = sizes.iter().enumerate().map(scale).collect();
        let policy = self.attribute(self.node, "keep_aspect_ratio_policy").and_then(|policy| policy.as_str());
        if let Some(policy) = policy.filter(|&policy| policy != "stretch") {
            let known: Option<Vec<f32>> = scales.iter().copied().collect();
            // Axes from the end are not scaled by some runtimes.
            let is_from_end = axes.as_ref().is_some_and(|axes| axes.iter().any(|&axis| axis < 0));
            let common = known.filter(|_| !is_from_end).and_then(|known| match policy {
                "not_larger" => known.into_iter().reduce(f32::min),
                "not_smaller" => known.into_iter().reduce(f32::max),
                _ => None,
            });
            scales.fill(common);
        }
        self.on_all_axes(scales)
    }

    /// The scales of the axes that a node names, among those of all axes.
    fn on_all_axes(&self, found: Scales) -> Option<Scales> {
        let Some(axes) = self.axes() else { return Some(found) };
        let rank = self.operand_dims()?.len();
        let mut scales = vec![Some(1.0); rank];
        for (axis, scale) in axes.into_iter().zip(found) {
            *scales.get_mut(at(axis, rank)?)? = scale;
        }
        Some(scales)
    }

    fn axes(&self) -> Option<Vec<i64>> {
        Some(self.attribute(self.node, "axes")?.as_ints()?.to_vec())
    }

    /// The sizes of the first operand, each as far as it is known.
    fn operand_dims(&self) -> Option<Vec<Option<i64>>> {
        let ty = self.types.type_of(self.model, self.model.node(self.node).input(0)?)?;
        Some(ty.shape()?.dims().iter().map(|dim| dim.known()).collect())
    }

    /// The elements of an operand by its name, if it is a constant.
    fn constant_operand(&self, schema: &Schema, name: &str) -> Option<Vec<f64>> {
        let index = schema.inputs().iter().position(|formal| formal.name == name)?;
        let value = self.model.node(self.node).input(index)?;
        let of_node =
            self.model.value(value).producer().and_then(|node| self.model.node(node).constant_tensor());
        let tensor = of_node.or_else(|| self.model.constant_tensor(value).cloned())?;
        Some(tensor.iter_f64(&NoData).ok()?.collect())
    }
}

/// The place of an axis among those of a rank.
fn at(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok()
}

fn listed(scales: impl Iterator<Item = ScaleForm>) -> String {
    format!("[{}]", scales.map(|scale| scale.to_string()).collect::<Vec<_>>().join(", "))
}
