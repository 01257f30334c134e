//! Rules E-5 and E-6 on random barriers, as comparing each barrier with each other one finds them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use heapwright_d3d12::*;
use proptest::prelude::*;

use super::stage::{Call, KIB_4, Kind, Resource, Said, Stage};
use crate::aliasing::options::AliasingTracking;
use crate::aliasing::rule::Rule;
use crate::aliasing::{EnhancedBarrier, Note, Subresources};
use crate::ddi::TextureMemoryLayout;

const UNDEFINED: D3D12_BARRIER_LAYOUT = D3D12_BARRIER_LAYOUT_UNDEFINED;
const LAYOUTS: [D3D12_BARRIER_LAYOUT; 3] =
    [UNDEFINED, D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_LAYOUT_RENDER_TARGET];
const ACCESSES: [D3D12_BARRIER_ACCESS; 3] =
    [D3D12_BARRIER_ACCESS_NO_ACCESS, D3D12_BARRIER_ACCESS_COMMON, D3D12_BARRIER_ACCESS_COPY_DEST];

/// A barrier of a texture.
#[derive(Debug, Clone)]
struct Drawn {
    resource: usize,
    subresource: u32,
    layouts: (D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT),
    access_before: D3D12_BARRIER_ACCESS,
    discards: bool,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let layout = || proptest::sample::select(&LAYOUTS[..]);
    let access = proptest::sample::select(&ACCESSES[..]);
    let parts = (0..6_usize, 0..2_u32, (layout(), layout()), access, any::<bool>());
    parts.prop_map(|(resource, subresource, layouts, access_before, discards)| {
        let discards = discards && layouts.0 == UNDEFINED;
        Drawn { resource, subresource, layouts, access_before, discards }
    })
}

impl Drawn {
    fn changes(&self) -> bool {
        self.layouts.0 != self.layouts.1 && self.layouts.1 != UNDEFINED
    }

    fn flushes(&self) -> bool {
        self.access_before == D3D12_BARRIER_ACCESS_COPY_DEST
    }

    fn note(&self, resource: &Resource) -> EnhancedBarrier {
        EnhancedBarrier {
            resource: Some(Arc::clone(&resource.driver)),
            sync: [D3D12_BARRIER_SYNC_ALL; 2],
            access: [self.access_before, D3D12_BARRIER_ACCESS_COMMON],
            subresources: Subresources::Some(vec![self.subresource]),
            layout: [self.layouts.0, self.layouts.1],
            discards: self.discards,
        }
    }
}

fn overlap(one: &Range<u64>, two: &Range<u64>) -> bool {
    one.start < two.end && two.start < one.end
}

/// Returns what the rules say, by comparing each barrier with each other one.
fn expected(memory: &[Range<u64>], barriers: &[Drawn]) -> BTreeSet<Said> {
    let mut said = BTreeSet::new();
    for one in barriers.iter().filter(|one| one.changes()) {
        for two in barriers.iter().filter(|two| two.resource != one.resource) {
            let is_affected = two.changes() || two.flushes();
            if !is_affected || !overlap(&memory[one.resource], &memory[two.resource]) {
                continue;
            }
            let number = |of: &Drawn| Some(of.resource as u64 + 1);
            if one.discards {
                said.insert((Rule::E5, number(one), number(two)));
            } else if two.changes() && !two.discards {
                said.insert((Rule::E6, number(one), number(two)));
            }
        }
    }
    said
}

proptest! {
    #[test]
    fn a_call_violates_what_its_pairs_of_barriers_violate(
        places in proptest::collection::vec((0..12_u64, any::<bool>()), 6),
        barriers in proptest::collection::vec(drawn(), 0..12),
    ) {
        let stage = Stage::new(AliasingTracking::ADVANCED);
        let heap = stage.heap(D3D12_HEAP_FLAG_NONE);
        let mut resources = Vec::new();
        let mut memory = Vec::new();
        for (place, is_large) in places {
            // Two slices of 4 or 16 KiB.
            let side = if is_large { 64 } else { 32 };
            let kind = Kind::texture(TextureMemoryLayout::Unknown, side, 2);
            let start = place * KIB_4;
            memory.push(start..start + kind.allocation().0);
            resources.push(stage.place(&heap, start, kind, D3D12_RESOURCE_STATE_COMMON));
        }
        let notes = barriers.iter().map(|barrier| barrier.note(&resources[barrier.resource])).collect();
        let said = stage.said(0, &[Call::notes("Barrier", vec![Note::Barriers(notes)])]);
        let found = said.into_iter().filter(|(rule, ..)| [Rule::E5, Rule::E6].contains(rule));
        prop_assert_eq!(found.collect::<BTreeSet<_>>(), expected(&memory, &barriers));
    }
}
