//! Checks of the decisions on devices.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use windows_core::Interface;

use super::*;
use crate::SegmentGroup;
use crate::VideoMemoryInfo;
use crate::caps::{allocation_info, read_allocation_info};

/// A GPU, and the queries of its device with and without tight alignment by default.
struct Gpu {
    name: String,
    gpu: Instance,
    caps: DeviceCaps,
    queries: [RequirementsQuery; 2],
}

impl Gpu {
    /// Returns every profile, under both rules for alignments combined with the flag.
    fn all() -> Vec<Self> {
        let profiles = HostProfile::all().iter().flat_map(|profile| [(profile, false), (profile, true)]);
        profiles
            .map(|(profile, is_floor)| {
                let (gpu, caps) = open(profile.name, is_floor);
                let queries = [true, false].map(|tight_alignment| {
                    let options = RequirementsOptions { tight_alignment, ..Default::default() };
                    RequirementsQuery::new(&gpu.device, &caps, options)
                });
                Self { name: format!("{} (floor: {is_floor})", profile.name), gpu, caps, queries }
            })
            .collect()
    }

    /// Returns a newer interface of the device; the first generation has none.
    fn device<T: Interface>(&self) -> Option<T> {
        let device = self.gpu.device.cast().ok();
        assert_eq!(device.is_some(), self.caps.interface_version > 0, "{}", self.name);
        device
    }

    fn local_usage(&self) -> u64 {
        let info = VideoMemoryInfo::query(&self.gpu.adapter, SegmentGroup::Local).expect("answered");
        info.current_usage.get()
    }

    /// Returns the device's own result.
    fn info(&self, desc: &D3D12_RESOURCE_DESC, formats: &[DXGI_FORMAT]) -> Option<(ByteSize, Alignment)> {
        let Some(device) = self.device::<ID3D12Device12>() else {
            return if formats.is_empty() { allocation_info(&self.gpu.device, desc) } else { None };
        };
        let count = u32::try_from(formats.len()).expect("few items");
        let list = formats.as_ptr();
        let desc = &with_mip_region(desc, D3D12_MIP_REGION::default());
        // SAFETY: the device is live; description, count and list outlive the call.
        read_allocation_info(unsafe { device.GetResourceAllocationInfo3(0, 1, desc, &count, &list, None) })
    }

    /// Places the resource at the first offset after other resources that the requirements allow.
    fn place(&self, found: &ResourceRequirements, formats: &[DXGI_FORMAT]) -> windows_core::Result<u64> {
        let class = ResourceClass::of(&found.desc, &self.caps);
        let offset = found.alignment.get();
        let size = found.size.get() + offset;
        let heap_desc = D3D12_HEAP_DESC {
            SizeInBytes: size.next_multiple_of(KIB_64),
            Properties: D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
            Alignment: class.heap_alignment(),
            Flags: class.heap_flags(&self.caps),
        };
        let (mut heap, mut resource): (Option<ID3D12Heap>, Option<ID3D12Resource>) = (None, None);
        let device = &self.gpu.device;
        // SAFETY: all objects are live, what is pointed to outlives the calls, results go to their interfaces.
        unsafe {
            device.CreateHeap(&heap_desc, &mut heap)?;
            let heap = heap.as_ref().expect("created");
            match formats {
                [] => {
                    let state = D3D12_RESOURCE_STATE_COMMON;
                    device.CreatePlacedResource(heap, offset, &found.desc, state, None, &mut resource)?;
                }
                _ => {
                    let layout = D3D12_BARRIER_LAYOUT_COMMON;
                    let desc = &with_mip_region(&found.desc, D3D12_MIP_REGION::default());
                    let list = formats.as_ptr();
                    let count = u32::try_from(formats.len()).expect("few items");
                    let device: ID3D12Device10 = self.device().expect("formats were granted");
                    let made = &mut resource;
                    device.CreatePlacedResource2(heap, offset, desc, layout, None, count, list, made)?;
                }
            }
            Ok(resource.expect("created").GetGPUVirtualAddress().0)
        }
    }

    /// Creates the resource with a heap of its own, and returns the bytes that are charged for it.
    fn commit(&self, found: &ResourceRequirements, formats: &[DXGI_FORMAT]) -> windows_core::Result<u64> {
        let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
        let layout = match found.desc.Dimension {
            D3D12_RESOURCE_DIMENSION_BUFFER => D3D12_BARRIER_LAYOUT_UNDEFINED,
            _ => D3D12_BARRIER_LAYOUT_COMMON,
        };
        let count = u32::try_from(formats.len()).expect("few items");
        let before = self.local_usage();
        let mut resource: Option<ID3D12Resource> = None;
        let Some(device) = self.device::<ID3D12Device10>() else {
            let (device, flags, state) =
                (&self.gpu.device, D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_STATE_COMMON);
            // SAFETY: as below.
            unsafe {
                device.CreateCommittedResource(&properties, flags, &found.desc, state, None, &mut resource)
            }?;
            return Ok(self.local_usage() - before);
        };
        let desc = with_mip_region(&found.desc, D3D12_MIP_REGION::default());
        // SAFETY: all objects are live, what is pointed to outlives the call, the result goes to its interface.
        unsafe {
            device.CreateCommittedResource3(
                &properties,
                D3D12_HEAP_FLAG_NONE,
                &desc,
                layout,
                None,
                None,
                count,
                formats.as_ptr(),
                &mut resource,
            )
        }?;
        Ok(self.local_usage() - before)
    }
}

/// The request of one case.
#[derive(Debug, Clone)]
struct Case {
    desc: D3D12_RESOURCE_DESC,
    castable_formats: Vec<DXGI_FORMAT>,
    uses: BufferUses,
}

fn alignments() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0),
        2 => (0_u32..=22).prop_map(|log2| 1 << log2),
        1 => select(vec![3, 12, 2 * MIB_4, 1 << 63, u64::MAX]),
    ]
}

fn buffers() -> impl Strategy<Value = Case> {
    let unordered = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
    let structure = D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE;
    let flags = select(vec![
        0,
        0,
        unordered,
        unordered | structure,
        structure,
        TIGHT,
        D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER,
        D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS,
    ]);
    let widths = prop_oneof![0_u64..600, 0_u64..300_000];
    (widths, flags, alignments(), 0..=BufferUses::all().bits()).prop_map(|(width, flags, alignment, uses)| {
        Case {
            desc: D3D12_RESOURCE_DESC { Flags: flags, Alignment: alignment, ..buffer(width) },
            castable_formats: Vec::new(),
            // Few uses are more frequent than many.
            uses: BufferUses::from_bits_truncate(uses & (uses >> 3) & (uses << 2)),
        }
    })
}

fn textures() -> impl Strategy<Value = Case> {
    let dimensions = select(vec![
        D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        D3D12_RESOURCE_DIMENSION_TEXTURE3D,
        D3D12_RESOURCE_DIMENSION_TEXTURE1D,
    ]);
    let formats = select(vec![
        (DXGI_FORMAT_R8_UNORM, 0),
        (DXGI_FORMAT_R8G8B8A8_UNORM, 0),
        (DXGI_FORMAT_R8G8B8A8_UNORM, 0),
        (DXGI_FORMAT_R32G32B32A32_FLOAT, 0),
        (DXGI_FORMAT_BC1_UNORM, 0),
        (DXGI_FORMAT_D32_FLOAT, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL),
        (DXGI_FORMAT_NV12, 0),
        (DXGI_FORMAT_UNKNOWN, 0),
    ]);
    let flags = select(vec![
        0,
        0,
        TIGHT,
        D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET,
        D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS,
        D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER,
    ]);
    let layouts = prop_oneof![
        6 => Just(D3D12_TEXTURE_LAYOUT_UNKNOWN),
        1 => Just(D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE),
        1 => Just(D3D12_TEXTURE_LAYOUT_ROW_MAJOR),
        1 => Just(D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE),
    ];
    let samples = select(vec![1, 1, 1, 1, 2, 4, 8]);
    let sides = || prop_oneof![2 => (1_u32..128).prop_map(|side| side * 4), 1 => 1_u32..70];
    let castable = prop::collection::vec(
        select(vec![DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R32_UINT, DXGI_FORMAT_R16_UINT]),
        0..3,
    );
    let extent = (sides(), sides(), 1_u16..4, 0_u16..4);
    (dimensions, extent, formats, flags, layouts, samples, alignments(), castable, any::<bool>()).prop_map(
        |(
            dimension,
            (width, height, depth, mips),
            (format, own),
            flags,
            layout,
            samples,
            alignment,
            castable,
            target,
        )| {
            let is_1d = dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D;
            // Multisampling is for targets with one mip level; most cases are made valid.
            let (mips, flags) = match samples > 1 && target {
                true if own == 0 => (1, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET),
                true => (1, 0),
                false => (mips, flags),
            };
            Case {
                desc: D3D12_RESOURCE_DESC {
                    Dimension: dimension,
                    Alignment: alignment,
                    Width: width.into(),
                    Height: if is_1d { 1 } else { height },
                    DepthOrArraySize: depth,
                    MipLevels: mips,
                    Format: format,
                    SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
                    Layout: layout,
                    Flags: flags | own,
                },
                castable_formats: if target { castable } else { Vec::new() },
                uses: BufferUses::empty(),
            }
        },
    )
}

/// Checks whether the flag may be set, according to Microsoft's tight alignment specification.
fn flag_is_legal(desc: &D3D12_RESOURCE_DESC, caps: &DeviceCaps) -> bool {
    let is_fixed = [D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE]
        .contains(&desc.Layout);
    let is_zero = desc.Alignment == 0 || caps.alignment_beside_tight == AlignmentWithTight::Floor;
    caps.tight_alignment_tier >= 1
        && !is_fixed
        && is_zero
        && desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER == 0
}

/// Checks one result, and creates the resource from it. Returns how many were created.
fn check(gpu: &Gpu, case: &Case, query: &RequirementsQuery, tight: bool, creation: Creation) -> u32 {
    let Case { desc, castable_formats, uses } = case;
    let is_buffer = desc.Dimension == D3D12_RESOURCE_DIMENSION_BUFFER;
    let wanted = ResourceDesc { castable_formats, ..ResourceDesc::new(desc) };
    let found = query.requirements(&wanted, *uses, creation);
    let text = format!(
        "{creation:?} on {}, tight {tight}: {desc:?} {uses:?} {castable_formats:?}: {found:?}",
        gpu.name
    );

    let most = if desc.SampleDesc.Count == 1 { KIB_64 } else { MIB_4 };
    let alignment_is_sound =
        desc.Alignment == 0 || desc.Alignment.is_power_of_two() && desc.Alignment <= most;
    let asks_for_tight = desc.Flags & TIGHT != 0;
    let plain = D3D12_RESOURCE_DESC { Alignment: 0, Flags: desc.Flags & !TIGHT, ..*desc };
    let default = gpu.info(&plain, castable_formats);
    let tight_is_sound = !asks_for_tight
        || flag_is_legal(&D3D12_RESOURCE_DESC { Alignment: 0, ..plain }, &gpu.caps)
        || desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0 && gpu.caps.tight_alignment_tier >= 1;
    let Ok(found) = found else {
        assert!(
            !alignment_is_sound || !tight_is_sound || default.is_none(),
            "rejected although valid: {text}"
        );
        return 0;
    };
    assert!(alignment_is_sound && tight_is_sound && default.is_some(), "accepted although invalid: {text}");

    let is_tight = found.desc.Flags & TIGHT != 0;
    assert!(!is_tight || flag_is_legal(&found.desc, &gpu.caps), "the flag is not allowed: {text}");
    let wants_tight = (tight || asks_for_tight) && flag_is_legal(&plain, &gpu.caps);
    let floor = desc.Alignment.max(uses.with_flags(desc.Flags).floor().get()).max(1);
    let expects_tight = wants_tight && (creation == Creation::Placed || floor <= KIB_4);
    assert_eq!(is_tight, expects_tight, "{text}");

    assert!(found.alignment.get() >= floor, "below the minimum alignment: {text}");
    assert!(found.size.is_aligned(found.alignment) && !found.size.is_zero(), "{text}");
    // The alignment is never worse than without tight alignment, except for what was requested.
    let (_, default_alignment) = default.expect("checked above");
    assert!(found.alignment.get() <= default_alignment.get().max(floor), "{text}");
    if is_buffer {
        let is_constant = uses.contains(BufferUses::CONSTANT_BUFFER);
        let width = if is_constant { desc.Width.next_multiple_of(256) } else { desc.Width };
        assert_eq!(found.desc.Width, width, "{text}");
        assert!(found.size.get() >= width, "{text}");
    }
    let unchanged = D3D12_RESOURCE_DESC { Alignment: 0, Flags: found.desc.Flags & !TIGHT, ..found.desc };
    assert_eq!(unchanged, D3D12_RESOURCE_DESC { Width: found.desc.Width, ..plain }, "{text}");

    let (size, alignment) =
        gpu.info(&found.desc, castable_formats).expect("the device accepts the decided description");
    assert!(
        alignment <= found.alignment && size <= found.size,
        "less than GetResourceAllocationInfo returns: {text}"
    );
    // The runtime does not support heaps that are shared across adapters, and fixed layouts are for reserved resources
    // there.
    if desc.Flags & D3D12_RESOURCE_FLAG_ALLOW_CROSS_ADAPTER != 0 {
        return 0;
    }
    match creation {
        Creation::Placed => {
            let address =
                gpu.place(&found, castable_formats).unwrap_or_else(|error| panic!("{error:?}: {text}"));
            if is_buffer {
                assert!(address.is_multiple_of(floor), "a view at {address:#x} is not allowed: {text}");
            }
        }
        Creation::Committed => {
            let charged =
                gpu.commit(&found, castable_formats).unwrap_or_else(|error| panic!("{error:?}: {text}"));
            // A driver that does not know tight heaps of committed resources has them in multiples of 64 KiB.
            let expected = match is_tight {
                true => [found.size.get(); 2],
                false => [found.size.get(), found.size.get().next_multiple_of(KIB_64)],
            };
            assert!(expected.contains(&charged), "the heap has {charged} bytes: {text}");
        }
    }
    1
}

#[test]
fn every_device_accepts_the_decided_description() {
    let gpus = Gpu::all();
    let created = Cell::new([0_u32; 2]);
    let cases = prop_oneof![buffers(), textures()];
    let config = Config { cases: 384, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&cases, |case| {
            let is_texture = case.desc.Dimension != D3D12_RESOURCE_DIMENSION_BUFFER;
            for gpu in &gpus {
                for (query, tight) in gpu.queries.iter().zip([true, false]) {
                    for creation in [Creation::Placed, Creation::Committed] {
                        let mut counts = created.get();
                        counts[usize::from(is_texture)] += check(gpu, &case, query, tight, creation);
                        created.set(counts);
                    }
                }
            }
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
    let [buffers, textures] = created.get();
    assert!(buffers > 2000 && textures > 1000, "too few valid cases: {buffers} buffers, {textures} textures");
}

fn placed(gpu: &Gpu, desc: D3D12_RESOURCE_DESC, uses: BufferUses) -> (u64, u64) {
    let wanted = ResourceDesc::new(&desc);
    let found = gpu.queries[0].requirements(&wanted, uses, Creation::Placed).expect("valid description");
    (found.size.get(), found.alignment.get())
}

#[test]
fn buffers_are_padded_only_as_their_uses_require() {
    for gpu in Gpu::all() {
        let least = gpu.caps.buffer_alignment.get();
        for (uses, floor) in [
            (BufferUses::empty(), 1),
            (BufferUses::VERTEX_BUFFER | BufferUses::INDEX_BUFFER, 4),
            (BufferUses::RAW_VIEW, 16),
            (BufferUses::ACCELERATION_STRUCTURE_BUILD_INPUT, 16),
            (BufferUses::SHADER_TABLE, 64),
            (BufferUses::OPACITY_MICROMAP, 128),
            (BufferUses::CONSTANT_BUFFER, 256),
        ] {
            let bytes = least.max(floor);
            assert_eq!(placed(&gpu, buffer(8), uses), (bytes, bytes), "{uses:?} on {}", gpu.name);
        }
        if gpu.name.starts_with("uma") {
            assert_eq!(least, 8);
        }
    }
}

#[test]
fn textures_use_small_alignment_where_the_device_allows_it() {
    for gpu in Gpu::all().iter().filter(|gpu| gpu.name.starts_with("old-ddi")) {
        let none = BufferUses::empty();
        assert_eq!(placed(gpu, texture(64, 64), none), (4 * KIB_4, KIB_4));
        assert_eq!(placed(gpu, texture(1024, 64), none), (4 * KIB_64, KIB_64));
        assert_eq!(placed(gpu, multisampled(64, 64), none), (KIB_64, KIB_64));
        assert_eq!(placed(gpu, multisampled(1024, 1024), none).1, MIB_4);
    }
}

/// Every format in every dimension, with and without multisampling: no small texture is missed, and if the format's
/// blocks are known, requesting the small alignment is never an error.
#[test]
fn known_formats_are_queried_only_if_the_texture_is_small() {
    let (gpu, _) = open("old-ddi", false);
    let (mut small, mut known) = (0, 0);
    for format in 1..=132 {
        for (dimension, samples) in [
            (D3D12_RESOURCE_DIMENSION_TEXTURE1D, 1),
            (D3D12_RESOURCE_DIMENSION_TEXTURE2D, 1),
            (D3D12_RESOURCE_DIMENSION_TEXTURE2D, 2),
            (D3D12_RESOURCE_DIMENSION_TEXTURE2D, 8),
            (D3D12_RESOURCE_DIMENSION_TEXTURE3D, 1),
        ] {
            for (width, height, depth) in [
                (4, 4, 1),
                (64, 64, 3),
                (132, 68, 17),
                (256, 64, 1),
                (512, 512, 5),
                (60, 1024, 1),
                (1024, 1024, 1),
                (16_384, 4, 1),
                (4, 16_384, 1),
            ] {
                let is_3d = dimension == D3D12_RESOURCE_DIMENSION_TEXTURE3D;
                let desc = D3D12_RESOURCE_DESC {
                    Dimension: dimension,
                    Format: format,
                    MipLevels: 1,
                    DepthOrArraySize: if is_3d { depth } else { 1 },
                    SampleDesc: DXGI_SAMPLE_DESC { Count: samples, Quality: 0 },
                    Flags: if samples > 1 { D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET } else { 0 },
                    ..texture(width, if dimension == D3D12_RESOURCE_DIMENSION_TEXTURE1D { 1 } else { height })
                };
                if allocation_info(&gpu.device, &desc).is_none() {
                    continue;
                }
                let asked = D3D12_RESOURCE_DESC { Alignment: floor::small(&desc).get(), ..desc };
                let is_small = allocation_info(&gpu.device, &asked).is_some();
                small += u32::from(is_small);
                assert!(!is_small || without_asking::may_be_small(&desc, false), "{desc:?}");
                if standard_tiles::over_most_detailed_mip(&desc).is_some() {
                    known += 1;
                    assert_eq!(without_asking::may_be_small(&desc, false), is_small, "{desc:?}");
                }
            }
        }
    }
    assert!(small > 500 && known > 1000, "{small} small textures, {known} of known formats");
}

/// The description that `GetDesc` returns can be requested again, although it contains the flag and an alignment.
#[test]
fn the_description_of_a_resource_can_be_reused() {
    for gpu in Gpu::all() {
        for query in &gpu.queries {
            let found = |desc| {
                let (resource, uses) = requested(desc);
                query.requirements(&resource, uses, Creation::Placed).expect("valid description")
            };
            for desc in [buffer(1000), texture(64, 64), texture(512, 512), multisampled(64, 64)] {
                let first = found(desc);
                let again = found(D3D12_RESOURCE_DESC { Alignment: first.alignment.get(), ..first.desc });
                assert_eq!((again.size, again.alignment), (first.size, first.alignment), "{}", gpu.name);
            }
        }
    }
}
