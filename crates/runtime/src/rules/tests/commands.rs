//! Rules of commands, without COM objects and without memory.

use std::sync::Arc;

use heapwright_d3d12::*;

use super::{buffer, multisampled, texture2d, valid};
use crate::aliasing::resource_apart;
use crate::ddi::command::Command;
use crate::drivers::resource::DriverResource;
use crate::rules::commands::barriers::{enhanced, legacy};
use crate::rules::commands::clears::fill_color;
use crate::rules::commands::copies::copy_buffer_region;
use crate::rules::commands::discard::{self, Region};
use crate::rules::commands::render_passes::{self, Aspect, Beginning, EndingAccess, Target};
use crate::rules::commands::texture_copies::{SOURCE, Side, TARGET, copy_texture_region};
use crate::rules::operand::Operand;
use crate::rules::resource::Resource;
use crate::rules::views::View;
use crate::rules::{Notices, Refusal};

/// A resource without memory.
struct Known {
    desc: D3D12_RESOURCE_DESC1,
    resource: Resource,
    heap_type: Option<D3D12_HEAP_TYPE>,
    driver: Arc<DriverResource>,
}

impl Known {
    fn new(desc: D3D12_RESOURCE_DESC1) -> Self {
        let heap_type = Some(D3D12_HEAP_TYPE_DEFAULT);
        Self { desc, resource: valid(&desc), heap_type, driver: resource_apart() }
    }

    fn operand(&self) -> Operand<'_> {
        let Self { desc, resource, heap_type, driver } = self;
        let is_committed = false;
        Operand { desc, resource, heap_type: *heap_type, is_committed, castable_formats: &[], driver }
    }
}

fn id<T>(result: Result<T, Refusal>) -> Result<T, D3D12_MESSAGE_ID> {
    result.map_err(|refusal| refusal.id())
}

fn target(flags: D3D12_RESOURCE_FLAGS) -> Known {
    Known::new(D3D12_RESOURCE_DESC1 { Flags: flags, ..texture2d(64, 64) })
}

#[test]
fn buffer_copies_stay_within_both_buffers_and_do_not_overlap() {
    let (one, two) = (Known::new(buffer(256)), Known::new(buffer(256)));
    let copy = |target: (&Known, u64), source: (&Known, u64), size| {
        let (target, source) = ((target.0.operand(), target.1), (source.0.operand(), source.1));
        id(copy_buffer_region(target, source, size, &mut Notices::default())).map(|command| {
            command.map(|command| match command {
                Command::CopyBuffer { target, source, size } => (target.1, source.1, size),
                _ => panic!("not a copy of a buffer"),
            })
        })
    };
    let overlap = Err(D3D12_MESSAGE_ID_COPY_ON_SAME_SUBRESOURCE);
    let cases = [
        (copy((&one, 0), (&two, 64), 192), Ok(Some((0, 64, 192)))),
        (copy((&one, 256), (&two, 256), 0), Ok(None)),
        (copy((&one, 1), (&two, 0), 256), Err(D3D12_MESSAGE_ID_COPYBUFFERREGION_DSTRANGEOUTOFBOUNDS)),
        (copy((&one, 0), (&two, u64::MAX), 2), Err(D3D12_MESSAGE_ID_COPYBUFFERREGION_SRCRANGEOUTOFBOUNDS)),
        (copy((&one, 0), (&one, 127), 128), overlap),
        (copy((&one, 127), (&one, 0), 128), overlap),
        (copy((&one, 128), (&one, 0), 128), Ok(Some((128, 0, 128)))),
    ];
    for (index, (found, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found, expected, "case {index}");
    }
}

#[test]
fn heap_types_are_remarks() {
    let upload = Known { heap_type: Some(D3D12_HEAP_TYPE_UPLOAD), ..Known::new(buffer(64)) };
    let readback = Known { heap_type: Some(D3D12_HEAP_TYPE_READBACK), ..Known::new(buffer(64)) };
    let count = |target: &Known, source: &Known| {
        let mut notices = Notices::default();
        let copied = copy_buffer_region((target.operand(), 0), (source.operand(), 0), 64, &mut notices);
        assert!(copied.is_ok_and(|command| command.is_some()));
        notices.iter().count()
    };
    assert_eq!((count(&readback, &upload), count(&upload, &readback)), (0, 2));
}

#[test]
fn texture_copies_stay_within_footprint_and_texture() {
    let (texture, bytes) = (Known::new(texture2d(64, 64)), Known::new(buffer(256 * 64)));
    let footprint = |offset, row_pitch| D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
        Offset: offset,
        Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
            Width: 64,
            Height: 64,
            Depth: 1,
            RowPitch: row_pitch,
        },
    };
    let copy = |start, footprint: &D3D12_PLACED_SUBRESOURCE_FOOTPRINT, source_box: Option<D3D12_BOX>| {
        let target = id(Side::subresource(texture.operand(), 0, &TARGET))?;
        let source = id(Side::footprint(bytes.operand(), footprint, &SOURCE))?;
        let notices = &mut Notices::default();
        let command = id(copy_texture_region(target, start, source, source_box.as_ref(), notices))?;
        Ok(command.map(|command| match command {
            Command::CopyTexels { target_start, region, .. } => (target_start, region.start, region.size),
            _ => panic!("not a copy of texels"),
        }))
    };
    let part = |right| D3D12_BOX { left: 8, top: 0, front: 0, right, bottom: 4, back: 1 };
    let cases = [
        (copy([0; 3], &footprint(0, 256), None), Ok(Some(([0; 3], [0; 3], [64, 64, 1])))),
        (
            copy([56, 60, 0], &footprint(0, 256), Some(part(16))),
            Ok(Some(([56, 60, 0], [8, 0, 0], [8, 4, 1]))),
        ),
        (copy([0; 3], &footprint(0, 256), Some(part(8))), Ok(None)),
        (
            copy([0; 3], &footprint(0, 256), Some(part(65))),
            Err(D3D12_MESSAGE_ID_COPYTEXTUREREGION_SRCREGIONOUTOFBOUNDS),
        ),
        (
            copy([57, 0, 0], &footprint(0, 256), Some(part(16))),
            Err(D3D12_MESSAGE_ID_COPYTEXTUREREGION_DSTREGIONOUTOFBOUNDS),
        ),
        (
            copy([0; 3], &footprint(512, 256), None),
            Err(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCPLACEMENT),
        ),
        (copy([0; 3], &footprint(256, 256), None), Err(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCOFFSET)),
        (copy([0; 3], &footprint(0, 192), None), Err(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCROWPITCH)),
    ];
    for (index, (found, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found, expected, "case {index}");
    }
}

#[test]
fn transitions_fit_the_list_and_the_resource() {
    let sampled = target(D3D12_RESOURCE_FLAG_NONE);
    let rendered = target(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let check = |resource: &Known, list_type, after| {
        let before = D3D12_RESOURCE_STATE_COMMON;
        let kind =
            legacy::BarrierKind::Transition { resource: resource.operand(), subresource: 0, before, after };
        let barrier = legacy::Barrier { flags: D3D12_RESOURCE_BARRIER_FLAG_NONE, kind };
        id(legacy::check(&barrier, list_type, &mut Notices::default()))
    };
    let (direct, compute, copy) =
        (D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY);
    let wrong_list = Err(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_COMMAND_LIST_TYPE);
    let target_state = D3D12_RESOURCE_STATE_RENDER_TARGET;
    assert_eq!(check(&rendered, direct, target_state), Ok(()));
    assert_eq!(check(&rendered, compute, target_state), wrong_list);
    assert_eq!(
        check(&sampled, direct, target_state),
        Err(D3D12_MESSAGE_ID_RESOURCE_BARRIER_MISSING_BIND_FLAGS)
    );
    for list_type in [direct, compute, copy] {
        assert_eq!(check(&sampled, list_type, D3D12_RESOURCE_STATE_COPY_DEST), Ok(()));
    }
    assert_eq!(check(&sampled, copy, D3D12_RESOURCE_STATE_NON_PIXEL_SHADER_RESOURCE), wrong_list);
    assert_eq!(
        check(&sampled, direct, D3D12_RESOURCE_STATE_COMMON),
        Err(D3D12_MESSAGE_ID_RESOURCE_BARRIER_MATCHING_STATES)
    );
}

#[test]
fn a_layout_allows_only_its_accesses() {
    let texture = target(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let range = D3D12_BARRIER_SUBRESOURCE_RANGE {
        IndexOrFirstMipLevel: D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES,
        ..Default::default()
    };
    let check = |list_type, layout, sync, access| {
        let target = enhanced::Target::Texture {
            resource: texture.operand(),
            layout: [D3D12_BARRIER_LAYOUT_COMMON, layout],
            subresources: &range,
            flags: D3D12_TEXTURE_BARRIER_FLAG_NONE,
        };
        let (sync, access) = ([D3D12_BARRIER_SYNC_COPY, sync], [D3D12_BARRIER_ACCESS_COPY_DEST, access]);
        id(enhanced::check(&enhanced::Barrier { target, sync, access }, list_type, &mut Notices::default()))
    };
    let (direct, copy) = (D3D12_COMMAND_LIST_TYPE_DIRECT, D3D12_COMMAND_LIST_TYPE_COPY);
    let (sync, access) = (D3D12_BARRIER_SYNC_RENDER_TARGET, D3D12_BARRIER_ACCESS_RENDER_TARGET);
    assert_eq!(check(direct, D3D12_BARRIER_LAYOUT_RENDER_TARGET, sync, access), Ok(()));
    assert_eq!(
        check(direct, D3D12_BARRIER_LAYOUT_COPY_DEST, sync, access),
        Err(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_LAYOUT)
    );
    assert_eq!(
        check(copy, D3D12_BARRIER_LAYOUT_RENDER_TARGET, sync, access),
        Err(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_SYNC)
    );
    assert_eq!(
        check(direct, D3D12_BARRIER_LAYOUT_RENDER_TARGET, D3D12_BARRIER_SYNC_COPY, access),
        Err(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_ACCESS)
    );
}

#[test]
fn discards_name_existing_subresources_of_targets() {
    let (sampled, rendered) =
        (target(D3D12_RESOURCE_FLAG_NONE), target(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET));
    let check = |resource: &Known, list_type, first, count| {
        let region = Region { first, count, rects: &[] };
        id(discard::check(list_type, resource.operand(), Some(&region)))
    };
    let none = Err(D3D12_MESSAGE_ID_UNKNOWN);
    assert_eq!(check(&rendered, D3D12_COMMAND_LIST_TYPE_DIRECT, 0, 1), Ok(()));
    assert_eq!(check(&sampled, D3D12_COMMAND_LIST_TYPE_DIRECT, 0, 1), none);
    assert_eq!(check(&rendered, D3D12_COMMAND_LIST_TYPE_COMPUTE, 0, 1), none);
    let outside = Err(D3D12_MESSAGE_ID_DISCARD_INVALID_SUBRESOURCE_RANGE);
    assert_eq!(check(&rendered, D3D12_COMMAND_LIST_TYPE_DIRECT, 1, 1), outside);
    assert_eq!(check(&rendered, D3D12_COMMAND_LIST_TYPE_DIRECT, u32::MAX, 2), outside);
}

#[test]
fn clears_fill_the_rectangles_that_are_in_the_view() {
    let texture = target(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let view = View::of_texture(texture.operand(), DXGI_FORMAT_UNKNOWN, (0, 0, 1, 0)).expect("a valid view");
    let rect = |left, top, right, bottom| D3D12_RECT { left, top, right, bottom };
    let rects = [rect(-4, 60, 4, 99), rect(64, 0, 70, 8), rect(5, 5, 5, 9)];
    let fills = |rects: &[D3D12_RECT]| -> Vec<_> {
        let commands = fill_color(&view, [1.0; 4], rects).expect("a known format").into_iter();
        commands
            .map(|command| match command {
                Command::FillTexels { region, .. } => (region.start, region.size),
                _ => panic!("not a fill of texels"),
            })
            .collect()
    };
    assert_eq!(fills(&[]), [([0; 3], [64, 64, 1])]);
    assert_eq!(fills(&rects), [([0, 60, 0], [4, 4, 1])]);
}

#[test]
fn passes_end_what_they_begin_and_allow_no_barriers_on_their_targets() {
    let (rendered, other) =
        (target(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET), target(D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET));
    let begin = |begins, ends| {
        let view = View::of_texture(rendered.operand(), DXGI_FORMAT_UNKNOWN, (0, 0, 1, 0)).ok();
        render_passes::begin(vec![Target { aspect: Aspect::Color(0), view, begins, ends }])
    };
    assert_eq!(
        id(begin(Beginning::NoAccess, EndingAccess::Preserve).map(|_| ())),
        Err(D3D12_MESSAGE_ID_RENDER_PASS_MISMATCHING_NO_ACCESS)
    );
    let begun = begin(Beginning::ClearColor([0.0; 4]), EndingAccess::Discard).expect("valid accesses");
    assert_eq!((begun.commands.len(), begun.contents.len()), (1, 0));
    let transition = |resource: &Known| {
        let kind = legacy::BarrierKind::Transition {
            resource: resource.operand(),
            subresource: 0,
            before: D3D12_RESOURCE_STATE_RENDER_TARGET,
            after: D3D12_RESOURCE_STATE_COPY_SOURCE,
        };
        id(begun.pass.check_barrier(&legacy::Barrier { flags: D3D12_RESOURCE_BARRIER_FLAG_NONE, kind }))
    };
    assert_eq!(transition(&other), Ok(()));
    assert_eq!(transition(&rendered), Err(D3D12_MESSAGE_ID_RENDER_PASS_INVALID_RESOURCE_BARRIER));
    let (commands, contents) = render_passes::end(Some(begun.pass)).expect("a pass is open");
    assert_eq!((commands.len(), contents.len()), (0, 1));
    assert!(contents[0].is_discarded && contents[0].is_whole && contents[0].subresources == [0]);
}

#[test]
fn multisampled_textures_have_views_but_no_copies_to_buffers() {
    let (texture, bytes) = (Known::new(multisampled(4)), Known::new(buffer(256 * 64)));
    assert!(View::of_texture(texture.operand(), DXGI_FORMAT_UNKNOWN, (0, 0, 1, 0)).is_ok());
    let footprint = D3D12_PLACED_SUBRESOURCE_FOOTPRINT {
        Offset: 0,
        Footprint: D3D12_SUBRESOURCE_FOOTPRINT {
            Format: DXGI_FORMAT_R8G8B8A8_UNORM,
            Width: 64,
            Height: 64,
            Depth: 1,
            RowPitch: 256,
        },
    };
    let copied = Side::footprint(bytes.operand(), &footprint, &TARGET).and_then(|target| {
        let source = Side::subresource(texture.operand(), 0, &SOURCE)?;
        copy_texture_region(target, [0; 3], source, None, &mut Notices::default())
    });
    assert_eq!(id(copied.map(|_| ())), Err(D3D12_MESSAGE_ID_COPYTEXTUREREGION_INVALIDSRCRESOURCE));
}
