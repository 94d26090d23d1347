//! Properties of layouts, on graphs that look like those of models.

use super::*;

/// A generator of numbers with a fixed sequence.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

fn block(numbers: &mut Numbers) -> Block {
    let size = Size { width: 20.0 + numbers.below(200) as f64, height: 10.0 + numbers.below(60) as f64 };
    Block { size, is_ordered: numbers.below(2) == 0, ..Block::default() }
}

/// A chain with branches, long edges and parallel edges.
fn graph(count: usize, seed: u64) -> (Vec<Block>, Vec<Link>) {
    let mut numbers = Numbers(seed);
    let blocks = (0..count).map(|_| block(&mut numbers)).collect();
    let mut links = Vec::new();
    for to in 1..count {
        for slot in 0..=numbers.below(3) {
            let back = if numbers.below(10) == 0 { numbers.below(to) } else { numbers.below(6.min(to)) };
            let from = to - 1 - back.min(to - 1);
            let trunk = u32::try_from(numbers.below(2)).unwrap();
            links.push(Link { from, to, slot: u32::try_from(slot).unwrap(), trunk, ..Link::default() });
        }
    }
    (blocks, links)
}

/// Checks what is true of every layout of a graph without cycles.
fn check(blocks: &[Block], links: &[Link], layout: &BoxLayout) {
    assert_eq!((layout.spots.len(), layout.routes.len()), (blocks.len(), links.len()));
    let mut by_rank: Vec<Vec<(f64, f64, bool)>> = vec![Vec::new(); layout.bands.len()];
    for (spot, block) in layout.spots.iter().zip(blocks) {
        let band = layout.bands[spot.rank];
        assert!(spot.x >= 0.0 && spot.x + block.size.width <= layout.size.width + 0.01);
        assert!(spot.y >= band.top && spot.y + block.size.height <= band.bottom + 0.01);
        by_rank[spot.rank].push((spot.x, spot.x + block.size.width, true));
    }
    let mut passed = std::collections::BTreeSet::new();
    for (link, route) in links.iter().zip(&layout.routes) {
        let (from, to) = (layout.spots[link.from], layout.spots[link.to]);
        assert!(from.rank < to.rank, "{link:?} does not point down");
        assert!(!route.is_back);
        let (start, end) = (route.start - from.x, route.end - to.x);
        assert!(start >= 0.0 && start <= blocks[link.from].size.width, "{start}");
        assert!(end >= 0.0 && end <= blocks[link.to].size.width, "{end}");
        if !route.is_cut {
            let ranks: Vec<usize> = route.via.iter().map(|&(rank, _)| rank).collect();
            assert_eq!(ranks, (from.rank + 1..to.rank).collect::<Vec<_>>());
        }
        passed.extend(route.via.iter().map(|&(rank, x)| (rank, x.to_bits())));
    }
    // Ways of edges do not touch boxes.
    for (rank, x) in passed {
        by_rank[rank].push((f64::from_bits(x), f64::from_bits(x), false));
    }
    for rank in &mut by_rank {
        rank.sort_by(|a, b| a.0.total_cmp(&b.0));
        for near in rank.windows(2).filter(|near| near[0].2 || near[1].2) {
            assert!(near[0].1 + 1.0 <= near[1].0, "{near:?} overlap");
        }
    }
    for bands in layout.bands.windows(2) {
        assert!(bands[0].bottom + 30.0 <= bands[1].top);
    }
}

#[test]
fn boxes_do_not_overlap_and_edges_point_down() {
    for seed in 0..60 {
        let (blocks, links) = graph(2 + usize::try_from(seed).unwrap() * 3, seed);
        check(&blocks, &links, &layout(&blocks, &links));
    }
    let (blocks, links) = graph(4000, 99);
    check(&blocks, &links, &layout(&blocks, &links));
}

#[test]
fn equal_graphs_have_equal_layouts() {
    let (blocks, links) = graph(300, 5);
    assert_eq!(layout(&blocks, &links), layout(&blocks, &links));
}

#[test]
fn the_smallest_graphs_have_layouts() {
    assert_eq!(layout(&[], &[]), BoxLayout::default());
    let block = Block { size: Size { width: 50.0, height: 20.0 }, ..Block::default() };
    let one = layout(&[block], &[]);
    assert_eq!((one.spots[0].x, one.spots[0].y, one.bands.len()), (0.0, 0.0, 1));
    // An edge to the box itself, and one to a box that does not exist.
    let wrong = [Link::default(), Link { from: 0, to: 7, ..Link::default() }];
    let placed = layout(&[block], &wrong);
    assert!(placed.routes.iter().all(|route| route.is_cut));
    let empty = layout(&[Block::default(); 3], &[]);
    assert!(empty.spots.windows(2).all(|near| near[0].x < near[1].x));
}

#[test]
fn parallel_edges_have_places_of_their_own() {
    let block = Block { size: Size { width: 100.0, height: 20.0 }, is_ordered: true, ..Block::default() };
    let link = |slot, trunk| Link { from: 0, to: 1, slot, trunk, ..Link::default() };
    let placed = layout(&[block; 2], &[link(1, 0), link(0, 1)]);
    // Operands arrive in their order.
    assert!(placed.routes[1].end < placed.routes[0].end);
    assert!(placed.routes[1].start != placed.routes[0].start);
}

#[test]
fn a_cycle_has_one_edge_that_points_up() {
    let block = Block { size: Size { width: 50.0, height: 20.0 }, ..Block::default() };
    let link = |from, to| Link { from, to, ..Link::default() };
    let placed = layout(&[block; 3], &[link(0, 1), link(1, 2), link(2, 0)]);
    let back: Vec<bool> = placed.routes.iter().map(|route| route.is_back).collect();
    assert_eq!(back, [false, false, true]);
    assert!(placed.spots[0].y < placed.spots[1].y && placed.spots[1].y < placed.spots[2].y);
}

#[test]
fn pins_hold() {
    let block = |pin| Block { size: Size { width: 50.0, height: 20.0 }, pin, ..Block::default() };
    let blocks = [block(Pin::Free), block(Pin::Free), block(Pin::First), block(Pin::Last)];
    let link = |from, to| Link { from, to, ..Link::default() };
    let placed = layout(&blocks, &[link(0, 1), link(2, 1), link(0, 3)]);
    let ranks: Vec<usize> = placed.spots.iter().map(|spot| spot.rank).collect();
    assert_eq!(ranks, [0, 1, 0, 2]);
}

#[test]
fn a_chain_is_straight() {
    let block = |width| Block { size: Size { width, height: 20.0 }, ..Block::default() };
    let blocks = [block(50.0), block(90.0), block(30.0), block(60.0)];
    let links: Vec<Link> = (0..3).map(|from| Link { from, to: from + 1, ..Link::default() }).collect();
    let placed = layout(&blocks, &links);
    for route in &placed.routes {
        assert!((route.start - route.end).abs() < 0.01);
    }
}

/// A thousand branches between two boxes, and a hundred thousand boxes side by side.
#[test]
fn wide_graphs_have_layouts() {
    let block = Block { size: Size { width: 60.0, height: 20.0 }, ..Block::default() };
    let mut links = Vec::new();
    for branch in 0..1000 {
        let branch_block = 2 + branch;
        let slot = u32::try_from(branch).unwrap();
        links.push(Link { from: 0, to: branch_block, ..Link::default() });
        links.push(Link { from: branch_block, to: 1, slot, ..Link::default() });
    }
    let blocks = vec![block; 1002];
    check(&blocks, &links, &layout(&blocks, &links));
    let many = layout(&vec![block; 100_000], &[]);
    assert_eq!((many.bands.len(), many.spots.len()), (1, 100_000));
}

/// Edges over many ranks are cut when ways for all of them would need more memory than the boxes.
#[test]
fn long_edges_have_a_budget() {
    let block = Block { size: Size { width: 60.0, height: 20.0 }, ..Block::default() };
    let count = 3000;
    let mut links: Vec<Link> = (1..count).map(|to| Link { from: to - 1, to, ..Link::default() }).collect();
    for far in 0..200 {
        links.push(Link { from: far, to: count - 1 - far, trunk: 1, ..Link::default() });
    }
    let blocks = vec![block; count];
    let placed = layout(&blocks, &links);
    check(&blocks, &links, &placed);
    let passed: usize = placed.routes.iter().map(|route| route.via.len()).sum();
    assert!(passed <= 3 * count + 3000, "{passed}");
    assert!(placed.routes.iter().filter(|route| route.is_cut).count() > 150);
}
