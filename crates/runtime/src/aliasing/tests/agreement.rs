//! Checks on random programs that the tracker agrees with the model.

use std::collections::BTreeSet;
use std::sync::Arc;

use heapwright_d3d12::aliasing::*;
use heapwright_d3d12::*;
use proptest::prelude::*;
use proptest::test_runner::{TestRng, TestRunner};

use super::model::{BLOCK, CELL, Effect, Model};
use super::stage::{Call, KIB_4, KIB_64, Kind, Resource, Stage};
use crate::aliasing::options::{AliasingTracking, Strictness};
use crate::aliasing::rule::Rule;
use crate::aliasing::{Note, Subresources};
use crate::ddi::{TextureMemoryLayout, TextureUsage};
use crate::drivers::texels::TexelRegion;
use crate::fence::Fence;

const HEAP_TILES: u64 = 8;

#[derive(Debug, Clone)]
struct Program {
    is_simple: bool,
    is_shared: bool,
    is_zeroed: bool,
    is_strict: bool,
    resources: Vec<(Kind, u64, D3D12_RESOURCE_STATES)>,
    submissions: Vec<Submission>,
}

#[derive(Debug, Clone)]
struct Submission {
    queue: usize,
    /// The earlier signal to wait for, counted from the newest.
    waits: Option<usize>,
    steps: Vec<Step>,
    signals: bool,
}

#[derive(Debug, Clone)]
enum Step {
    /// An access to a unit of a resource, or to a part of it.
    Access {
        resource: usize,
        unit: usize,
        part: (usize, usize),
        effect: Effect,
    },
    Barrier {
        before: Option<usize>,
        after: Option<usize>,
    },
}

fn resource() -> impl Strategy<Value = (Kind, u64, D3D12_RESOURCE_STATES)> {
    let tiles = |size: u64| 0..=HEAP_TILES - size;
    let state = prop_oneof![
        3 => Just(D3D12_RESOURCE_STATE_COMMON),
        1 => Just(D3D12_RESOURCE_STATE_RENDER_TARGET),
        1 => Just(D3D12_RESOURCE_STATE_COPY_SOURCE),
    ];
    let buffer = (1_u64..4).prop_flat_map(move |size| {
        let short = prop_oneof![Just(0), 1_u64..64];
        (Just(size), tiles(size), short)
            .prop_map(|(size, at, short)| (Kind::buffer(size * KIB_64 - short * CELL), at * KIB_64))
    });
    let tight = (1_u64..100, 0_u64..200)
        .prop_map(|(size, at)| (Kind::Buffer { width: size * CELL, tight: true }, at * CELL));
    let small = (0_u64..40).prop_map(|at| (Kind::texture(TextureMemoryLayout::Unknown, 32, 1), at * KIB_4));
    let usage = || {
        prop_oneof![
            2 => Just(TextureUsage::default()),
            2 => Just(TextureUsage { render_target: true, ..TextureUsage::default() }),
            1 => Just(TextureUsage { simultaneous_access: true, ..TextureUsage::default() }),
        ]
    };
    let texture = |layout, side: u32, slices: u32, hidden: u64| {
        usage().prop_flat_map(move |usage| {
            let kind = Kind::Texture { layout, side, mips: 1, slices, usage, hidden };
            (Just(kind), tiles(kind.allocation().0 / KIB_64).prop_map(|at| at.min(2) * KIB_64))
        })
    };
    let rows = |side: u32| {
        let usage = TextureUsage { cross_adapter: true, ..TextureUsage::default() };
        let targets = TextureUsage { render_target: true, ..usage };
        prop_oneof![2 => Just(usage), 1 => Just(targets)].prop_flat_map(move |usage| {
            let (layout, mips, slices, hidden) = (TextureMemoryLayout::RowMajor, 1, 1, 0);
            let kind = Kind::Texture { layout, side, mips, slices, usage, hidden };
            (Just(kind), tiles(kind.allocation().0 / KIB_64).prop_map(|at| at.min(2) * KIB_64))
        })
    };
    // No textures with hidden memory. A resource that loses its contents with hidden memory, but was not the last user
    // of it, loses them in the tracker only when it next uses that memory, and not if a resource that can inherit from
    // it used the memory in between. The model is exact here.
    let kind = prop_oneof![
        3 => buffer,
        2 => tight,
        1 => small,
        2 => texture(TextureMemoryLayout::Unknown, 256, 1, 0),
        1 => texture(TextureMemoryLayout::Unknown, 128, 2, 0),
        2 => texture(TextureMemoryLayout::UndefinedSwizzle64Kib, 256, 1, 0),
        2 => texture(TextureMemoryLayout::StandardSwizzle64Kib, 256, 1, 0),
        1 => texture(TextureMemoryLayout::StandardSwizzle64Kib, 128, 2, 0),
        1 => texture(TextureMemoryLayout::UndefinedSwizzle64Kib, 128, 2, 0),
        1 => rows(256),
        1 => rows(128),
    ];
    (kind, state).prop_map(|((kind, at), state)| {
        let is_target = matches!(kind, Kind::Texture { usage, .. } if usage.render_target);
        let is_allowed = state != D3D12_RESOURCE_STATE_RENDER_TARGET || is_target;
        let is_buffer = matches!(kind, Kind::Buffer { .. });
        let state = if is_allowed && !is_buffer { state } else { D3D12_RESOURCE_STATE_COMMON };
        (kind, at, state)
    })
}

fn step() -> impl Strategy<Value = Step> {
    let which = || 0_usize..8;
    let effect = prop_oneof![
        4 => Just(Effect::Read),
        5 => Just(Effect::Copy),
        1 => Just(Effect::Write),
        1 => Just(Effect::Discard),
        1 => Just(Effect::Transition(D3D12_RESOURCE_STATE_RENDER_TARGET)),
        1 => Just(Effect::Transition(D3D12_RESOURCE_STATE_COMMON)),
    ];
    let access = (which(), 0_usize..8, (0_usize..64, 0_usize..64), effect)
        .prop_map(|(resource, unit, part, effect)| Step::Access { resource, unit, part, effect });
    let end = || proptest::option::weighted(0.8, which());
    let barrier = (end(), end()).prop_map(|(before, after)| Step::Barrier { before, after });
    prop_oneof![4 => access, 2 => barrier]
}

fn program() -> impl Strategy<Value = Program> {
    let submission = (
        0_usize..3,
        proptest::option::of(0_usize..3),
        proptest::collection::vec(step(), 0..8),
        any::<bool>(),
    )
        .prop_map(|(queue, waits, steps, signals)| Submission { queue, waits, steps, signals });
    // Duplicate one resource, so that identical resources are likely.
    let resources = (proptest::collection::vec(resource(), 1..7), any::<bool>(), any::<usize>()).prop_map(
        |(mut resources, twin, which)| {
            if twin {
                resources.push(resources[which % resources.len()]);
            }
            // The 64 KiB of a tightly aligned buffer may span two tiles, one of which takes contents and the other
            // gives them. The tracker then invalidates them all, while the result of the model depends on its order. So
            // such buffers are within tiles.
            if resources.iter().any(|(kind, ..)| shares_bytes(kind)) {
                for (kind, at, _) in &mut resources {
                    *at -= if matches!(kind, Kind::Buffer { tight: true, .. }) { *at % KIB_64 } else { 0 };
                }
            }
            resources
        },
    );
    (
        any::<[bool; 2]>(),
        [proptest::bool::weighted(0.2), proptest::bool::weighted(0.2)],
        resources,
        proptest::collection::vec(submission, 1..8),
    )
        .prop_map(|([is_shared, is_zeroed], [is_simple, is_strict], resources, submissions)| {
            // The tracker has a single cause for all invalid parts of a unit. Of a tightly aligned buffer, one part may
            // be lost and another never written; there is no difference if neither may be read.
            let is_zeroed = is_zeroed && !is_rough(&resources);
            let is_strict = is_strict && !is_rough(&resources);
            Program { is_simple, is_shared, is_zeroed, is_strict, resources, submissions }
        })
}

/// Returns whether a texture's layout defines the position of each texel.
fn shares_bytes(kind: &Kind) -> bool {
    let told = [TextureMemoryLayout::RowMajor, TextureMemoryLayout::StandardSwizzle64Kib];
    matches!(kind, Kind::Texture { layout, .. } if told.contains(layout))
}

/// Elements by unit.
type Parts = Vec<(usize, Vec<usize>)>;

/// Returns whether parts of a unit can be undefined for different reasons, or all contents can be lost with hidden
/// memory.
fn is_rough(resources: &[(Kind, u64, D3D12_RESOURCE_STATES)]) -> bool {
    resources.iter().any(|(kind, ..)| match kind {
        Kind::Buffer { tight, .. } => *tight,
        Kind::Texture { hidden, .. } => *hidden > 0,
    })
}

/// Returns the accessed elements of the model, and the call that accesses them.
fn access(
    stage: &Stage,
    model: &Model,
    resource: (usize, &Resource),
    unit: usize,
    (from, to): (usize, usize),
    effect: Effect,
) -> Option<(Parts, Call)> {
    let (id, driven) = resource;
    let of = &model.resources[id];
    let is_read = effect == Effect::Read;
    if let Effect::Transition(after) = effect {
        if of.is_buffer() {
            return None;
        }
        let resource = Arc::clone(&driven.driver);
        let note = Note::Transition { resource, subresources: Subresources::All, after };
        return Some((Vec::new(), Call::notes("ResourceBarrier", vec![note])));
    }
    if let Kind::Buffer { width, .. } = driven.kind {
        if matches!(effect, Effect::Discard | Effect::Write) {
            return None;
        }
        // From part of a unit up to several units.
        let cells = (width / CELL) as usize;
        let start = (unit * 64 + if from < 32 { 0 } else { from }) % cells;
        let count = (if to < 32 { 64 * (to % 4 + 1) } else { to }).min(cells - start).max(1);
        let mut parts: Vec<(usize, Vec<usize>)> = Vec::new();
        for cell in start..start + count {
            match parts.last_mut() {
                Some((unit, part)) if *unit == cell / 64 => part.push(cell % 64),
                _ => parts.push((cell / 64, vec![cell % 64])),
            }
        }
        return Some((parts, stage.bytes(driven, start as u64 * CELL, count as u64 * CELL, is_read)));
    }
    let Kind::Texture { side, .. } = driven.kind else { return None };
    let slices = of.states.len();
    let index = u32::try_from(unit % slices).ok()?;
    let blocks = side.div_ceil(BLOCK);
    // The whole subresource, a tile of it, or a block.
    let (first, size) = match from % 3 {
        _ if effect == Effect::Discard || blocks == 1 || of.is_rows() => ([0, 0], blocks),
        0 => ([0, 0], blocks),
        1 => ([0, 1].map(|axis: usize| (to as u32 >> axis) % (blocks / 2) * 2), 2),
        _ => ([0, 1].map(|axis: usize| (to as u32 >> (2 * axis)) % blocks), 1),
    };
    let mut parts: Vec<(usize, Vec<usize>)> = Vec::new();
    if of.is_rows() {
        parts.extend((0..of.elements.len()).map(|unit| (unit, vec![0])));
    }
    for y in (first[1]..first[1] + size).filter(|_| !of.is_rows()) {
        for x in first[0]..first[0] + size {
            let (unit, element) = if of.is_tiled() {
                let tiles = side / 128;
                ((index * tiles * tiles + y / 2 * tiles + x / 2) as usize, (y % 2 * 2 + x % 2) as usize)
            } else {
                (index as usize, (y * blocks + x) as usize)
            };
            match parts.iter_mut().find(|(at, _)| *at == unit) {
                Some((_, elements)) => elements.push(element),
                None => parts.push((unit, vec![element])),
            }
        }
    }
    let texels = BLOCK.min(side);
    let region = TexelRegion {
        start: [first[0] * texels, first[1] * texels, 0],
        size: [size * texels, size * texels, 1],
    };
    let call = match effect {
        Effect::Discard => Stage::discard(driven, index),
        Effect::Write => Stage::fill("ResolveSubresource", driven, index, region),
        _ => stage.texels(driven, index, region, is_read),
    };
    Some((parts, call))
}

/// Returns whether a rule is about contents. Of these, only the first violation of an access is reported.
fn is_about_contents(rule: Rule) -> bool {
    matches!(rule, Rule::I2 | Rule::I3 | Rule::I4 | Rule::I5 | Rule::I8)
}

fn judge(program: &Program) -> Result<(), TestCaseError> {
    let mut base = if program.is_simple { AliasingTracking::SIMPLE } else { AliasingTracking::ADVANCED };
    if program.is_strict {
        base.strictness = Strictness::Strict;
    }
    let stage = Stage::new(base);
    let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
    let heap = stage.heap(
        flag(program.is_shared, D3D12_HEAP_FLAG_SHARED)
            | flag(!program.is_zeroed, D3D12_HEAP_FLAG_CREATE_NOT_ZEROED),
    );
    let mut model = Model::new(program.is_simple, program.is_shared, program.is_zeroed, program.is_strict);
    let mut resources = Vec::new();
    for &(kind, offset, state) in &program.resources {
        resources.push(stage.place(&heap, offset, kind, state));
        model.add(kind, offset, state);
    }
    let fence = Arc::new(Fence::new(0));
    let mut signalled = 0_u64;
    let mut has_order = true;
    for (number, submission) in program.submissions.iter().enumerate() {
        let agent = u32::try_from(submission.queue).expect("the value fits") + 1;
        if let Some(value) = submission.waits.and_then(|back| signalled.checked_sub(back as u64)) {
            stage.wait(agent, &fence, value);
            model.wait(submission.queue + 1, value);
        }
        model.submit(submission.queue + 1);
        let mut calls = Vec::new();
        for step in &submission.steps {
            match step {
                Step::Barrier { before, after } => {
                    let [before, after] = [before, after].map(|end| end.map(|end| end % resources.len()));
                    calls.push(Call::alias(before.map(|at| &resources[at]), after.map(|at| &resources[at])));
                    model.barrier(before, after);
                }
                Step::Access { resource, unit, part, effect } => {
                    let id = resource % resources.len();
                    let Some((parts, call)) =
                        access(&stage, &model, (id, &resources[id]), *unit, *part, *effect)
                    else {
                        continue;
                    };
                    calls.push(call);
                    model.access(id, &parts, *effect);
                }
            }
        }
        model.end();
        let (found, _) = stage.execute(agent, &calls);
        let mut order = BTreeSet::new();
        let mut contents = BTreeSet::new();
        for violation in &found {
            let of = violation.resource.as_ref().map_or(usize::MAX, |of| (of.number - 1) as usize);
            let rule = if violation.rule == Rule::H9 { Rule::B1 } else { violation.rule };
            if is_about_contents(rule) {
                contents.insert((rule, of));
            } else {
                order.insert((rule, of));
            }
        }
        // A discard in the wrong state and a read of discarded contents break the same rule, which is reported once.
        let wrong: BTreeSet<_> = model.order.iter().copied().filter(|(rule, _)| *rule == Rule::I8).collect();
        let expected: BTreeSet<_> = model.order.difference(&wrong).copied().collect();
        prop_assert_eq!(&order, &expected, "submission {}: order", number);
        prop_assert!(wrong.is_subset(&contents), "submission {number}: expected one of {wrong:?}");
        // After an access without a barrier, the simple model guarantees nothing.
        has_order &= !program.is_simple || order.is_empty();
        if !has_order {
            continue;
        }
        for (rules, of) in &model.contents {
            let is_said = rules.iter().any(|rule| contents.contains(&(*rule, *of)));
            prop_assert!(
                is_said,
                "submission {number}: expected one of {rules:?} for {of}, found {contents:?}"
            );
        }
        for (rule, of) in &contents {
            let is_right = model.contents.iter().any(|(rules, wrong)| wrong == of && rules.contains(rule));
            let is_right = is_right || wrong.contains(&(*rule, *of));
            prop_assert!(is_right, "submission {number}: {rule} of {of} is not among {:?}", model.contents);
        }
        for (id, resource) in resources.iter().enumerate() {
            for unit in 0..model.resources[id].elements.len() {
                let is = match stage.contents(resource, u32::try_from(unit).expect("the value fits")) {
                    HEAPWRIGHT_ALIASING_CONTENTS_VALID => "valid",
                    HEAPWRIGHT_ALIASING_CONTENTS_PARTLY_VALID => "partly",
                    HEAPWRIGHT_ALIASING_CONTENTS_DISCARDED => "discarded",
                    HEAPWRIGHT_ALIASING_CONTENTS_UNINITIALISED => "uninitialised",
                    _ => "invalid",
                };
                let expected = model.foresee(id, unit);
                let is_nothing = |is: &str| matches!(is, "uninitialised" | "invalid");
                let is_rough = expected.is_none() || is_rough(&program.resources);
                let is_same_nothing = is_rough && is_nothing(is) && expected.is_none_or(is_nothing);
                prop_assert!(
                    expected == Some(is) || is_same_nothing,
                    "submission {number}: unit {unit} of {id} is {is}, expected {expected:?}: {:?}",
                    model.resources[id].elements[unit]
                );
            }
        }
        if submission.signals {
            signalled = model.signal(submission.queue + 1);
            stage.signal(agent, &fence, signalled);
        }
    }
    Ok(())
}

#[test]
fn the_tracker_agrees_with_the_model() {
    // The default programs are always the same, so that failures are reproducible; PROPTEST_CASES requests more.
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 128;
    }
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(error) = runner.run(&program(), |program| judge(&program)) {
        panic!("{error}");
    }
}
