//! The frame graphs of two engines: every plan runs without violations, and every barrier and initialisation is needed.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use heapwright::d3d12::*;
use heapwright_runtime::aliasing::{Rule, Subject, Violation};
use heapwright_transient::{BarrierModel, FramePlan, FrameResourceId, PassId, QueueKind, Use};

use super::layouts;
use super::program::Program;
use super::world::{MODELS, World};

const TABLES: [(&str, &str); 12] = [
    ("o3de_lowend_1080p", include_str!("framegraphs/o3de_lowend_1080p.csv")),
    ("o3de_lowend_1440p", include_str!("framegraphs/o3de_lowend_1440p.csv")),
    ("o3de_lowend_2160p", include_str!("framegraphs/o3de_lowend_2160p.csv")),
    ("o3de_main_1080p", include_str!("framegraphs/o3de_main_1080p.csv")),
    ("o3de_main_1440p", include_str!("framegraphs/o3de_main_1440p.csv")),
    ("o3de_main_2160p", include_str!("framegraphs/o3de_main_2160p.csv")),
    ("o3de_main_msaa4_2160p", include_str!("framegraphs/o3de_main_msaa4_2160p.csv")),
    ("o3de_mobile_1080p", include_str!("framegraphs/o3de_mobile_1080p.csv")),
    ("skaarj_deferred_720p", include_str!("framegraphs/skaarj_deferred_720p.csv")),
    ("skaarj_deferred_1080p", include_str!("framegraphs/skaarj_deferred_1080p.csv")),
    ("skaarj_deferred_1440p", include_str!("framegraphs/skaarj_deferred_1440p.csv")),
    ("skaarj_deferred_2160p", include_str!("framegraphs/skaarj_deferred_2160p.csv")),
];

fn format(name: &str) -> DXGI_FORMAT {
    match name {
        "R16G16B16A16_FLOAT" => DXGI_FORMAT_R16G16B16A16_FLOAT,
        "R32_FLOAT" => DXGI_FORMAT_R32_FLOAT,
        "R8_UNORM" => DXGI_FORMAT_R8_UNORM,
        "D32_FLOAT_S8X24_UINT" => DXGI_FORMAT_D32_FLOAT_S8X24_UINT,
        "R8G8B8A8_UNORM" => DXGI_FORMAT_R8G8B8A8_UNORM,
        "R16G16_FLOAT" => DXGI_FORMAT_R16G16_FLOAT,
        "D24_UNORM_S8_UINT" => DXGI_FORMAT_D24_UNORM_S8_UINT,
        "R32G32B32A32_UINT" => DXGI_FORMAT_R32G32B32A32_UINT,
        "R16G16_SNORM" => DXGI_FORMAT_R16G16_SNORM,
        "D32_FLOAT" => DXGI_FORMAT_D32_FLOAT,
        "R32_UINT" => DXGI_FORMAT_R32_UINT,
        "R32G32B32A32_FLOAT" => DXGI_FORMAT_R32G32B32A32_FLOAT,
        "R11G11B10_FLOAT" => DXGI_FORMAT_R11G11B10_FLOAT,
        "R10G10B10A2_UNORM" => DXGI_FORMAT_R10G10B10A2_UNORM,
        "R16_FLOAT" => DXGI_FORMAT_R16_FLOAT,
        other => panic!("an unknown format {other}"),
    }
}

/// Returns the description of a row, with a sixteenth of the width and height.
fn desc(row: &BTreeMap<&str, &str>) -> D3D12_RESOURCE_DESC {
    let number = |column: &str| row[column].parse::<u64>().expect("a number");
    if row["category"] == "buffer" {
        let desc = heapwright::buffer_desc(heapwright::ByteSize::new((number("size") / 64).max(256)));
        return D3D12_RESOURCE_DESC { Flags: D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS, ..desc };
    }
    let flags = row["flags"].split('|').map(|flag| match flag {
        "RT" => D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        "DS" => D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
        "UAV" => D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        other => panic!("an unknown flag {other}"),
    });
    // A clear of one texel must not be a clear of all.
    let side = |column| (number(column) / 16).max(2);
    let longest = side("width").max(side("height"));
    let mips = number("mips").min(u64::from(longest.ilog2()) + 1);
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: side("width"),
        Height: u32::try_from(side("height")).expect("small"),
        DepthOrArraySize: u16::try_from(number("array")).expect("small"),
        MipLevels: u16::try_from(mips).expect("small"),
        Format: format(row["format"]),
        SampleDesc: DXGI_SAMPLE_DESC { Count: u32::try_from(number("samples")).expect("small"), Quality: 0 },
        Flags: flags.fold(0, |all, flag| all | flag),
        ..Default::default()
    }
}

/// The resources that are initialised, in the order of their first passes.
#[derive(Debug, Default)]
struct Owed {
    /// Those that the pass clears or copies to, in the order of the calls.
    written: Vec<FrameResourceId>,
    /// Those that are drawn to first, and therefore discarded.
    discarded: Vec<FrameResourceId>,
}

fn program<'a>(world: &'a World, table: &str) -> (Program<'a>, Owed) {
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let rows: Vec<BTreeMap<&str, &str>> =
        lines.map(|line| header.iter().copied().zip(line.split(',')).collect()).collect();
    let passes_of = |row: &BTreeMap<&str, &str>| -> Vec<usize> {
        row["uses"].split(' ').map(|pass| pass.parse().expect("a pass")).collect()
    };
    let count = rows.iter().flat_map(&passes_of).max().expect("passes") + 1;
    let mut program = Program::new(world);
    let queue = program.queue(QueueKind::Direct);
    let passes: Vec<PassId> = (0..count).map(|_| program.frame.add_pass(queue).expect("a pass")).collect();
    let mut first_uses = Vec::new();
    for row in &rows {
        let uses = passes_of(row);
        let is_target = row["category"] == "rt_ds";
        let first = match row["first_load"] {
            _ if !is_target => Use::CopyAll,
            "Clear" => Use::Clear,
            _ => Use::Render,
        };
        let id = program.resource(&desc(row), first);
        first_uses.push((passes[uses[0]], id, first));
        program.add_use(passes[uses[0]], id, first).expect("a first use");
        for &pass in &uses[1..] {
            program.add_use(passes[pass], id, Use::Read).expect("a use");
        }
    }
    first_uses.sort_unstable_by_key(|&(pass, id, _)| (pass, id));
    let first_are = |uses: &[Use]| {
        let those = first_uses.iter().filter(|(_, _, first)| uses.contains(first));
        those.map(|&(_, id, _)| id).collect()
    };
    let owed = Owed { written: first_are(&[Use::Clear, Use::CopyAll]), discarded: first_are(&[Use::Render]) };
    (program, owed)
}

#[test]
fn every_frame_graph_runs_without_a_violation_and_with_the_right_contents() {
    for ((name, table), model) in TABLES.into_iter().flat_map(|table| MODELS.map(|model| (table, model))) {
        let world = World::with_barriers("discrete", model);
        let (mut program, _) = program(&world, table);
        let plan = program.prepare().unwrap_or_else(|error| panic!("{name}: {error}: {:#?}", world.errors()));
        let heap = &plan.plan().heaps[0];
        assert!(heap.proved && plan.plan().not_aliased.is_empty(), "{name}: {heap:?}");
        assert_eq!(plan.barrier_model(), model);
        for frame in 0..3 {
            program.run_well(&format!("{name}, {model:?}, frame {frame}"));
        }
    }
}

/// Returns the rules that were violated, with the numbers of both resources.
fn found(violations: &[Violation]) -> Vec<(Rule, Option<usize>, Option<usize>)> {
    let number =
        |subject: &Option<Subject>| subject.as_ref().and_then(|subject| subject.name.as_ref()?.parse().ok());
    violations.iter().map(|found| (found.rule, number(&found.resource), number(&found.other))).collect()
}

/// Returns whether the violations are those of a resource that is used before it is initialised, or none unless
/// `expected`.
fn is_uninitialised(violations: &[Violation], resource: FrameResourceId, expected: bool) -> bool {
    let initialisation = [Rule::I2, Rule::I3, Rule::I4, Rule::E3];
    violations.is_empty() != expected
        && found(violations)
            .iter()
            .all(|&(rule, one, _)| initialisation.contains(&rule) && one == Some(resource.0))
}

/// An aliasing barrier, or a global barrier that a pass has instead.
struct Handover {
    /// The resource that is activated, and the one before it.
    pairs: Vec<(usize, usize)>,
    pass: PassId,
}

fn handovers(plan: &FramePlan) -> Vec<Handover> {
    let mut found: Vec<Handover> = Vec::new();
    for activation in &plan.activations {
        let (after, pass) = (activation.resource.0, activation.pass);
        for pair in activation.after.iter().map(|before| (after, before.0)) {
            // Enhanced ones of a pass are a single barrier.
            let is_one = |last: &&mut Handover| plan.barriers == BarrierModel::Enhanced && last.pass == pass;
            match found.last_mut().filter(is_one) {
                Some(last) => last.pairs.push(pair),
                None => found.push(Handover { pairs: vec![pair], pass }),
            }
        }
    }
    found
}

/// Every aliasing barrier and every discard is left out in turn.
fn each_is_needed(name: &str, model: BarrierModel) {
    let (_, table) = TABLES.into_iter().find(|(table, _)| *table == name).expect("a table");
    let world = World::with_barriers("discrete", model);
    let (mut program, owed) = program(&world, table);
    for _ in 0..2 {
        assert_eq!(program.run().0, []);
    }
    let left_out = &world.watch.left_out;
    let resources = program.prepare().expect("a plan");
    let barriers = handovers(resources.plan());
    assert!(barriers.len() > 4 && owed.discarded.len() + owed.written.len() > 4, "{name}: {owed:?}");
    let (mut expected_in_all, mut last) = (0, BTreeMap::new());
    for used in program.uses() {
        last.insert(used.resource.0, (used.pass, layouts::scope(program.state(used.resource, used.how))));
    }
    for (number, barrier) in barriers.iter().enumerate() {
        left_out.aliasing_barrier.store(number + 1, Ordering::Relaxed);
        let (violations, _) = program.run();
        let violates = |&(after, before): &(usize, usize)| {
            let rule = match model {
                // The global barrier of a pass in between may wait for the same commands.
                BarrierModel::Enhanced => {
                    let (pass, scope) = last[&before];
                    let waits = |other: &Handover| {
                        let scopes = other.pairs.iter().map(|(_, before)| last[before].1);
                        pass < other.pass
                            && other.pass < barrier.pass
                            && scopes.fold(0, |all, one| all | one) & scope != 0
                    };
                    Some(Rule::E1).filter(|_| !barriers.iter().any(waits))
                }
                // Barriers of the same resource with others do not help.
                BarrierModel::Legacy => {
                    let helps = |other: &Handover| other.pairs != barrier.pairs && other.pairs[0].0 == after;
                    Some(if barriers.iter().any(helps) { Rule::B4 } else { Rule::B1 })
                }
            };
            rule.map(|rule| (rule, Some(after), Some(before)))
        };
        let mut expected: Vec<_> = barrier.pairs.iter().filter_map(violates).collect();
        let mut found = found(&violations);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{name}, barrier {number}: {violations:#?}");
        expected_in_all += expected.len();
    }
    assert!(expected_in_all > 4, "{name}: {expected_in_all}");
    // With legacy barriers, what no other resource has overwritten needs no initialisation after the first frame.
    // Behind an undefined layout, everything does.
    let is_lost = |program: &Program<'_>, resource: FrameResourceId| {
        let is_shared = resources
            .plan()
            .activations
            .iter()
            .any(|activation| activation.resource == resource && !activation.predecessors.is_empty());
        is_shared || (model == BarrierModel::Enhanced && !program.is_buffer(resource))
    };
    let mut needed = 0;
    let mut discarded = Vec::new();
    for number in 0..owed.discarded.len() {
        left_out.discard.store(number + 1, Ordering::Relaxed);
        let (violations, _) = program.run();
        // Those by barriers and those by calls have no common order.
        let resource = found(&violations).first().and_then(|&(_, one, _)| one).map(FrameResourceId);
        let resource = resource.unwrap_or(owed.discarded[number]);
        discarded.push(resource);
        needed += usize::from(is_lost(&program, resource));
        assert!(
            is_uninitialised(&violations, resource, is_lost(&program, resource)),
            "{name}, {resource:?}: {violations:#?}"
        );
    }
    for (number, &resource) in owed.written.iter().enumerate() {
        left_out.initialisation.store(number + 1, Ordering::Relaxed);
        let (violations, _) = program.run();
        // Each read finds it; a resource that is only written is not used without that.
        let expected = is_lost(&program, resource) && program.is_read(resource);
        needed += usize::from(expected);
        assert!(is_uninitialised(&violations, resource, expected), "{name}, {resource:?}: {violations:#?}");
    }
    assert!(needed > 2, "{name}: {needed} initialisations are needed");
    discarded.sort_unstable();
    let mut owed = owed.discarded;
    owed.sort_unstable();
    assert_eq!(discarded, owed, "{name}: each was left out once");
    // The next frame is whole again.
    let (violations, mismatch) = program.run();
    assert_eq!((violations.as_slice(), mismatch), (&[][..], None));
    assert_eq!(world.wrong_layouts(), [""; 0], "{name}: nothing that was left out is a layout");
}

// One test for each table, as they take some seconds and run at the same time. `heapwright plan` has the same test for
// a frame on two queues, without a device.

#[test]
fn each_barrier_and_each_initialisation_is_needed_by_o3de_lowend() {
    MODELS.into_iter().for_each(|model| each_is_needed("o3de_lowend_1080p", model));
}

#[test]
fn each_barrier_and_each_initialisation_is_needed_by_o3de_mobile() {
    MODELS.into_iter().for_each(|model| each_is_needed("o3de_mobile_1080p", model));
}

#[test]
fn each_barrier_and_each_initialisation_is_needed_by_o3de_main() {
    each_is_needed("o3de_main_1080p", BarrierModel::Enhanced);
}

#[test]
fn each_barrier_and_each_initialisation_is_needed_by_skaarj_deferred() {
    each_is_needed("skaarj_deferred_720p", BarrierModel::Enhanced);
}
