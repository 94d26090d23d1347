//! `MatMulNBits` of onnxruntime: products with weights in blocks of 4 or 8 bits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_eval::compare::Noise;
use onnx_ir::{AttrValue, Callee, Model, NodeId, OpsetImport, Position, ValueId};
use onnx_schema::{Registry, op};
use onnx_types::tensor::{DataSource, NoData, Tensor, filled, require_memory};
use onnx_types::{ElemType, Execution};

use crate::edits::{
    add_constant, erase_unused_initializers, nodes_outside_functions, substitute, write_types,
};
use crate::weights::{
    Format, NoScale, QuantizeError, QuantizedWeight, Reading, ReadingError, WeightReport, dense_constant,
};

/// The domain of the operator.
const DOMAIN: &str = "com.microsoft";

/// Settings of [`quantize_blocks`].
#[derive(Clone)]
#[non_exhaustive]
pub struct BlockOptions<'a> {
    /// Number of elements that share a scale: a power of two of at least 16. Default: 32.
    pub block: usize,
    /// Whether blocks have no zero points.
    pub symmetric: bool,
    /// Nodes that stay. Default: none.
    pub except: &'a [NodeId],
    /// The operators that are known. By default those of ONNX.
    pub registry: &'a Registry,
    /// Source of external weights. By default there is none.
    pub data: &'a dyn DataSource,
    /// Limits, and what ends the work early.
    pub execution: Execution,
}

impl Default for BlockOptions<'_> {
    fn default() -> Self {
        Self {
            block: 32,
            symmetric: false,
            except: &[],
            registry: Registry::STANDARD,
            data: &NoData,
            execution: Execution::DEFAULT,
        }
    }
}

onnx_types::option_setters! {
    BlockOptions<'a> {
        with_block => block: usize,
        with_symmetric => symmetric: bool,
        with_except => except: &'a [NodeId],
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

impl fmt::Debug for BlockOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockOptions")
            .field("block", &self.block)
            .field("symmetric", &self.symmetric)
            .finish_non_exhaustive()
    }
}

/// Makes `MatMulNBits` of each `MatMul` of `float` with a constant matrix. Codes are unsigned: signed types have the middle as zero. Tensors
/// are read one at a time. The model is unchanged after an error.
///
/// # Errors
///
/// Returns an error if the type does not have 4 or 8 bits, the size of a block is not a power of two of at least 16, or a weight cannot be
/// read.
pub fn quantize_blocks(
    model: &mut Model,
    to: ElemType,
    options: &BlockOptions<'_>,
) -> Result<WeightReport, QuantizeError> {
    let (unsigned, is_signed) = match to {
        ElemType::Uint4 => (ElemType::Uint4, false),
        ElemType::Int4 => (ElemType::Uint4, true),
        ElemType::Uint8 => (ElemType::Uint8, false),
        ElemType::Int8 => (ElemType::Uint8, true),
        _ => return Err(QuantizeError::Type(to)),
    };
    let format = Format::of(unsigned).ok_or(QuantizeError::Type(to))?;
    if !options.block.is_power_of_two() || !(16..=1 << 16).contains(&options.block) {
        return Err(QuantizeError::BlockOfProduct(options.block));
    }
    let mut result = model.clone();
    let except: std::collections::HashSet<NodeId> = options.except.iter().copied().collect();
    let mut report = WeightReport::of(Vec::new(), Vec::new());
    // Products with one weight share its blocks.
    let mut known: HashMap<ValueId, Option<Placed>, RandomState> = HashMap::default();
    for node in nodes_outside_functions(model).into_iter().filter(|node| !except.contains(node)) {
        options.execution.interrupt.check()?;
        let record = model.node(node);
        let is_product =
            record.is(op::MAT_MUL) && matches!(model.callee(node, options.registry), Callee::Standard(_));
        let (Some(_), Some(b)) = (record.input(0), record.input(1)) else { continue };
        let Some(tensor) = dense_constant(model, b).filter(|tensor| is_product && tensor.rank() == 2) else {
            continue;
        };
        if let Entry::Vacant(entry) = known.entry(b) {
            let name = model.str(model.value(b).name()).to_owned();
            let symmetric = is_signed || options.symmetric;
            let reading = Reading { data: options.data, interrupt: &options.execution.interrupt };
            let packed = pack(tensor, &format, options.block, symmetric, reading);
            let packed = match packed.map_err(|error| error.of(&name))? {
                Some(Ok(packed)) => {
                    report.weights.push(packed.weight(name.clone(), tensor));
                    Some(Placed::new(&mut result, &name, packed)?)
                }
                Some(Err(reason)) => {
                    report.stay.push((name, reason));
                    None
                }
                None => None,
            };
            entry.insert(packed);
        }
        if let Some(Some(placed)) = known.get(&b) {
            placed.multiply(&mut result, node)?;
        }
    }
    if !report.weights.is_empty() {
        import(&mut result);
        erase_unused_initializers(&mut result);
        write_types(&mut result, options.registry, options.data, &options.execution);
    }
    *model = result;
    Ok(report)
}

/// Imports the operators of onnxruntime, if the model does not.
fn import(model: &mut Model) {
    let domain = model.intern(DOMAIN);
    let is_imported = model.info().opset_imports.iter().any(|import| import.domain() == domain);
    if !is_imported {
        model.info_mut().opset_imports.push(OpsetImport::new(domain, 1));
    }
}

/// A matrix as the operator takes it: the columns one after the other.
struct Packed {
    rows: i64,
    columns: i64,
    bits: i64,
    block: i64,
    codes: Tensor,
    scales: Tensor,
    zeros: Option<Tensor>,
    sums: Noise,
}

impl Packed {
    fn weight(&self, name: String, before: &Tensor) -> QuantizedWeight {
        let parts = [Some(&self.codes), Some(&self.scales), self.zeros.as_ref()];
        let snr = self.sums.ratio().unwrap_or(f64::NEG_INFINITY);
        QuantizedWeight::new(name, before, parts.into_iter().flatten(), (self.sums.max_error, snr))
    }
}

/// Quantizes a matrix, or returns why it gets no scale; `None` if it is empty.
fn pack(
    tensor: &Tensor,
    format: &Format,
    block: usize,
    symmetric: bool,
    Reading { data, interrupt }: Reading<'_>,
) -> Result<Option<Result<Packed, NoScale>>, ReadingError> {
    let view = tensor.view::<f32>(data)?;
    let numbers = view.to_slice()?;
    let &[rows, columns] = tensor.dims() else { return Ok(None) };
    let (height, width) = (rows as usize, columns as usize);
    if numbers.is_empty() {
        return Ok(None);
    }
    if let Some(reason) = no_scale(&numbers, format, symmetric) {
        return Ok(Some(Err(reason)));
    }
    let bits = format.elem.bits().unwrap_or(8) as usize;
    let blocks = height.div_ceil(block);
    let mut codes = filled(0_u8, width * blocks * block * bits / 8)?;
    let mut scales = filled(0.0_f32, width * blocks)?;
    let zero_bytes = (blocks * bits).div_ceil(8);
    let mut zeros = filled(0_u8, width * zero_bytes)?;
    require_memory::<f32>(scales.len())?;
    let mut sums = Noise::default();
    // Rows in their order: a walk down the columns would wait for memory at each element.
    for (index, rows) in numbers.chunks(width * block).enumerate() {
        interrupt.check()?;
        let ends = ends(rows, width).into_iter();
        let parameters: Vec<(f32, f32)> = ends.map(|ends| format.parameters(ends, symmetric)).collect();
        for (column, &(scale, zero)) in parameters.iter().enumerate() {
            if let Some(place) = scales.get_mut(column * blocks + index) {
                *place = scale;
            }
            put(&mut zeros, column * zero_bytes * 8 + index * bits, zero as u8);
        }
        for (place, row) in rows.chunks(width).enumerate() {
            for (column, (&number, &(scale, zero))) in row.iter().zip(&parameters).enumerate() {
                let code = format.quantize(number, scale, zero);
                sums.add(f64::from(number), f64::from((code - zero) * scale));
                put(&mut codes, ((column * blocks + index) * block + place) * bits, code as u8);
            }
        }
    }
    view.release(data);
    let blob = (block * bits / 8) as i64;
    let zeros = match symmetric {
        true => None,
        false => Some(Tensor::from_raw(ElemType::Uint8, [columns, zero_bytes as i64], zeros)?.held(data)),
    };
    Ok(Some(Ok(Packed {
        rows,
        columns,
        bits: bits as i64,
        block: block as i64,
        codes: Tensor::from_raw(ElemType::Uint8, [columns, blocks as i64, blob], codes)?.held(data),
        scales: Tensor::from_slice([columns, blocks as i64], &scales)?.held(data),
        zeros,
        sums,
    })))
}

/// Why some numbers get no scale.
fn no_scale(numbers: &[f32], format: &Format, symmetric: bool) -> Option<NoScale> {
    if numbers.iter().any(|number| !number.is_finite()) {
        return Some(NoScale::NotFinite);
    }
    let ends = ends(numbers, 1).first().copied().unwrap_or_default();
    (!format.has_scale(ends, symmetric)).then_some(NoScale::TooSmall)
}

/// The least and the greatest number of each column.
fn ends(rows: &[f32], width: usize) -> Vec<(f32, f32)> {
    let mut ends = vec![(f32::INFINITY, f32::NEG_INFINITY); width];
    for row in rows.chunks(width) {
        for (ends, &number) in ends.iter_mut().zip(row) {
            *ends = (ends.0.min(number), ends.1.max(number));
        }
    }
    ends
}

/// Sets a code at a bit, which is 0 before.
fn put(bytes: &mut [u8], bit: usize, code: u8) {
    if let Some(byte) = bytes.get_mut(bit / 8) {
        *byte |= code << (bit % 8);
    }
}

/// The operands and attributes of the products with a matrix.
struct Placed {
    operands: Vec<ValueId>,
    attributes: [(&'static str, i64); 4],
}

impl Placed {
    /// Adds the blocks of a matrix to a model.
    fn new(model: &mut Model, name: &str, packed: Packed) -> Result<Self, QuantizeError> {
        let codes = add_constant(model, &format!("{name}_quantized"), packed.codes)?;
        let mut operands = vec![codes, add_constant(model, &format!("{name}_scale"), packed.scales)?];
        if let Some(zeros) = packed.zeros {
            operands.push(add_constant(model, &format!("{name}_zero_point"), zeros)?);
        }
        let attributes =
            [("K", packed.rows), ("N", packed.columns), ("bits", packed.bits), ("block_size", packed.block)];
        Ok(Self { operands, attributes })
    }

    /// Puts a `MatMulNBits` in the place of a node.
    fn multiply(&self, model: &mut Model, node: NodeId) -> Result<(), QuantizeError> {
        // The result of another product that was replaced is another value by now.
        let Some(a) = model.node(node).input(0) else { return Ok(()) };
        let attributes = self.attributes.map(|(name, number)| (model.intern(name), number));
        let old = model.node(node).output(0);
        let mut build = model.build_at(Position::Before(node));
        let mut call =
            build.call(DOMAIN, "MatMulNBits", std::iter::once(a).chain(self.operands.iter().copied()));
        for (name, number) in attributes {
            call = call.attr(name, AttrValue::Int(number));
        }
        let new = call.output()?;
        match old {
            Some(old) => Ok(substitute(model, node, old, new)?),
            None => Ok(model.erase_node(node)?),
        }
    }
}
