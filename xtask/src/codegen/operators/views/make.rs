//! The builders: a function for each operator, and methods for what is not required.

use std::fmt::Write as _;

use super::{Attribute, Operator, Place, Role, attr_constant, identifier, input_index, snake};

/// The order in which a builder takes required attributes of one kind: the specification does not number attributes, and
/// the order of their names would put `else_branch` before `then_branch`. Builders of all other operators take at most one
/// required attribute of a kind, so no order of arguments compiles but the right one.
pub(super) const ATTRIBUTE_ORDER: [(&str, &[&str]); 5] = [
    ("If", &["then_branch", "else_branch"]),
    ("LinearAttention", &["q_num_heads", "kv_num_heads"]),
    (
        "TfIdfVectorizer",
        &["mode", "min_gram_length", "max_gram_length", "max_skip_count", "ngram_counts", "ngram_indexes"],
    ),
    (
        "TreeEnsemble",
        &[
            "nodes_splits",
            "nodes_featureids",
            "nodes_modes",
            "nodes_truenodeids",
            "nodes_falsenodeids",
            "nodes_trueleafs",
            "nodes_falseleafs",
            "tree_roots",
            "leaf_targetids",
            "leaf_weights",
        ],
    ),
    ("Momentum", &["alpha", "beta", "norm_coefficient", "mode"]),
];

/// Attributes that are the number of an element type, which builders take as the type.
const ELEMENT_TYPES: [&str; 6] =
    ["to", "dtype", "output_dtype", "stash_type", "softmax_precision", "precision"];

impl Operator<'_> {
    /// Fails if several required attributes have one kind, and [`ATTRIBUTE_ORDER`] does not say in which order.
    pub(super) fn check_attribute_order(&self) -> Result<(), String> {
        let Some(newest) = self.newest().filter(|schema| !schema.deprecated) else { return Ok(()) };
        let row = ATTRIBUTE_ORDER.iter().find(|(op, _)| *op == self.name);
        let required: Vec<&Attribute> = newest.attributes.iter().filter(|formal| formal.required).collect();
        for formal in &required {
            let is_listed = row.is_some_and(|(_, names)| names.contains(&snake(&formal.name).as_str()));
            let of_kind = required.iter().filter(|other| other.kind == formal.kind).count();
            if of_kind > 1 && !is_listed {
                return Err(format!(
                    "{} has several required attributes of the kind {}: `ATTRIBUTE_ORDER` must order them",
                    self.name, formal.kind
                ));
            }
        }
        Ok(())
    }

    pub(super) fn write_make(&self, out: &mut String) {
        let Some(newest) = self.newest() else { return };
        let (mut arguments, mut sets) = (String::new(), String::new());
        let mut setters = String::new();
        for role in &self.roles {
            let name = identifier(&role.name);
            let (ty, set) = self.setter(role, &name);
            let is_declared =
                |place: Option<&(u16, Place)>| place.is_some_and(|(_, place)| *place != Place::None);
            let is_argument = is_declared(role.places.last())
                && match (role.places.last(), role.input, role.attribute) {
                    (Some((_, Place::Input(_))), Some(formal), _) => match formal.option.as_deref() {
                        None => true,
                        Some("Variadic") => formal.min_arity.is_none_or(|count| count > 0),
                        Some(_) => false,
                    },
                    (Some((_, Place::Attr(_))), _, Some(attribute)) => attribute.required,
                    _ => false,
                };
            if is_argument {
                let _ = write!(arguments, ", {name}: {ty}");
                let _ = writeln!(sets, "{};", set.replace("self.raw", "make.raw"));
            } else {
                let _ = writeln!(
                    setters,
                    "/// Sets `{}`.\n#[inline]\npub fn {name}(mut self, {name}: {ty}) -> Self {{ {set}; self }}\n",
                    role.name
                );
            }
        }
        if !setters.is_empty() {
            let _ = writeln!(out, "impl Make<'_, '_, {}> {{\n{setters}}}\n", self.name);
        }
        let function = identifier(&snake(newest.op.as_str()));
        let (bind, make) = if sets.is_empty() {
            ("", "Make::new(build)")
        } else {
            ("let mut make = Make::new(build);", "make")
        };
        let _ = writeln!(
            out,
            "/// Begins a node that calls `{0}`.\n#[inline]\npub fn {function}<'a, 'b>(build: &'b mut Builder<'a>{arguments}) -> Make<'a, 'b, {0}> {{\n{bind}\n{sets}{make}\n}}\n",
            self.name
        );
    }

    /// The type of a setter's argument, and the statement that sets it.
    fn setter(&self, role: &Role<'_>, name: &str) -> (String, String) {
        let (plain, upper) = (&role.name, role.name.to_uppercase());
        let variadic = role.input.is_some_and(|formal| formal.option.as_deref() == Some("Variadic"));
        if role.attribute.is_none() {
            if variadic {
                let set = format!("self.raw.inputs_from({}, {name})", input_index(role));
                return ("impl IntoIterator<Item = ValueId>".to_owned(), set);
            }
            let set = if self.is_irregular(role) {
                format!("self.raw.param({plain:?}, {}::{upper}, Arg::Value({name}))", self.name)
            } else {
                format!("self.raw.input({}, Some({name}))", input_index(role))
            };
            return ("ValueId".to_owned(), set);
        }
        if self.is_irregular(role) {
            let set = format!("self.raw.param({plain:?}, {}::{upper}, {name}.into())", self.name);
            return ("impl Into<Arg>".to_owned(), set);
        }
        let Some(attribute) = role.attribute else { return Default::default() };
        let (ty, value) = match attribute.kind.as_str() {
            "INT" if ELEMENT_TYPES.contains(&attribute.name.as_str()) => {
                ("ElemType", format!("AttrValue::Int(i64::from({name}.code()))"))
            }
            "INT" => ("i64", format!("AttrValue::Int({name})")),
            "FLOAT" => ("f32", format!("AttrValue::Float({name})")),
            "STRING" => ("&str", format!("AttrValue::from({name})")),
            "INTS" => ("&[i64]", format!("AttrValue::from({name})")),
            "FLOATS" => ("&[f32]", format!("AttrValue::Floats({name}.to_vec())")),
            "STRINGS" => ("&[&str]", format!("crate::make::strings({name})")),
            "TENSOR" => ("Tensor", format!("AttrValue::from({name})")),
            "SPARSE_TENSOR" => {
                ("SparseTensor", format!("AttrValue::SparseTensor(std::sync::Arc::new({name}))"))
            }
            "GRAPH" => ("GraphId", format!("AttrValue::Graph({name})")),
            _ => ("Type", format!("AttrValue::Type(std::sync::Arc::new({name}))")),
        };
        let constant = attr_constant(&attribute.name);
        (ty.to_owned(), format!("self.raw.attribute({plain:?}, {constant}, {value})"))
    }
}
