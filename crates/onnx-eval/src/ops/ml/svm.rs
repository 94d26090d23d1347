//! `SVMClassifier` and `SVMRegressor`: support vectors, or a matrix of coefficients, for each row of features.
//!
//! The text does not define the scores; they follow libsvm, as in onnxruntime. With support vectors, there is a score for each
//! pair of classes `i < j`: the sum of the coefficients of both, times the kernel of the row and the vector, plus `rho` of the
//! pair. A score above 0 is a vote for `i`, otherwise for `j`; the class with most votes is chosen, the first one among equals.
//! With `prob_a`, the scores are probabilities of classes: those of pairs are the logistic function of `-(prob_a*score +
//! prob_b)`, and are coupled by the iteration of libsvm, which ends after at most `max(100, classes)` steps. The chosen class
//! is still that of the votes. Two classes have one pair with the score `s`; the scores are `-s` and `s`, and `LOGISTIC`
//! transforms them; the other transforms of one score are computed differently by engines and are unsupported.
//!
//! Without support vectors, the score of each class is a product of features and coefficients plus the first element of `rho`,
//! and the class with the greatest score is chosen. A regressor transforms its score, which onnxruntime leaves as it is; with
//! `one_class`, the score is 1 above 0, otherwise -1. Computed in `double` and rounded once.

use onnx_schema::{attr, domain, op};
use onnx_types::ElemType;

use super::like_input::doubles;
use super::scores::{Transform, logistic};
use super::{Labels, greatest, row, rows, transform};
use crate::cx::axes::size;
use crate::cx::{Cx, Outcome, Stop};
use crate::registry::{OpKernels, eval, since};

pub(super) const REGRESSOR: OpKernels = eval(op::SVM_REGRESSOR, &[since(1, regress)]).open().of(domain::ML);
pub(super) const CLASSIFIER: OpKernels =
    eval(op::SVM_CLASSIFIER, &[since(1, classify)]).open().of(domain::ML);

/// The kernel: a function of two vectors.
#[derive(Clone, Copy)]
enum Kernel {
    Linear,
    Polynomial,
    Radial,
    Sigmoid,
}

struct Machine {
    kernel: Kernel,
    gamma: f64,
    constant: f64,
    degree: f64,
    coefficients: Vec<f64>,
    vectors: Vec<f64>,
    rho: Vec<f64>,
}

impl Machine {
    fn read(cx: &Cx<'_, '_>) -> Outcome<Self> {
        let kernel = match cx.text(attr::KERNEL_TYPE)? {
            "LINEAR" | "" => Kernel::Linear,
            "POLY" => Kernel::Polynomial,
            "RBF" => Kernel::Radial,
            "SIGMOID" => Kernel::Sigmoid,
            _ => return Err(Stop::failed("attribute `kernel_type` names no kernel")),
        };
        let list = |name| -> Outcome<Vec<f64>> {
            Ok(cx.floats(name)?.unwrap_or_default().into_iter().map(f64::from).collect())
        };
        let (gamma, constant, degree) = match *list(attr::KERNEL_PARAMS)? {
            [] => (0.0, 0.0, 0.0),
            [gamma, constant, degree] => (gamma, constant, degree),
            _ => return Err(Stop::failed("`kernel_params` has not three elements")),
        };
        let (coefficients, vectors) = (list(attr::COEFFICIENTS)?, list(attr::SUPPORT_VECTORS)?);
        Ok(Self { kernel, gamma, constant, degree, coefficients, vectors, rho: list(attr::RHO)? })
    }

    fn kernel(&self, a: &[f64], b: &[f64]) -> f64 {
        let pairs = || a.iter().zip(b);
        let product = || pairs().map(|(a, b)| a * b).sum::<f64>();
        match self.kernel {
            Kernel::Linear => product(),
            Kernel::Polynomial => libm::pow(self.gamma * product() + self.constant, self.degree),
            Kernel::Radial => {
                let distance: f64 = pairs().map(|(a, b)| (a - b) * (a - b)).sum();
                libm::exp(-self.gamma * distance)
            }
            Kernel::Sigmoid => libm::tanh(self.gamma * product() + self.constant),
        }
    }

    fn rho(&self, index: usize) -> Outcome<f64> {
        self.rho.get(index).copied().ok_or_else(|| Stop::failed("`rho` has too few elements"))
    }
}

fn regress(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (count, features) = rows(&x)?;
    let machine = Machine::read(cx)?;
    let supports = size(cx.int_or(attr::N_SUPPORTS, 0)?)?;
    let is_linear = supports == 0;
    let fits = if is_linear {
        machine.coefficients.len() == features
    } else {
        machine.coefficients.len() == supports
            && Some(machine.vectors.len()) == supports.checked_mul(features)
    };
    if !fits {
        return Err(Stop::failed("the coefficients or the support vectors do not fit the features"));
    }
    let is_one_class = cx.flag(attr::ONE_CLASS)?;
    let (rho, transform) = (machine.rho(0)?, transform(cx)?);
    let elements = doubles(cx, &x)?;
    cx.work(x.count.saturating_mul(supports.max(1)))?;
    let mut out = cx.buffer::<f32>(count)?;
    for index in 0..count {
        cx.poll().step(features.saturating_mul(supports.max(1)))?;
        let values = row(&elements, index, features);
        let sum: f64 = if is_linear {
            values.iter().zip(&machine.coefficients).map(|(value, own)| value * own).sum()
        } else {
            let vectors = (0..supports).map(|at| row(&machine.vectors, at, features));
            vectors.zip(&machine.coefficients).map(|(vector, own)| own * machine.kernel(values, vector)).sum()
        };
        let mut score = [sum + rho];
        if is_one_class {
            score = [if score[0] > 0.0 { 1.0 } else { -1.0 }];
        }
        transform.apply(&mut score);
        out.push(score[0] as f32);
    }
    cx.put(0, ElemType::Float, &[count, 1], out)
}

/// The scores of a row, and the class that is chosen.
type Scores = (Vec<f64>, usize);

fn classify(cx: &mut Cx<'_, '_>) -> Outcome {
    let x = cx.tensor(0)?;
    let (count, features) = rows(&x)?;
    let labels = Labels::read(cx, attr::CLASSLABELS_INTS, attr::CLASSLABELS_STRINGS)?;
    let machine = Machine::read(cx)?;
    let transform = transform(cx)?;
    let pairs = Pairs::read(cx, &machine, labels.len(), features)?;
    let width = match &pairs {
        Some(pairs) if !pairs.is_probable() && labels.len() != 2 => labels.len() * (labels.len() - 1) / 2,
        _ => labels.len(),
    };
    if pairs.is_none() && Some(machine.coefficients.len()) != labels.len().checked_mul(features) {
        return Err(Stop::failed("the coefficients do not fit the features and classes"));
    }
    let elements = doubles(cx, &x)?;
    let each = machine.vectors.len().saturating_add(machine.coefficients.len());
    cx.work(count.saturating_mul(each.saturating_add(width)))?;
    let mut chosen = cx.buffer(count)?;
    let mut out = cx.buffer::<f32>(cx.count(&[count, width])?)?;
    for index in 0..count {
        cx.poll().step(each.saturating_add(width))?;
        let values = row(&elements, index, features);
        let (mut scores, class) = match &pairs {
            Some(pairs) => pairs.scores(cx, &machine, values)?,
            None => products(&machine, values, labels.len())?,
        };
        if let [score] = *scores {
            if !matches!(transform, Transform::None | Transform::Logistic) {
                return Err(Stop::unsupported("this transform of a single score"));
            }
            scores = [-score, score].into();
        }
        if let ([score, other], Transform::Logistic) = (&mut scores[..], transform) {
            (*score, *other) = (logistic(*score), logistic(*other));
        } else {
            transform.apply(&mut scores);
        }
        chosen.push(class);
        out.extend(scores.iter().map(|&score| score as f32));
    }
    labels.put(cx, &chosen)?;
    cx.put(1, ElemType::Float, &[count, width], out)
}

/// A score for each class.
fn products(machine: &Machine, values: &[f64], classes: usize) -> Outcome<Scores> {
    let rho = machine.rho(0)?;
    let own = (0..classes).map(|class| row(&machine.coefficients, class, values.len()));
    let scores: Vec<f64> =
        own.map(|own| own.iter().zip(values).map(|(own, value)| own * value).sum::<f64>() + rho).collect();
    let rounded: Vec<f32> = scores.iter().map(|&score| score as f32).collect();
    Ok((scores, greatest(&rounded)))
}

/// Support vectors of all classes, which are compared in pairs.
struct Pairs {
    /// The range of the vectors of each class.
    ranges: Vec<std::ops::Range<usize>>,
    vectors: usize,
    probabilities: [Vec<f32>; 2],
}

impl Pairs {
    fn read(cx: &Cx<'_, '_>, machine: &Machine, classes: usize, features: usize) -> Outcome<Option<Self>> {
        let (mut ranges, mut vectors) = (Vec::new(), 0_usize);
        for &count in &cx.ints(attr::VECTORS_PER_CLASS)?.unwrap_or_default() {
            let end = vectors.saturating_add(size(count)?);
            ranges.push(vectors..end);
            vectors = end;
        }
        if vectors == 0 {
            return Ok(None);
        }
        let probabilities =
            [cx.floats(attr::PROB_A)?.unwrap_or_default(), cx.floats(attr::PROB_B)?.unwrap_or_default()];
        let pairs = classes * (classes - 1) / 2;
        let fits = ranges.len() == classes
            && classes > 1
            && Some(machine.vectors.len()) == vectors.checked_mul(features)
            && Some(machine.coefficients.len()) == vectors.checked_mul(classes - 1)
            && machine.rho.len() == pairs
            && probabilities.iter().all(|list| list.is_empty() || list.len() == pairs)
            && probabilities[0].len() == probabilities[1].len();
        if !fits {
            return Err(Stop::failed("the lists about support vectors do not fit features and classes"));
        }
        Ok(Some(Self { ranges, vectors, probabilities }))
    }

    const fn is_probable(&self) -> bool {
        !self.probabilities[0].is_empty()
    }

    fn scores(&self, cx: &mut Cx<'_, '_>, machine: &Machine, values: &[f64]) -> Outcome<Scores> {
        let vectors = (0..self.vectors).map(|at| row(&machine.vectors, at, values.len()));
        let kernels: Vec<f64> = vectors.map(|vector| machine.kernel(values, vector)).collect();
        let part = |set: usize, class: usize| -> f64 {
            let range = self.ranges[class].clone();
            let own = row(&machine.coefficients, set, self.vectors).get(range.clone()).unwrap_or_default();
            own.iter().zip(kernels.get(range).unwrap_or_default()).map(|(own, kernel)| own * kernel).sum()
        };
        let classes = self.ranges.len();
        let mut votes = vec![0_u32; classes];
        let mut scores = Vec::with_capacity(machine.rho.len());
        for (i, j) in (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))) {
            let score = part(j - 1, i) + part(i, j) + machine.rho(scores.len())?;
            votes[if score > 0.0 { i } else { j }] += 1;
            scores.push(score);
        }
        let most = votes.iter().max().copied().unwrap_or(0);
        let class = votes.iter().position(|&count| count == most).unwrap_or(0);
        if self.is_probable() {
            scores = self.coupled(cx, &scores)?;
        }
        Ok((scores, class))
    }

    /// The probabilities of the classes, of the scores of pairs: the iteration of Wu, Lin and Weng.
    fn coupled(&self, cx: &mut Cx<'_, '_>, scores: &[f64]) -> Outcome<Vec<f64>> {
        let classes = self.ranges.len();
        let mut wins = vec![vec![0.0; classes]; classes];
        let all = (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j)));
        for (((i, j), score), (a, b)) in
            all.zip(scores).zip(self.probabilities[0].iter().zip(&self.probabilities[1]))
        {
            let chance = 1.0 - logistic(score * f64::from(*a) + f64::from(*b));
            wins[i][j] = chance.clamp(1e-7, 1.0 - 1e-7);
            wins[j][i] = 1.0 - wins[i][j];
        }
        let entry = |i: usize, j: usize| -> f64 {
            if i == j {
                (0..classes).filter(|&k| k != i).map(|k| wins[k][i] * wins[k][i]).sum()
            } else {
                -wins[j][i] * wins[i][j]
            }
        };
        let mut chances = vec![1.0 / classes as f64; classes];
        for _ in 0..classes.max(100) {
            cx.work(classes.saturating_mul(classes).saturating_mul(2))?;
            let mut products: Vec<f64> = (0..classes)
                .map(|i| chances.iter().enumerate().map(|(j, chance)| entry(i, j) * chance).sum())
                .collect();
            let mut total: f64 =
                chances.iter().zip(&products).map(|(chance, product)| chance * product).sum();
            if products.iter().all(|product| (product - total).abs() < 0.005 / classes as f64) {
                break;
            }
            for t in 0..classes {
                let own = entry(t, t);
                let change = (total - products[t]) / own;
                chances[t] += change;
                total =
                    (total + change * (change * own + 2.0 * products[t])) / ((1.0 + change) * (1.0 + change));
                for j in 0..classes {
                    products[j] = (products[j] + change * entry(t, j)) / (1.0 + change);
                    chances[j] /= 1.0 + change;
                }
            }
        }
        Ok(chances)
    }
}
