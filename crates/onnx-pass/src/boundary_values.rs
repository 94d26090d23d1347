//! What is likely to separate the sides of a claim: numbers and strings that occur in it, and what is close to them, and the
//! types between which it converts numbers.

use onnx_ir::{AttrValue, Model, NodeId};
use onnx_schema::traits::newest;
use onnx_schema::{Traits, attr, op};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{ElemClass, ElemType, Symbol};

use crate::equivalence::Equivalence;
#[cfg(not(target_family = "wasm"))]
use crate::patterns;
use crate::sample::SMALL;
use crate::sweeps::Table;

/// Maximum number of points of a class. More would be sampled too rarely.
const MAX_POINTS: usize = 48;

/// Attributes with smaller numbers are axes and modes.
const LEAST_SIZE: u64 = 6;

/// Elements of longer constants are weights rather than thresholds.
const MAX_ELEMENTS: u64 = 16;

/// Longer strings are data rather than words and patterns.
const MAX_TEXT: usize = 96;

/// Maximum number of strings.
const MAX_TEXTS: usize = 256;

/// Attributes whose value is the type of the results.
const TYPES: [Symbol; 3] = [attr::TO, attr::DTYPE, attr::OUTPUT_DTYPE];

/// Sampling points by the class of inputs that they are for.
#[derive(Default)]
pub(crate) struct Points {
    pub(crate) floats: Vec<f64>,
    /// Those numbers that occur in the claim, of floats and integers: all but 0 and 1.
    pub(crate) constants: Vec<f64>,
    pub(crate) integers: Vec<i64>,
    pub(crate) strings: Vec<String>,
    /// The types to which the claim converts numbers.
    pub(crate) types: Vec<ElemType>,
    /// Whether the cost of the claim grows faster than its sizes.
    pub(crate) is_expensive: bool,
    /// Whether results are sizes or positions of elements.
    pub(crate) has_positions: bool,
    /// Whether these are positions of least elements.
    pub(crate) has_least: bool,
    /// Whether an attribute is a number of elements that is greater than small sizes, such as the extent of a window.
    pub(crate) has_large_attribute: bool,
}

impl Points {
    /// The points of a claim: of initializers, `Constant` nodes, and float attributes, which are bounds and thresholds.
    pub(crate) fn of(eq: &Equivalence) -> Self {
        let mut points = Self::default();
        for input in eq.inputs() {
            if let Some(constant) = eq.constant(input) {
                points.add_tensor(constant);
            }
        }
        let model = eq.model();
        for graph in model.all_graphs() {
            for value in model.initializers(graph) {
                if let Some(tensor) = model.constant_tensor(value) {
                    points.add_tensor(tensor);
                }
            }
            for node in model.nodes(graph) {
                points.add_node(model, node);
            }
        }
        points.add_extents_of_weights(eq);
        points.add_types(eq);
        points.add_constants();
        points.add_multiples(eq);
        points.add_ranges(eq);
        points.add_neighbors();
        points
    }

    /// The extents of the windows of convolutions, which weights give where the attribute is omitted.
    fn add_extents_of_weights(&mut self, eq: &Equivalence) {
        let model = eq.model();
        let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        let has_weights = |traits: &Traits| traits.window_weights().is_some();
        if nodes.any(|node| newest(model.node(node).op()).is_some_and(has_weights)) {
            for constant in eq.inputs().into_iter().filter_map(|input| eq.constant(input)) {
                constant.dims().iter().skip(2).for_each(|&size| self.add_size(size));
            }
        }
    }

    /// The types of inputs that a node names as the type of its result by an operand.
    fn add_types(&mut self, eq: &Equivalence) {
        let model = eq.model();
        let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        let names_by_operand = [op::CAST_LIKE, op::QUANTIZE_LINEAR, op::DEQUANTIZE_LINEAR];
        if nodes.any(|node| names_by_operand.contains(&model.node(node).op())) {
            for input in eq.inputs() {
                let elem = eq.constant(input).map(Tensor::elem);
                let elem = elem.or_else(|| model.ty(input).map(onnx_types::Type::elem));
                elem.into_iter().for_each(|elem| self.add_type(elem));
            }
        }
    }

    /// Multiples of what divides an axis: blocks, and the product of the sizes of a `Reshape`. The quotient is more than 1 there.
    fn add_multiples(&mut self, eq: &Equivalence) {
        const MOST: i64 = 1 << 10;
        let model = eq.model();
        let mut divisors: Vec<i64> = Vec::new();
        for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
            let blocks = model.node(node).attribute(attr::BLOCKSIZE).and_then(|block| block.as_int());
            divisors.extend(blocks.and_then(|block| block.checked_mul(block)));
        }
        let constants = eq.inputs().into_iter().filter_map(|input| eq.constant(input));
        let inside = model.all_graphs().flat_map(|graph| model.initializers(graph));
        let inside = inside.filter_map(|value| model.constant_tensor(value));
        for tensor in constants.chain(inside) {
            let is_shape = tensor.elem() == ElemType::Int64 && tensor.rank() == 1;
            if is_shape && tensor.element_count().is_some_and(|count| count <= MAX_ELEMENTS) {
                let sizes = tensor.iter_i64(&NoData).into_iter().flatten().filter(|&size| size > 1);
                divisors.extend(sizes.into_iter().try_fold(1_i64, i64::checked_mul));
            }
        }
        for divisor in divisors.into_iter().filter(|divisor| (2..=MOST).contains(divisor)) {
            self.add_integer(divisor * 2);
            self.add_integer(divisor * 3);
        }
    }

    /// The greatest numbers up to which the types of a claim have all, as sizes and indices are converted to them. What is two more
    /// is odd, so that they do not have it.
    fn add_ranges(&mut self, eq: &Equivalence) {
        let model = eq.model();
        let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
        let mut all = model.all_graphs().flat_map(|graph| model.nodes(graph));
        self.has_least = all.any(|node| model.node(node).is(op::ARG_MIN));
        self.has_positions =
            nodes.any(|node| newest(model.node(node).op()).is_some_and(Traits::makes_positions));
        if !self.has_positions {
            return;
        }
        for elem in self.types.clone() {
            let number = match elem {
                ElemType::Int8 => (1 << 7) - 1,
                ElemType::Uint8 | ElemType::Bfloat16 => (1 << 8) - 1,
                ElemType::Float16 => (1 << 11) - 1,
                ElemType::Int16 => (1 << 15) - 1,
                ElemType::Uint16 => (1 << 16) - 1,
                _ => continue,
            };
            self.add_integer(number);
        }
    }

    /// The numbers that are added so far, with multiples of which quotients, products and comparisons jump.
    fn add_constants(&mut self) {
        let integers = self.integers.iter().map(|&number| number as f64);
        let all = self.floats.iter().copied().chain(integers).map(f64::abs);
        self.constants = all.filter(|&number| number.is_normal() && number != 1.0).collect();
    }

    /// Sums, differences, products and quotients of two numbers of the claim of any types, as elements of floats and of integers, and
    /// what integers are combined to bit by bit: arithmetic with one of them is what a comparison with the other one tells apart.
    pub(crate) fn combinations(&self) -> [Table; 2] {
        const MOST: usize = 10;
        let mut constants: Vec<f64> = Vec::new();
        for &constant in &self.constants {
            if constants.len() < MOST && !constants.contains(&constant) {
                constants.push(constant);
            }
        }
        let pairs = constants.iter().flat_map(|&one| constants.iter().map(move |&other| (one, other)));
        let all = pairs.flat_map(|(one, other)| [one / other, one * other, one - other, one + other]);
        let mut floats: Vec<f64> = all.flat_map(|number| [number, -number]).collect();
        floats.retain(|number| number.is_finite());
        floats.sort_by(f64::total_cmp);
        floats.dedup();
        let is_integer = |number: &f64| number.fract() == 0.0 && number.abs() < i64::MAX as f64;
        let mut integers: Vec<i64> =
            floats.iter().filter(|number| is_integer(number)).map(|&x| x as i64).collect();
        let own = constants.iter().filter(|number| is_integer(number)).map(|&number| number as i64);
        let own: Vec<i64> = own.collect();
        integers.extend(own.iter().flat_map(|one| own.iter().map(move |other| one ^ other)));
        integers.sort_unstable();
        integers.dedup();
        [Table::Floats(floats), Table::Integers(integers)]
    }

    fn add_type(&mut self, elem: ElemType) {
        if !self.types.contains(&elem) {
            self.types.push(elem);
        }
    }

    /// The successor and the predecessor of each number, after all numbers.
    fn add_neighbors(&mut self) {
        for number in self.floats.clone() {
            self.add_float(number + 1.0);
            self.add_float(number - 1.0);
        }
        for number in self.integers.clone() {
            self.add_integer(number.saturating_add(1));
            self.add_integer(number.saturating_sub(1));
        }
        for text in self.strings.clone().into_iter().take(MAX_POINTS) {
            self.add_variations(&text);
        }
    }

    /// What a pattern matches, and texts of more parts than are split off.
    fn add_texts(&mut self, model: &Model, node: NodeId) {
        let record = model.node(node);
        let text = |name: Symbol| record.attribute(name).and_then(|value| value.as_str().map(str::to_owned));
        // Where patterns are not evaluated, none is needed.
        #[cfg(not(target_family = "wasm"))]
        for matched in text(attr::PATTERN).iter().flat_map(|pattern| patterns::near(pattern)) {
            self.add_text(&matched);
        }
        if !record.is(op::STRING_SPLIT) {
            return;
        }
        let most = record.attribute(attr::MAXSPLIT).and_then(|value| value.as_int()).unwrap_or(0);
        let delimiter =
            text(attr::DELIMITER).filter(|text| !text.is_empty()).unwrap_or_else(|| " ".to_owned());
        for parts in [1, 2, 3, 6, most, most.saturating_add(1), most.saturating_add(2)] {
            let parts = usize::try_from(parts.clamp(1, 24)).unwrap_or(1);
            let words: Vec<&str> = ["a", "B", "cc", ""].into_iter().cycle().take(parts).collect();
            let text = words.join(&delimiter);
            self.add_text(&text);
            self.add_text(&format!("{delimiter}{text}{delimiter}"));
        }
    }

    /// Strings that differ from one in case, at an end, or by a separator; those that a pattern or a list of words may or may
    /// not match.
    fn add_variations(&mut self, text: &str) {
        let swapped = text.chars().map(|letter| match letter.is_uppercase() {
            true => letter.to_lowercase().to_string(),
            false => letter.to_uppercase().to_string(),
        });
        let rest: String = text.chars().skip(1).collect();
        let first: String = text.chars().take(1).collect();
        for changed in [
            text.to_lowercase(),
            text.to_uppercase(),
            first.to_uppercase() + &rest,
            swapped.collect(),
            rest.clone(),
            format!("{text}a"),
            format!("a{text}b"),
            format!("{text}{text}"),
            format!("{text}a{text}{text}B"),
        ] {
            self.add_text(&changed);
        }
    }

    fn add_node(&mut self, model: &Model, node: NodeId) {
        let record = model.node(node);
        let is_constant = record.is(op::CONSTANT);
        self.is_expensive |= newest(record.op()).is_some_and(Traits::contracts);
        for attribute in record.attributes() {
            if TYPES.contains(&attribute.name())
                && let Some(elem) =
                    attribute.as_int().and_then(|code| ElemType::from_code(i32::try_from(code).ok()?))
            {
                self.add_type(elem);
            }
            let is_type = TYPES.contains(&attribute.name());
            match attribute.value() {
                AttrValue::String(text) => self.add_bytes(text),
                AttrValue::Strings(texts) => texts.iter().for_each(|text| self.add_bytes(text)),
                AttrValue::Float(number) => self.add_float(f64::from(*number)),
                AttrValue::Tensor(tensor) => self.add_tensor(tensor),
                AttrValue::Floats(numbers) if numbers.len() as u64 <= MAX_ELEMENTS => {
                    numbers.iter().for_each(|&number| self.add_float(f64::from(number)));
                }
                AttrValue::Int(number) if is_constant => self.add_integer(*number),
                AttrValue::Ints(numbers) if is_constant && numbers.len() as u64 <= MAX_ELEMENTS => {
                    numbers.iter().for_each(|&number| self.add_integer(number));
                }
                AttrValue::Int(number) if !is_constant && !is_type => self.add_size(*number),
                AttrValue::Ints(numbers) if !is_constant => {
                    numbers.iter().for_each(|&number| self.add_size(number));
                }
                _ => {}
            }
        }
        self.add_extents(model, node);
        self.add_texts(model, node);
    }

    /// A number of elements or a diagonal: small ones are axes and modes.
    fn add_size(&mut self, number: i64) {
        if number.unsigned_abs() >= LEAST_SIZE {
            self.add_integer(number);
            self.has_large_attribute |= number.unsigned_abs() > SMALL.unsigned_abs();
        }
    }

    /// The elements between the first and the last that a window of a node sees, along each axis.
    fn add_extents(&mut self, model: &Model, node: NodeId) {
        let record = model.node(node);
        let ints = |name| record.attribute(name).and_then(|value| value.as_ints());
        let (Some(kernel), Some(dilations)) = (ints(attr::KERNEL_SHAPE), ints(attr::DILATIONS)) else {
            return;
        };
        for (&size, &dilation) in kernel.iter().zip(dilations) {
            self.add_size(size.saturating_sub(1).saturating_mul(dilation).saturating_add(1));
        }
    }

    fn add_tensor(&mut self, tensor: &Tensor) {
        if tensor.element_count().is_none_or(|count| count > MAX_ELEMENTS) {
            return;
        }
        match tensor.elem().class() {
            ElemClass::Float => {
                let elements = tensor.iter_f64(&NoData).into_iter().flatten();
                elements.for_each(|number| self.add_float(number));
            }
            ElemClass::String => {
                let texts = tensor.string_bytes().into_iter().flatten();
                texts.for_each(|text| self.add_bytes(text));
            }
            ElemClass::Int | ElemClass::Uint => {
                let elements = tensor.iter_i64(&NoData).into_iter().flatten();
                elements.for_each(|number| self.add_integer(number));
            }
            _ => {}
        }
    }

    fn add_bytes(&mut self, text: &[u8]) {
        let Ok(text) = std::str::from_utf8(text) else { return };
        self.add_text(text);
        // The words of a pattern.
        text.split(|letter: char| !letter.is_alphanumeric()).for_each(|word| self.add_text(word));
    }

    fn add_text(&mut self, text: &str) {
        let is_new = self.strings.iter().all(|other| other != text);
        if is_new && text.len() <= MAX_TEXT && self.strings.len() < MAX_TEXTS {
            self.strings.push(text.to_owned());
        }
    }

    fn add_float(&mut self, number: f64) {
        if number.is_finite() && self.floats.len() < MAX_POINTS && !self.floats.contains(&number) {
            self.floats.push(number);
        }
    }

    fn add_integer(&mut self, number: i64) {
        if self.integers.len() < MAX_POINTS && !self.integers.contains(&number) {
            self.integers.push(number);
        }
    }
}
