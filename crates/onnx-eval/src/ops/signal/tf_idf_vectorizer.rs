//! `TfIdfVectorizer`: of `[C]` or `[N, C]` words a count for each n-gram of the pool.
//!
//! The distance between consecutive words of an n-gram is 1, 2, … `max_skip_count + 1`, the same for all of them; an
//! n-gram of one word counts once. Weights belong to n-grams, in the order of the pool, as in the specification and
//! onnxruntime; the reference takes them by column. An n-gram that occurs twice in the pool counts for the last one.

use std::collections::HashMap;
use std::hash::Hash;

use bytes::Bytes;
use foldhash::fast::RandomState;
use onnx_schema::{attr, op};
use onnx_types::ElemType;

use crate::cx::{Cx, Operand, Outcome, Stop, axes};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::TF_IDF_VECTORIZER, &[since(9, vectorize)]);

/// The n-grams as a tree: the node behind a node and a word.
struct Pool<W> {
    next: HashMap<(usize, W), usize, RandomState>,
    /// The number of the n-gram that ends at each node.
    ends: Vec<Option<usize>>,
}

/// The attributes about lengths.
struct Lengths {
    least: usize,
    most: usize,
    distances: usize,
}

fn vectorize(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    if x.elem == ElemType::String {
        let pool = cx.texts(attr::POOL_STRINGS)?;
        let pool = pool.ok_or_else(|| Stop::failed("attribute `pool_strings` is missing"))?;
        let words = cx.units::<Bytes>(&x)?;
        let words: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        return counted(cx, &x, &pool, &words);
    }
    let pool = cx.ints(attr::POOL_INT64S)?;
    let pool = pool.ok_or_else(|| Stop::failed("attribute `pool_int64s` is missing"))?;
    let words = cx.read::<i64>(&x)?;
    counted(cx, &x, &pool, &words)
}

fn counted<W: Copy + Hash + Eq>(cx: &mut Cx<'_, '_>, x: &Operand, pool: &[W], words: &[W]) -> Outcome {
    let (rows, length) = match *x.dims {
        [length] => (1, length),
        [rows, length] => (rows, length),
        _ => return Err(Stop::failed("the input must have one axis or two")),
    };
    let given = |name| cx.int_or(name, 0).and_then(axes::size);
    let lengths = Lengths {
        least: given(attr::MIN_GRAM_LENGTH)?.max(1),
        most: given(attr::MAX_GRAM_LENGTH)?,
        // Distances greater than the length of a row do not occur.
        distances: given(attr::MAX_SKIP_COUNT)?.saturating_add(1).min(length.max(1)),
    };
    let (pool, grams) = read_pool(cx, pool, &lengths)?;
    let columns = axes::sizes(&cx.ints(attr::NGRAM_INDEXES)?.unwrap_or_default())?;
    if columns.len() < grams {
        return Err(Stop::failed(format_args!("there are {} indexes for {grams} n-grams", columns.len())));
    }
    let width = columns.iter().max().and_then(|&most| most.checked_add(1));
    let width = width.ok_or_else(|| Stop::failed("attribute `ngram_indexes` is empty"))?;
    let mut dims = x.dims.clone();
    if let Some(last) = dims.last_mut() {
        *last = width;
    }
    let count = cx.count(&dims)?;
    let mut out = cx.filled(count, 0.0_f32)?;
    let weight = weighting(cx)?;
    let mut hits = cx.filled(grams, 0_u32)?;
    for row in 0..rows {
        let words = words.get(row * length..(row + 1) * length).unwrap_or_default();
        cx.work(grams)?;
        hits.fill(0);
        count_row(cx, &pool, &lengths, words, &mut hits)?;
        for (gram, &hits) in hits.iter().enumerate().filter(|&(_, &hits)| hits > 0) {
            out[row * width + columns[gram]] += weight(gram, hits);
        }
    }
    cx.put(0, ElemType::Float, &dims, out)
}

/// Work of a lookup in a table.
const LOOKUP: usize = 8;

/// Counts the n-grams of a row.
fn count_row<W: Copy + Hash + Eq>(
    cx: &mut Cx<'_, '_>,
    pool: &Pool<W>,
    lengths: &Lengths,
    words: &[W],
    hits: &mut [u32],
) -> Outcome {
    let mut least = lengths.least;
    for distance in 1..=lengths.distances {
        for start in 0..words.len() {
            let (mut node, mut size) = (0, 1);
            for word in words.get(start..).unwrap_or_default().iter().step_by(distance) {
                cx.work(LOOKUP)?;
                if size > lengths.most {
                    break;
                }
                let Some(&next) = pool.next.get(&(node, *word)) else { break };
                node = next;
                if let Some(gram) = pool.ends[node].filter(|_| size >= least) {
                    hits[gram] = hits[gram].saturating_add(1);
                }
                size += 1;
            }
        }
        least = least.max(2);
        if least > lengths.most {
            break;
        }
    }
    Ok(())
}

/// Reads the n-grams of the pool, and returns their number with those that are too short or too long.
fn read_pool<W: Copy + Hash + Eq>(
    cx: &mut Cx<'_, '_>,
    words: &[W],
    lengths: &Lengths,
) -> Outcome<(Pool<W>, usize)> {
    cx.budget.allocate(words.len(), size_of::<((usize, W), usize, Option<usize>)>())?;
    let starts = axes::sizes(&cx.ints(attr::NGRAM_COUNTS)?.unwrap_or_default())?;
    let mut pool = Pool { next: HashMap::default(), ends: vec![None] };
    let mut grams = 0;
    for (index, &start) in starts.iter().enumerate() {
        let (size, end) = (index + 1, starts.get(index + 1).copied().unwrap_or(words.len()));
        let Some(part) = words.get(start..end) else {
            return Err(Stop::failed("attribute `ngram_counts` does not fit the pool"));
        };
        if !part.len().is_multiple_of(size) {
            return Err(Stop::failed(format_args!("the pool of {size}-grams ends within one")));
        }
        for gram in part.chunks(size) {
            if (lengths.least..=lengths.most).contains(&size) {
                let mut node = 0;
                for &word in gram {
                    let fresh = pool.ends.len();
                    node = *pool.next.entry((node, word)).or_insert(fresh);
                    if node == fresh {
                        pool.ends.push(None);
                    }
                }
                pool.ends[node] = Some(grams);
            }
            grams += 1;
        }
    }
    Ok((pool, grams))
}

/// The contribution of an n-gram with some hits to its column.
fn weighting(cx: &Cx<'_, '_>) -> Outcome<impl Fn(usize, u32) -> f32 + use<>> {
    let (is_weighted, is_counted) = match cx.text(attr::MODE)? {
        "TF" => (false, true),
        "IDF" => (true, false),
        "TFIDF" => (true, true),
        _ => return Err(Stop::failed("attribute `mode` names no mode")),
    };
    let weights = cx.floats(attr::WEIGHTS)?.unwrap_or_default();
    Ok(move |gram: usize, hits: u32| {
        let weight = if is_weighted { weights.get(gram).copied().unwrap_or(1.0) } else { 1.0 };
        if is_counted { weight * hits as f32 } else { weight }
    })
}
