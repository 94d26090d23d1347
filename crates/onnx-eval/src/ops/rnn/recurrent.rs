//! `RNN`, `GRU` and `LSTM`: an input `[T, B, I]`, or `[B, T, I]` with `layout`, goes through one or two directions of cells.
//!
//! A row ends at its length: what follows is 0 in the first output, and the last states are those of the last step that
//! counts, the initial ones for a row of length 0. The other direction begins at the end of each row. `clip` bounds the
//! arguments of the gates, and not the state of an `LSTM` that its last function takes, as in runtimes. `input_forget` makes the forget gate `1 - i`. Names of functions may be in any case;
//! parameters are taken in order, by the functions that have them. The products are summed in the type of the elements, or in
//! 32 bits for narrower ones.

use onnx_schema::{attr, op};

use super::cells::{Activation, Cell, activations};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::gemm::{Matrix, Product, products, work};
use crate::number::{Elems, Float, by_float};
use crate::registry::{OpKernels, Takes, eval, since};

pub(super) const RNN: OpKernels =
    eval(op::RNN, &[since(1, |cx| recurrent(cx, Kind::Rnn))]).open().takes(&[(4, Takes::ONE)]);
pub(super) const GRU: OpKernels =
    eval(op::GRU, &[since(1, |cx| recurrent(cx, Kind::Gru))]).open().takes(&[(4, Takes::ONE)]);
pub(super) const LSTM: OpKernels =
    eval(op::LSTM, &[since(1, |cx| recurrent(cx, Kind::Lstm))]).open().takes(&[(4, Takes::ONE)]);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    const fn gates(self) -> usize {
        match self {
            Self::Rnn => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }

    const fn functions(self) -> &'static [&'static [u8]] {
        match self {
            Self::Rnn => &[b"Tanh"],
            Self::Gru => &[b"Sigmoid", b"Tanh"],
            Self::Lstm => &[b"Sigmoid", b"Tanh", b"Tanh"],
        }
    }
}

/// The sizes and attributes.
struct Layer {
    kind: Kind,
    steps: usize,
    batch: usize,
    inputs: usize,
    hidden: usize,
    /// Whether each direction goes from the end to the beginning.
    reverse: Vec<bool>,
    batch_first: bool,
    /// The number of steps of each row.
    lengths: Vec<usize>,
    functions: Vec<Activation>,
    forgets_input: bool,
    resets_after: bool,
}

impl Layer {
    fn read(cx: &Cx<'_, '_>, kind: Kind) -> Outcome<Self> {
        let (x, w, r) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
        let batch_first = cx.since() >= 14 && cx.flag(attr::LAYOUT)?;
        let reverse = match cx.text(attr::DIRECTION)? {
            // The default of the first version of `GRU` lacks a letter.
            "forward" | "foward" | "" => vec![false],
            "reverse" => vec![true],
            "bidirectional" => vec![false, true],
            _ => return Err(Stop::failed("`direction` names no direction")),
        };
        let (&[first, second, inputs], Some(&hidden)) = (&x.dims[..], r.dims.get(2)) else {
            return Err(Stop::failed("the input or the weights have not three axes"));
        };
        let (batch, steps) = if batch_first { (first, second) } else { (second, first) };
        let rows = hidden.checked_mul(kind.gates()).ok_or(Stop::Limit("run_elements"))?;
        let directions = reverse.len();
        if w.dims[..] != [directions, rows, inputs] || r.dims[..] != [directions, rows, hidden] {
            return Err(Stop::failed(format_args!(
                "the weights have the sizes {:?} and {:?} instead of {:?} and {:?}",
                w.dims,
                r.dims,
                [directions, rows, inputs],
                [directions, rows, hidden]
            )));
        }
        if cx.int(attr::HIDDEN_SIZE)?.is_some_and(|size| usize::try_from(size) != Ok(hidden)) {
            return Err(Stop::failed(format_args!(
                "the weights are for a hidden size of {hidden}, not for `hidden_size`"
            )));
        }
        let given = cx.texts(attr::ACTIVATIONS)?.filter(|names| !names.is_empty());
        let names = given.unwrap_or_else(|| kind.functions().repeat(directions));
        let names = names.get(..kind.functions().len() * directions);
        let names = names.ok_or_else(|| Stop::failed("`activations` names too few functions"))?;
        let [alphas, betas] = [attr::ACTIVATION_ALPHA, attr::ACTIVATION_BETA].map(|name| cx.floats(name));
        let clip = cx.float(attr::CLIP)?.map_or(f64::INFINITY, f64::from);
        if clip.is_nan() || clip < 0.0 {
            return Err(Stop::failed("`clip` is negative"));
        }
        let (alphas, betas) = (alphas?.unwrap_or_default(), betas?.unwrap_or_default());
        Ok(Self {
            kind,
            steps,
            batch,
            inputs,
            hidden,
            reverse,
            batch_first,
            lengths: lengths(cx, steps, batch)?,
            functions: activations(names, &alphas, &betas, clip)?,
            forgets_input: kind == Kind::Lstm && cx.flag(attr::INPUT_FORGET)?,
            resets_after: kind == Kind::Gru && cx.flag(attr::LINEAR_BEFORE_RESET)?,
        })
    }

    /// The sizes of the last states.
    fn last(&self) -> [usize; 3] {
        let (batch, directions) = (self.batch, self.reverse.len());
        if self.batch_first { [batch, directions, self.hidden] } else { [directions, batch, self.hidden] }
    }

    /// The offset of the last state of a row.
    fn state(&self, direction: usize, row: usize) -> usize {
        let directions = self.reverse.len();
        let at = if self.batch_first { row * directions + direction } else { direction * self.batch + row };
        at * self.hidden
    }

    /// The sizes of all states.
    fn all(&self) -> [usize; 4] {
        let (steps, batch, directions) = (self.steps, self.batch, self.reverse.len());
        if self.batch_first {
            [batch, steps, directions, self.hidden]
        } else {
            [steps, directions, batch, self.hidden]
        }
    }

    /// The offset of the state of a row after a step.
    fn place(&self, direction: usize, row: usize, step: usize) -> usize {
        let directions = self.reverse.len();
        let at = if self.batch_first {
            (row * self.steps + step) * directions + direction
        } else {
            (step * directions + direction) * self.batch + row
        };
        at * self.hidden
    }
}

/// The number of steps of each row.
fn lengths(cx: &Cx<'_, '_>, steps: usize, batch: usize) -> Outcome<Vec<usize>> {
    let Some(given) = cx.optional_list(4)? else {
        return Ok(vec![steps; batch]);
    };
    let lengths: Vec<usize> = given.iter().filter_map(|&length| usize::try_from(length).ok()).collect();
    if given.len() != batch || lengths.len() != batch || lengths.iter().any(|&length| length > steps) {
        return Err(Stop::failed(format_args!(
            "`sequence_lens` has {} elements, it must have {batch} of at most {steps} steps",
            given.len()
        )));
    }
    Ok(lengths)
}

/// The elements of an optional input, which must have these sizes.
fn part<T: Float>(cx: &mut Cx<'_, '_>, index: usize, dims: &[usize]) -> Outcome<Option<Elems<T>>> {
    let Some(operand): Option<Operand> = cx.optional(index)? else { return Ok(None) };
    if operand.dims[..] != *dims {
        return Err(Stop::failed(format_args!("input {index} has the wrong sizes")));
    }
    cx.read::<T>(&operand).map(Some)
}

fn recurrent(cx: &mut Cx<'_, '_>, kind: Kind) -> Outcome {
    let x = cx.tensor(0)?;
    // The rows are counted before lists of their number are made.
    let dims: Dims = x.dims.iter().map(|&size| size.max(1)).collect();
    cx.work(cx.count(&dims)?)?;
    let layer = Layer::read(cx, kind)?;
    by_float!(x.elem, T => run::<T>(cx, &x, &layer))
}

fn run<T: Float + Product>(cx: &mut Cx<'_, '_>, x: &Operand, layer: &Layer) -> Outcome {
    let (directions, hidden, gates) = (layer.reverse.len(), layer.hidden, layer.kind.gates() * layer.hidden);
    let (weights, recurrence) = (cx.tensor(1)?, cx.tensor(2)?);
    let (inputs, weights) = (cx.read::<T>(x)?, cx.read::<T>(&weights)?);
    let recurrence = cx.read::<T>(&recurrence)?;
    let biases = part::<T>(cx, 3, &[directions, 2 * gates])?;
    let is_lstm = layer.kind == Kind::Lstm;
    let peepholes = if is_lstm { part::<T>(cx, 7, &[directions, 3 * hidden])? } else { None };
    let last = layer.last();
    let states = cx.count(&last)?;
    let mut state = match part::<T>(cx, 5, &last)? {
        Some(state) => state.into_vec(),
        None => cx.filled(states, T::ZERO)?,
    };
    let mut memory = match if is_lstm { part::<T>(cx, 6, &last)? } else { None } {
        Some(memory) => memory.into_vec(),
        None => cx.filled(if is_lstm { states } else { 0 }, T::ZERO)?,
    };
    let mut all = cx.filled(cx.count(&layer.all())?, T::ZERO)?;
    let functions = layer.kind.functions().len();
    for direction in 0..directions {
        let own = |elements: &[T], size: usize| -> Vec<T> {
            elements.get(direction * size..(direction + 1) * size).unwrap_or_default().to_vec()
        };
        let (bias, peepholes) = (
            biases.as_ref().map(|bias| own(bias, 2 * gates)).unwrap_or_default(),
            peepholes.as_ref().map(|weights| own(weights, 3 * hidden)).unwrap_or_default(),
        );
        let cell = Cell {
            hidden,
            functions: &layer.functions[direction * functions..(direction + 1) * functions],
            bias: &bias,
            peepholes: &peepholes,
        };
        let weights = &weights[direction * gates * layer.inputs..(direction + 1) * gates * layer.inputs];
        let recurrence = &recurrence[direction * gates * hidden..(direction + 1) * gates * hidden];
        let rows = layer.steps * layer.batch;
        let mut driven = cx.filled(cx.count(&[rows, gates])?, T::ZERO)?;
        work(cx, rows, layer.inputs, gates)?;
        let weights = Matrix::new(weights, gates, layer.inputs).transposed();
        products(cx, &mut vec![(Matrix::new(&inputs, rows, layer.inputs), weights, &mut driven)])?;
        let mut pass = Pass { layer, cell, direction, driven: &driven, recurrence };
        pass.run(cx, &mut state, &mut memory, &mut all)?;
    }
    cx.put::<T>(0, x.elem, &layer.all(), all)?;
    cx.put::<T>(1, x.elem, &last, state)?;
    if is_lstm { cx.put::<T>(2, x.elem, &last, memory) } else { Ok(()) }
}

/// One direction.
struct Pass<'a, T> {
    layer: &'a Layer,
    cell: Cell<'a, T>,
    direction: usize,
    /// The products of the input with the weights, for all steps and rows.
    driven: &'a [T],
    recurrence: &'a [T],
}

impl<T: Float + Product> Pass<'_, T> {
    fn run(&mut self, cx: &mut Cx<'_, '_>, state: &mut [T], memory: &mut [T], all: &mut [T]) -> Outcome {
        let (layer, hidden) = (self.layer, self.layer.hidden);
        let (batch, gates) = (layer.batch, layer.kind.gates() * hidden);
        let (mut own, mut kept) = (cx.filled(batch * hidden, T::ZERO)?, Vec::new());
        for row in 0..batch {
            let start = layer.state(self.direction, row);
            own[row * hidden..(row + 1) * hidden].copy_from_slice(&state[start..start + hidden]);
            kept.extend(memory.get(start..start + hidden).unwrap_or_default());
        }
        let mut products = cx.filled(batch * gates, T::ZERO)?;
        let mut reset = cx.filled(batch * hidden, T::ZERO)?;
        let mut candidate = cx.filled(batch * hidden, T::ZERO)?;
        for step in 0..layer.steps {
            work(cx, batch, hidden, gates)?;
            cx.work(batch.saturating_mul(gates).saturating_mul(8))?;
            let weights = Matrix::new(self.recurrence, gates, hidden).transposed();
            T::product(Matrix::new(&own, batch, hidden), weights, &mut products, cx.poll())?;
            if layer.kind == Kind::Gru {
                self.gates(step, &own, &mut products, &mut reset);
                let state = if layer.resets_after { &own } else { &reset };
                let weights =
                    Matrix::new(&self.recurrence[2 * hidden * hidden..], hidden, hidden).transposed();
                T::product(Matrix::new(state, batch, hidden), weights, &mut candidate, cx.poll())?;
            }
            for row in 0..batch {
                let Some((at, x)) = self.input(row, step) else { continue };
                let place = row * hidden..(row + 1) * hidden;
                let (r, slot) = (&products[row * gates..(row + 1) * gates], &mut own[place.clone()]);
                match layer.kind {
                    Kind::Rnn => self.cell.rnn(x, r, slot),
                    Kind::Gru => self.cell.gru(x, r, &candidate[place], slot, layer.resets_after),
                    Kind::Lstm => self.cell.lstm(x, r, slot, &mut kept[place], layer.forgets_input),
                }
                let out = layer.place(self.direction, row, at);
                all[out..out + hidden].copy_from_slice(slot);
            }
        }
        for row in 0..batch {
            let start = layer.state(self.direction, row);
            state[start..start + hidden].copy_from_slice(&own[row * hidden..(row + 1) * hidden]);
            if let Some(memory) = memory.get_mut(start..start + hidden) {
                memory.copy_from_slice(&kept[row * hidden..(row + 1) * hidden]);
            }
        }
        Ok(())
    }

    /// The place of a step of a row in its sequence, and what comes from the input there; `None` after the end of the row.
    fn input(&self, row: usize, step: usize) -> Option<(usize, &[T])> {
        let layer = self.layer;
        let length = layer.lengths[row];
        if step >= length {
            return None;
        }
        let at = if layer.reverse[self.direction] { length - 1 - step } else { step };
        let line = if layer.batch_first { row * layer.steps + at } else { at * layer.batch + row };
        let gates = layer.kind.gates() * layer.hidden;
        Some((at, self.driven.get(line * gates..(line + 1) * gates)?))
    }

    fn gates(&self, step: usize, own: &[T], products: &mut [T], reset: &mut [T]) {
        let (hidden, gates) = (self.layer.hidden, self.layer.kind.gates() * self.layer.hidden);
        for row in 0..self.layer.batch {
            let Some((_, x)) = self.input(row, step) else { continue };
            let place = row * hidden..(row + 1) * hidden;
            let products = &mut products[row * gates..(row + 1) * gates];
            self.cell.gru_gates(x, products, &own[place.clone()], &mut reset[place]);
        }
    }
}
