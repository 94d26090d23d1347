//! The types that type constraints speak of.
//!
//! A type string spells a scalar inside a map or sequence in two ways, `map(int64, float)` and `map(int64,tensor(float))`,
//! which are the same type in a model. Here both become one type, so a set never holds a type twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::facts::Facts;
use super::names::constant;

/// The element types in the order of their codes, which begin with 1.
const ELEMENTS: [&str; 28] = [
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
    "float6e2m3",
    "float6e3m2",
];

/// The variants of `ElemType`, in the same order.
const VARIANTS: [&str; 28] = [
    "Float",
    "Uint8",
    "Int8",
    "Uint16",
    "Int16",
    "Int32",
    "Int64",
    "String",
    "Bool",
    "Float16",
    "Double",
    "Uint32",
    "Uint64",
    "Complex64",
    "Complex128",
    "Bfloat16",
    "Float8E4M3Fn",
    "Float8E4M3Fnuz",
    "Float8E5M2",
    "Float8E5M2Fnuz",
    "Uint4",
    "Int4",
    "Float4E2M1",
    "Float8E8M0",
    "Uint2",
    "Int2",
    "Float6E2M3",
    "Float6E3M2",
];

/// A parsed type; the derived order is the order of the generated table. Elements are positions in [`ELEMENTS`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Tensor(usize),
    SparseTensor(usize),
    Sequence(Box<Form>),
    Optional(Box<Form>),
    Map(usize, Box<Form>),
}

impl Form {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let unknown = || format!("`{text}` is not a type: extend the generator");
        let Some((head, rest)) = text.split_once('(') else {
            return element(text).map(Self::Tensor);
        };
        let body = rest.strip_suffix(')').ok_or_else(unknown)?;
        Ok(match head {
            "tensor" => Self::Tensor(element(body)?),
            "sparse_tensor" => Self::SparseTensor(element(body)?),
            "seq" => Self::Sequence(Box::new(Self::parse(body)?)),
            "optional" => Self::Optional(Box::new(Self::parse(body)?)),
            "map" => {
                let (key, value) = body.split_once(',').ok_or_else(unknown)?;
                Self::Map(element(key)?, Box::new(Self::parse(value)?))
            }
            _ => return Err(unknown()),
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Tensor(elem) => format!("tensor({})", ELEMENTS[*elem]),
            Self::SparseTensor(elem) => format!("sparse_tensor({})", ELEMENTS[*elem]),
            Self::Sequence(inner) => format!("seq({})", inner.text()),
            Self::Optional(inner) => format!("optional({})", inner.text()),
            Self::Map(key, value) => format!("map({},{})", ELEMENTS[*key], value.text()),
        }
    }

    fn rust(&self) -> String {
        match self {
            Self::Tensor(elem) => format!("F::Tensor(E::{})", VARIANTS[*elem]),
            Self::SparseTensor(elem) => format!("F::SparseTensor(E::{})", VARIANTS[*elem]),
            Self::Sequence(inner) => format!("F::Sequence(&{})", inner.rust()),
            Self::Optional(inner) => format!("F::Optional(&{})", inner.rust()),
            Self::Map(key, value) => format!("F::Map(E::{}, &{})", VARIANTS[*key], value.rust()),
        }
    }
}

fn element(text: &str) -> Result<usize, String> {
    let text = text.trim();
    ELEMENTS.iter().position(|&name| name == text).ok_or_else(|| format!("`{text}` is not an element type"))
}

/// All types and type sets of the facts.
pub(super) struct Types {
    forms: Vec<Form>,
    sets: BTreeMap<String, (usize, u128)>,
    distinct: Vec<u128>,
}

impl Types {
    /// Collects the types of all sets, of the formals that name a type, and `further` ones.
    pub(super) fn of<'a>(
        facts: &'a Facts,
        further: impl Iterator<Item = &'a String>,
    ) -> Result<Self, String> {
        let mut forms: BTreeSet<Form> = (0..ELEMENTS.len()).map(Form::Tensor).collect();
        for text in facts.core.type_sets.values().flatten().chain(further) {
            forms.insert(Form::parse(text)?);
        }
        for schema in &facts.core.schemas {
            let is_variable =
                |text: &str| schema.constraints.iter().any(|constraint| constraint.variable == text);
            for formal in
                schema.inputs.iter().chain(&schema.outputs).filter(|formal| !is_variable(&formal.ty))
            {
                forms.insert(Form::parse(&formal.ty)?);
            }
        }
        if forms.len() > 128 {
            return Err("more than 128 types: widen `TypeSet`".to_owned());
        }
        let mut types =
            Self { forms: forms.into_iter().collect(), sets: BTreeMap::new(), distinct: Vec::new() };
        for (key, texts) in &facts.core.type_sets {
            let bits = types.bits(texts)?;
            types.sets.insert(key.clone(), (0, bits));
        }
        let distinct: BTreeSet<(u32, u128)> =
            types.sets.values().map(|&(_, bits)| (bits.count_ones(), bits)).collect();
        types.distinct = distinct.into_iter().map(|(_, bits)| bits).collect();
        for (index, bits) in types.sets.values_mut() {
            *index = types.distinct.iter().position(|other| other == bits).unwrap_or_default();
        }
        Ok(types)
    }

    /// The index of a type.
    pub(super) fn id(&self, text: &str) -> Result<usize, String> {
        let form = Form::parse(text)?;
        self.forms.binary_search(&form).map_err(|_| format!("the type `{text}` was not collected"))
    }

    /// The set of some types, as bits by index.
    pub(super) fn bits(&self, texts: &[String]) -> Result<u128, String> {
        texts.iter().try_fold(0, |bits, text| Ok(bits | 1_u128 << self.id(text)?))
    }

    /// The index of the type set with the given key in the facts.
    pub(super) fn set(&self, key: &str) -> Result<usize, String> {
        self.sets.get(key).map(|&(index, _)| index).ok_or_else(|| format!("there is no type set `{key}`"))
    }

    /// The file `types.rs`.
    pub(super) fn source(&self) -> String {
        let mut out = String::from(
            "use onnx_types::ElemType as E;\n\nuse crate::typeset::{TypeForm as F, TypeSet};\n\n",
        );
        out.push_str("/// All types that schemas speak of, with their spelling; dense tensors first, in the order of the codes.\n");
        let _ = writeln!(out, "pub(crate) static TYPES: [(F, &str); {}] = [", self.forms.len());
        for form in &self.forms {
            let _ = writeln!(out, "({}, {:?}),", form.rust(), form.text());
        }
        out.push_str("];\n\n/// The distinct type sets.\n");
        let _ = writeln!(out, "pub(crate) static TYPE_SETS: [TypeSet; {}] = [", self.distinct.len());
        for &bits in &self.distinct {
            let (low, high) = (bits as u64, (bits >> 64) as u64);
            let _ = writeln!(out, "TypeSet::from_words([{low:#x}, {high:#x}]),");
        }
        out.push_str("];\n");
        out
    }
}

/// The variant name of an enumeration of the facts: `SPARSE_TENSOR` is `SparseTensor`.
pub(super) fn variant(text: &str) -> String {
    constant(text)
        .split('_')
        .map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            format!("{first}{}", rest.to_lowercase())
        })
        .collect()
}
