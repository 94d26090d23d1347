//! Everything that is open, laid out from the inside out.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use onnx_diag::Severity;
use onnx_ir::ValueId;

use crate::layout::{BoxLayout, Size};
use crate::marks::{DifferenceMark, Marks};
use crate::scene::{Item, ItemKind, LevelId, Path, Scene, SceneLevel, TITLE};

/// Boxes that a picture has at most.
pub const MAX_DRAWN: usize = 200_000;
/// Depth of boxes in boxes that is opened at most.
const MOST_DEPTH: usize = 64;
/// Space around the contents of an open box.
const PADDING: f64 = 12.0;
/// Length of the ends of an edge that is cut.
const STUB: f64 = 14.0;
/// Height of a label, below which its edge begins, and of its base line.
const LABEL: f64 = 14.0;
const BASE_LINE: f64 = 11.0;

/// The paths of the boxes that are open.
pub type Open = BTreeSet<Path>;

/// The reason why a picture was not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DrawError {
    /// Too many boxes would be drawn.
    #[error("the picture would have more than {MAX_DRAWN} boxes; open fewer of them")]
    TooMany,
}

/// A box of a picture.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Drawn {
    /// The path of the box.
    pub path: Path,
    /// What it stands for.
    pub kind: ItemKind,
    /// The left side.
    pub x: f64,
    /// The upper side.
    pub y: f64,
    /// The size.
    pub size: Size,
    /// The first line.
    pub title: String,
    /// Further lines.
    pub lines: Vec<String>,
    /// `true` if it can be opened.
    pub can_open: bool,
    /// `true` if its contents are drawn.
    pub is_open: bool,
    /// Part of the largest cost of a drawn box, from 0 to 1; `None` if the cost is not known.
    pub cost: Option<f64>,
    /// The worst diagnostic in it.
    pub severity: Option<Severity>,
    /// How it differs from another model.
    pub difference: Option<DifferenceMark>,
    /// The outermost box that contains it, among those of the first level.
    pub scope: u32,
}

/// An edge of a picture, or a part of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Line {
    /// Points from top to bottom. Between points at the same place from the left it is straight, otherwise a curve.
    pub points: Vec<(f64, f64)>,
    /// The center of the base line of the label, and the label.
    pub label: Option<(f64, f64, String)>,
    /// `true` for an edge of a cycle, which points up.
    pub is_back: bool,
    /// `true` if an arrow is drawn at the end.
    pub has_arrow: bool,
    /// `true` for an end of an edge of which only the ends are drawn.
    pub is_cut: bool,
}

/// Boxes and lines with their places.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Picture {
    /// The size of everything.
    pub size: Size,
    /// The boxes; each one after the box that contains it.
    pub boxes: Vec<Drawn>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// An open level of a picture.
struct Instance {
    level: LevelId,
    path: Path,
    /// The open boxes of it, with their instances.
    open: HashMap<usize, usize>,
    layout: BoxLayout,
    sizes: Vec<Size>,
    origin: (f64, f64),
    /// The boxes that stand for values at its upper border, and at the lower one. They can be many.
    ports: [HashMap<ValueId, usize>; 2],
}

impl Instance {
    fn new(scene: &Scene, level: LevelId, path: Path) -> Self {
        let mut ports = [HashMap::new(), HashMap::new()];
        for (index, item) in scene.levels[level].items.iter().enumerate() {
            let side = match item.kind {
                ItemKind::Arriving | ItemKind::Input => 0,
                ItemKind::Leaving | ItemKind::Output => 1,
                _ => continue,
            };
            item.values.iter().for_each(|&value| _ = ports[side].entry(value).or_insert(index));
        }
        Self {
            level,
            path,
            open: HashMap::new(),
            layout: BoxLayout::default(),
            sizes: Vec::new(),
            origin: (0.0, 0.0),
            ports,
        }
    }
}

/// The place of the box that stands for a value at the border of an open level: the center, and the upper or lower side.
fn port_place(inner: &Instance, value: ValueId, is_leaving: bool) -> Option<(f64, f64)> {
    let index = *inner.ports[usize::from(is_leaving)].get(&value)?;
    let (spot, size) = (inner.layout.spots.get(index)?, inner.sizes.get(index)?);
    Some((spot.x + size.width / 2.0, if is_leaving { spot.y + size.height } else { spot.y }))
}

fn child(path: &[u32], item: usize) -> Path {
    let mut path = path.to_vec();
    path.push(u32::try_from(item).unwrap_or(u32::MAX));
    path
}

impl Scene {
    /// The boxes that can be open so that at most `count` boxes are drawn: outer ones first, then in the order of the graph.
    /// Inputs, outputs and places at borders do not count.
    #[must_use]
    pub fn opened(&self, count: usize) -> Open {
        let boxes = |level: &SceneLevel| level.items.iter().filter(|item| item.kind.is_box()).count();
        self.open_while(boxes, |total, more, _| total + more <= count)
    }

    /// All boxes up to a depth; 0 leaves all closed.
    ///
    /// # Errors
    ///
    /// Returns an error if more than [`MAX_DRAWN`] boxes would be drawn.
    pub fn opened_to(&self, depth: usize) -> Result<Open, DrawError> {
        let mut is_exceeded = false;
        let open = self.open_while(
            |level| level.items.len(),
            |total, more, box_depth| {
                is_exceeded |= box_depth <= depth && total + more > MAX_DRAWN;
                box_depth <= depth && !is_exceeded
            },
        );
        if is_exceeded { Err(DrawError::TooMany) } else { Ok(open) }
    }

    fn open_while(
        &self,
        count: impl Fn(&SceneLevel) -> usize,
        mut is_open: impl FnMut(usize, usize, usize) -> bool,
    ) -> Open {
        let mut open = Open::new();
        let mut total = count(&self.levels[0]);
        let mut queue: VecDeque<(LevelId, Path)> = VecDeque::from([(0, Vec::new())]);
        while let Some((level, path)) = queue.pop_front() {
            for (index, item) in self.levels[level].items.iter().enumerate() {
                let Some(inside) = item.inside.filter(|_| path.len() < MOST_DEPTH) else { continue };
                let more = count(&self.levels[inside]);
                if is_open(total, more, path.len() + 1) {
                    total += more;
                    let path = child(&path, index);
                    open.insert(path.clone());
                    queue.push_back((inside, path));
                }
            }
        }
        open
    }

    /// Draws the scene with some boxes open, without marks.
    ///
    /// # Errors
    ///
    /// Returns an error if more than [`MAX_DRAWN`] boxes would be drawn.
    pub fn picture(&self, open: &Open) -> Result<Picture, DrawError> {
        self.picture_with(open, &Marks::default())
    }

    /// Draws the scene with some boxes open. Paths of boxes that do not exist or cannot be opened have no effect.
    ///
    /// # Errors
    ///
    /// Returns an error if more than [`MAX_DRAWN`] boxes would be drawn.
    pub fn picture_with(&self, open: &Open, marks: &Marks) -> Result<Picture, DrawError> {
        let mut instances = self.instances(open)?;
        for index in (0..instances.len()).rev() {
            self.lay_out(&mut instances, index);
        }
        let mut picture = Picture::default();
        let totals = self.summary(marks);
        // Instances are sorted so that a box is drawn before what is in it.
        for index in 0..instances.len() {
            self.draw(&mut instances, index, &totals, &mut picture);
        }
        let most = picture.boxes.iter().filter(|drawn| !drawn.is_open).filter_map(|drawn| drawn.cost);
        let most = most.fold(0.0, f64::max);
        for drawn in &mut picture.boxes {
            drawn.cost = drawn.cost.map(|cost| if most > 0.0 { (cost / most).min(1.0) } else { 0.0 });
        }
        picture.size = instances.first().map(|instance| instance.layout.size).unwrap_or_default();
        Ok(picture)
    }

    /// The open levels, each after the level that contains it.
    fn instances(&self, open: &Open) -> Result<Vec<Instance>, DrawError> {
        let mut instances = vec![Instance::new(self, 0, Vec::new())];
        let mut total = self.levels[0].items.len();
        let mut next = 0;
        while let Some(instance) = instances.get(next) {
            let (level, path) = (instance.level, instance.path.clone());
            for (index, item) in self.levels[level].items.iter().enumerate() {
                let Some(inside) = item.inside.filter(|_| path.len() < MOST_DEPTH) else { continue };
                let path = child(&path, index);
                if open.contains(&path) {
                    total += self.levels[inside].items.len();
                    if total > MAX_DRAWN {
                        return Err(DrawError::TooMany);
                    }
                    let number = instances.len();
                    instances[next].open.insert(index, number);
                    instances.push(Instance::new(self, inside, path));
                }
            }
            next += 1;
        }
        Ok(instances)
    }

    fn lay_out(&self, instances: &mut [Instance], index: usize) {
        let instance = &instances[index];
        let open = &instance.open;
        let size = |item: usize| {
            let inner = &instances[*open.get(&item)?].layout.size;
            let height = inner.height + TITLE + 2.0 * PADDING;
            Some(Size { width: inner.width + 2.0 * PADDING, height })
        };
        let port = |item: usize, (edge, is_start): (&crate::scene::Edge, bool)| {
            let inner = &instances[*open.get(&item)?];
            let places = edge.values.iter().filter_map(|value| port_place(inner, *value, is_start));
            let (sum, count) = places.fold((0.0, 0_usize), |(sum, count), (x, _)| (sum + x, count + 1));
            (count > 0).then(|| sum / count as f64 - inner.layout.size.width / 2.0)
        };
        let (layout, sizes) = self.layout_with(instance.level, &size, &port);
        let instance = &mut instances[index];
        (instance.layout, instance.sizes) = (layout, sizes);
    }

    fn draw(&self, instances: &mut [Instance], index: usize, totals: &Summary, picture: &mut Picture) {
        let (origin, level) = (instances[index].origin, instances[index].level);
        for (at, item) in self.levels[level].items.iter().enumerate() {
            let spot = instances[index].layout.spots[at];
            let (x, y) = (origin.0 + spot.x, origin.1 + spot.y);
            let inner = instances[index].open.get(&at).copied();
            let size = instances[index].sizes[at];
            if let Some(inner) = inner {
                // The box can be wider than its contents.
                let slack = (size.width - instances[inner].layout.size.width) / 2.0;
                instances[inner].origin = (x + slack, y + TITLE + PADDING);
            }
            let path = child(&instances[index].path, at);
            let ((cost, severity), difference) = (totals.of(item), totals.difference(item));
            let scope = path.first().copied().unwrap_or(0);
            picture.boxes.push(Drawn {
                path,
                kind: item.kind,
                x,
                y,
                size,
                title: item.title.clone(),
                lines: item.lines.clone(),
                can_open: item.inside.is_some(),
                is_open: inner.is_some(),
                cost,
                severity,
                difference,
                scope,
            });
        }
        let instance = &instances[index];
        let edges = &self.levels[level].edges;
        let labeled = edges.iter().filter(|edge| edge.label.is_some()).map(|edge| edge.trunk).collect();
        for (number, edge) in edges.iter().enumerate() {
            self.edge(instances, instance, (number, edge, &labeled), &mut picture.lines);
        }
    }

    fn edge(
        &self,
        instances: &[Instance],
        instance: &Instance,
        (number, edge, labeled): (usize, &crate::scene::Edge, &HashSet<u32>),
        lines: &mut Vec<Line>,
    ) {
        let layout = &instance.layout;
        let (route, origin) = (&layout.routes[number], instance.origin);
        let at = |x: f64, y: f64| (origin.0 + x, origin.1 + y);
        let spot = |item: usize| (layout.spots[item], instance.sizes[item]);
        let ((from, from_size), (to, _)) = (spot(edge.from), spot(edge.to));
        let (start_y, end_y) = (from.y + from_size.height, to.y);
        let label = edge.label.clone().map(|text| {
            let (x, y) = at(route.start, start_y + BASE_LINE);
            (x, y, text)
        });
        let has_arrow = !self.levels[instance.level].items[edge.to].kind.is_port();
        let line = |points, label, is_cut| Line { points, label, is_back: route.is_back, has_arrow, is_cut };
        let below = start_y + if labeled.contains(&edge.trunk) { LABEL } else { 0.0 };
        if route.is_cut || route.is_back {
            // Only the ends are drawn.
            let start = vec![at(route.start, below), at(route.start, below + STUB)];
            lines.push(Line { has_arrow: false, ..line(start, label, true) });
            lines.push(line(vec![at(route.end, end_y - STUB), at(route.end, end_y)], None, true));
        } else {
            let mut points = vec![at(route.start, below)];
            points.push(at(route.start, below.max(layout.bands[from.rank].bottom + 2.0)));
            for &(rank, x) in &route.via {
                points.push(at(x, layout.bands[rank].top));
                points.push(at(x, layout.bands[rank].bottom));
            }
            points.push(at(route.end, end_y));
            lines.push(line(points, label, false));
        }
        // From the border of an open box to its ports, and back.
        for (item, is_start, x, y) in
            [(edge.from, true, route.start, start_y), (edge.to, false, route.end, end_y)]
        {
            let Some(inner) = instance.open.get(&item).and_then(|&inner| instances.get(inner)) else {
                continue;
            };
            let border = at(x, y);
            let mut drawn = BTreeSet::new();
            for &value in &edge.values {
                let Some((port_x, port_y)) = port_place(inner, value, is_start) else { continue };
                let slack = (instance.sizes[item].width - inner.layout.size.width) / 2.0;
                let spot = layout.spots[item];
                let port = at(spot.x + slack + port_x, spot.y + TITLE + PADDING + port_y);
                if !drawn.insert((port.0.to_bits(), port.1.to_bits())) {
                    continue;
                }
                let points = if is_start { vec![port, border] } else { vec![border, port] };
                lines.push(Line { has_arrow: false, ..line(points, None, false) });
            }
        }
    }

    /// The costs and diagnostics of all boxes. Those of the body of a function count where it is first called.
    #[must_use]
    pub fn summary(&self, marks: &Marks) -> Summary {
        let mut summary =
            Summary { levels: vec![Totals::default(); self.levels.len()], marks: marks.clone() };
        // The level in a box has a larger number than that of the box.
        for level in (0..self.levels.len()).rev() {
            let mut sum = Totals::default();
            let mut boxes = self.levels[level].items.iter().filter(|item| item.kind.is_box());
            let first = boxes.next().and_then(|item| summary.difference(item));
            let is_same = boxes.all(|item| summary.difference(item) == first);
            for (index, item) in self.levels[level].items.iter().enumerate() {
                let (cost, severity) = summary.of(item);
                let is_first =
                    item.inside.is_none_or(|inside| self.levels[inside].parent == Some((level, index)));
                sum.cost += cost.filter(|_| is_first).unwrap_or(0.0);
                sum.severity = worse(sum.severity, severity);
                // A box is added or removed if all of it is.
                let difference = if is_same { first } else { Some(DifferenceMark::Changed) };
                sum.difference = sum.difference.or_else(|| summary.difference(item).and(difference));
            }
            summary.levels[level] = sum;
        }
        summary
    }
}

/// What a level has in all.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    cost: f64,
    severity: Option<Severity>,
    difference: Option<DifferenceMark>,
}

/// Costs, diagnostics and differences of boxes.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    levels: Vec<Totals>,
    marks: Marks,
}

impl Summary {
    /// The cost of a box, if it is known, and the worst diagnostic in it.
    #[must_use]
    pub fn of(&self, item: &Item) -> (Option<f64>, Option<Severity>) {
        let inside = item.inside.and_then(|level| self.levels.get(level).copied());
        let own = match item.kind {
            ItemKind::Node(node) => (
                self.marks.cost.get(node).copied(),
                self.marks.findings.get(node).map(|&(severity, _)| severity),
            ),
            _ => (None, None),
        };
        let inner = inside.map(|inside| inside.cost).filter(|&cost| cost > 0.0);
        // The cost of a node with graphs includes them.
        (own.0.or(inner), worse(own.1, inside.and_then(|inside| inside.severity)))
    }

    /// How a box differs from another model.
    #[must_use]
    pub fn difference(&self, item: &Item) -> Option<DifferenceMark> {
        let own = match item.kind {
            ItemKind::Node(node) => self.marks.changes.get(node).copied(),
            _ => None,
        };
        own.or_else(|| self.levels.get(item.inside?)?.difference)
    }
}

fn worse(a: Option<Severity>, b: Option<Severity>) -> Option<Severity> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}
