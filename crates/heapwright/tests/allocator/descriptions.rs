//! Descriptions that are valid on no device, or that a device does not support: the error has the class and the field,
//! and no call is made that would be an error of the debug layer.

use crate::faulty_device::{Call, Faults, inject};
use crate::gpu::*;

const WIDTH: &str = "D3D12_RESOURCE_DESC::Width: ";
const HEIGHT: &str = "D3D12_RESOURCE_DESC::Height: ";
const DEPTH: &str = "D3D12_RESOURCE_DESC::DepthOrArraySize: ";
const MIPS: &str = "D3D12_RESOURCE_DESC::MipLevels: ";
const FORMAT: &str = "D3D12_RESOURCE_DESC::Format: ";
const COUNT: &str = "D3D12_RESOURCE_DESC::SampleDesc.Count: ";
const QUALITY: &str = "D3D12_RESOURCE_DESC::SampleDesc.Quality: ";
const LAYOUT: &str = "D3D12_RESOURCE_DESC::Layout: ";
const FLAGS: &str = "D3D12_RESOURCE_DESC::Flags: ";
const DIMENSION: &str = "D3D12_RESOURCE_DESC::Dimension: ";

const RT: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET;
const DS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
const UAV: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_UNORDERED_ACCESS;
const SIMULTANEOUS: D3D12_RESOURCE_FLAGS = D3D12_RESOURCE_FLAG_ALLOW_SIMULTANEOUS_ACCESS;

type Desc = D3D12_RESOURCE_DESC;

fn sampled(count: u32, quality: u32) -> Desc {
    Desc { SampleDesc: DXGI_SAMPLE_DESC { Count: count, Quality: quality }, Flags: RT, ..texture(64, 64) }
}

fn flagged_texture(flags: D3D12_RESOURCE_FLAGS) -> Desc {
    Desc { Flags: flags, ..texture(64, 64) }
}

fn of_format(format: DXGI_FORMAT, width: u64, height: u32) -> Desc {
    Desc { Format: format, ..texture(width, height) }
}

/// Descriptions that no device accepts, each with the field that is wrong.
fn never_valid() -> Vec<(Desc, &'static str)> {
    let (buffer, plain) = (buffer_of(1000), texture(64, 64));
    let one_d = Desc { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, Height: 1, ..plain };
    let three_d = Desc { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D, ..plain };
    let depth = Desc { Format: DXGI_FORMAT_D32_FLOAT, ..plain };
    vec![
        (Desc { Dimension: 0, ..plain }, DIMENSION),
        (Desc { Dimension: 5, ..buffer }, DIMENSION),
        (Desc { Dimension: -1, ..buffer }, DIMENSION),
        (Desc { Dimension: 9, ..buffer }, DIMENSION),
        // Sizes.
        (texture(3_435_973_836, 3_435_973_836), WIDTH),
        (Desc { DepthOrArraySize: 2048, ..texture(17_000, 17_000) }, WIDTH),
        (texture(1 << 40, 1), WIDTH),
        (texture(u64::MAX, 1), WIDTH),
        (texture(0, 1), WIDTH),
        (texture(16_385, 1), WIDTH),
        (texture(1, 16_385), HEIGHT),
        (texture(1, 0), HEIGHT),
        (Desc { DepthOrArraySize: 2049, ..plain }, DEPTH),
        (Desc { DepthOrArraySize: 0, ..plain }, DEPTH),
        (Desc { Width: 65_536, Height: 65_536, DepthOrArraySize: 65_535, ..three_d }, WIDTH),
        (Desc { Width: 2049, ..three_d }, WIDTH),
        (Desc { Height: 2049, ..three_d }, HEIGHT),
        (Desc { DepthOrArraySize: 2049, ..three_d }, DEPTH),
        (Desc { DepthOrArraySize: 0, ..three_d }, DEPTH),
        (Desc { Width: 16_385, ..one_d }, WIDTH),
        (Desc { Height: 2, ..one_d }, HEIGHT),
        (Desc { Height: 0, ..one_d }, HEIGHT),
        (Desc { DepthOrArraySize: 2049, ..one_d }, DEPTH),
        // Buffers.
        (Desc { Width: 0, ..buffer }, WIDTH),
        (Desc { Height: 0, ..buffer }, HEIGHT),
        (Desc { Height: 2, ..buffer }, HEIGHT),
        (Desc { DepthOrArraySize: 0, ..buffer }, DEPTH),
        (Desc { DepthOrArraySize: 6, ..buffer }, DEPTH),
        (Desc { MipLevels: 0, ..buffer }, MIPS),
        (Desc { MipLevels: 2, ..buffer }, MIPS),
        (Desc { Format: DXGI_FORMAT_R8_UNORM, ..buffer }, FORMAT),
        (Desc { Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN, ..buffer }, LAYOUT),
        (Desc { Layout: D3D12_TEXTURE_LAYOUT_64KB_UNDEFINED_SWIZZLE, ..buffer }, LAYOUT),
        (Desc { SampleDesc: DXGI_SAMPLE_DESC { Count: 0, Quality: 0 }, ..buffer }, COUNT),
        (Desc { SampleDesc: DXGI_SAMPLE_DESC { Count: 4, Quality: 0 }, ..buffer }, COUNT),
        (Desc { SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 1 }, ..buffer }, QUALITY),
        (Desc { Flags: DS, ..buffer }, FLAGS),
        (Desc { Flags: SIMULTANEOUS, ..buffer }, FLAGS),
        (Desc { Flags: u32::MAX, ..buffer }, FLAGS),
        (Desc { Flags: D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE, ..buffer }, FLAGS),
        // Formats and their blocks.
        (of_format(DXGI_FORMAT_UNKNOWN, 64, 64), FORMAT),
        (of_format(DXGI_FORMAT_BC1_UNORM, 3, 3), WIDTH),
        (of_format(DXGI_FORMAT_BC1_UNORM, 4, 3), HEIGHT),
        (of_format(DXGI_FORMAT_BC7_TYPELESS, 62, 64), WIDTH),
        (of_format(DXGI_FORMAT_BC5_SNORM, 64, 1), HEIGHT),
        (of_format(DXGI_FORMAT_NV12, 63, 64), WIDTH),
        (of_format(DXGI_FORMAT_NV12, 64, 63), HEIGHT),
        (of_format(DXGI_FORMAT_YUY2, 63, 64), WIDTH),
        // Levels.
        (Desc { MipLevels: 16, ..plain }, MIPS),
        (Desc { MipLevels: u16::MAX, ..plain }, MIPS),
        (
            Desc {
                MipLevels: 15,
                DepthOrArraySize: 2048,
                Format: DXGI_FORMAT_D24_UNORM_S8_UINT,
                Flags: DS,
                ..plain
            },
            MIPS,
        ),
        // Samples.
        (sampled(0, 0), COUNT),
        (sampled(3, 0), COUNT),
        (sampled(64, 0), COUNT),
        (sampled(u32::MAX, 0), COUNT),
        (sampled(1, 1), QUALITY),
        (Desc { MipLevels: 2, ..sampled(4, 0) }, MIPS),
        (Desc { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D, ..sampled(4, 0) }, COUNT),
        (Desc { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, Height: 1, ..sampled(4, 0) }, COUNT),
        (Desc { Flags: 0, ..sampled(4, 0) }, FLAGS),
        (Desc { Flags: RT | SIMULTANEOUS, ..sampled(4, 0) }, FLAGS),
        (Desc { Layout: D3D12_TEXTURE_LAYOUT_64KB_STANDARD_SWIZZLE, ..sampled(4, 0) }, LAYOUT),
        // Layouts and flags.
        (Desc { Layout: 4, ..plain }, LAYOUT),
        (Desc { Layout: -1, ..plain }, LAYOUT),
        (flagged_texture(RT | DS), FLAGS),
        (Desc { Flags: DS | UAV, ..depth }, FLAGS),
        (Desc { Flags: DS | SIMULTANEOUS, ..depth }, FLAGS),
        (flagged_texture(D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE), FLAGS),
        (flagged_texture(UAV | D3D12_RESOURCE_FLAG_RAYTRACING_ACCELERATION_STRUCTURE), FLAGS),
        (Desc { Flags: DS, Format: DXGI_FORMAT_D32_FLOAT, ..three_d }, FLAGS),
        (flagged_texture(DS), FORMAT),
        (Desc { Flags: RT, ..depth }, FORMAT),
        (Desc { Flags: UAV, ..of_format(DXGI_FORMAT_BC1_UNORM, 64, 64) }, FORMAT),
        // Alignments.
        (Desc { Alignment: 3, ..plain }, "D3D12_RESOURCE_DESC::Alignment: "),
        (Desc { Alignment: 3, ..buffer }, "D3D12_RESOURCE_DESC::Alignment: "),
        (Desc { Alignment: 128 << 10, ..buffer }, "D3D12_RESOURCE_DESC::Alignment: "),
        (Desc { Alignment: 1 << 63, ..buffer }, "D3D12_RESOURCE_DESC::Alignment: "),
    ]
}

/// Returns the errors of each way to create a resource in a DEFAULT heap or, if it is not a texture, in an UPLOAD heap,
/// also as a part of a buffer.
fn errors(allocator: &ResourceAllocator, resource: &ResourceDesc<'_>) -> Vec<Error> {
    let is_texture = (D3D12_RESOURCE_DIMENSION_TEXTURE1D..=D3D12_RESOURCE_DIMENSION_TEXTURE3D)
        .contains(&resource.desc.Dimension);
    let heap_types =
        if is_texture { &[HeapType::Default][..] } else { &[HeapType::Default, HeapType::Upload] };
    heap_types.iter().flat_map(|&heap_type| errors_in(allocator, heap_type, resource)).collect()
}

/// Returns the errors of each way to create a resource, and of probing.
fn errors_in(allocator: &ResourceAllocator, heap_type: HeapType, resource: &ResourceDesc<'_>) -> Vec<Error> {
    let of = |flags| {
        let place = place(heap_type, flags);
        let probed = allocator.probe(&place, resource).expect_err("never valid");
        let error = allocator.create(&place, resource).expect_err("never valid");
        assert_eq!(probed.to_string(), error.to_string());
        error
    };
    let flags = [NONE, OWN, COMMITTED, PREFER_COMMITTED, WITHIN];
    flags.map(of).into()
}

#[test]
fn what_no_device_accepts_names_its_field_and_is_not_passed_to_one() {
    for (profile, flags) in
        pairs(HostProfile::all(), [NO_FLAGS, ResourceAllocatorFlags::NEVER_TIGHT_ALIGNMENT])
    {
        let (gpu, allocator) = on(fresh(profile), flagged(flags));
        for (desc, field) in never_valid() {
            for error in errors(&allocator, &ResourceDesc::new(&desc)) {
                assert!(error.is_invalid_argument(), "{error}: {desc:?}");
                assert!(error.to_string().starts_with(field), "{error}: {desc:?}");
                assert_eq!(error.hresult(), E_INVALIDARG);
            }
            assert_eq!(gpu.messages(), [], "{}: {desc:?}", profile.name);
        }
        assert_returns_everything(&allocator, &gpu);
    }
}

/// What the library refuses by itself, the devices refuse, too.
#[test]
fn devices_refuse_what_the_library_refuses() {
    for profile in HostProfile::all() {
        let gpu = fresh(profile);
        for (desc, field) in never_valid() {
            let is_of_alignment = field.contains("Alignment");
            // SAFETY: the device is live, and the description outlives the call.
            let info = unsafe { gpu.device.GetResourceAllocationInfo(0, &[desc]) };
            assert!(info.SizeInBytes == u64::MAX || is_of_alignment, "{}: {desc:?}", profile.name);
        }
    }
}

/// The limits themselves are valid.
#[test]
fn the_limits_are_valid() {
    let (_gpu, allocator) = with_allocator(open("discrete"));
    let one_d = Desc { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE1D, ..texture(16_384, 1) };
    let three_d = Desc { Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE3D, ..texture(2048, 1) };
    for desc in [
        texture(16_384, 1),
        texture(1, 16_384),
        Desc { DepthOrArraySize: 2048, ..texture(1, 1) },
        Desc { MipLevels: 15, ..texture(1, 1) },
        Desc { MipLevels: 0, DepthOrArraySize: 2048, ..texture(32, 32) },
        Desc { DepthOrArraySize: 2048, ..one_d },
        three_d,
        Desc { DepthOrArraySize: 2048, ..texture(1, 1) },
        Desc { Width: 1, DepthOrArraySize: 2048, ..three_d },
        of_format(DXGI_FORMAT_BC1_UNORM, 4, 4),
        sampled(4, 0),
        Desc { MipLevels: 0, ..sampled(4, 0) },
        Desc {
            Flags: DS | D3D12_RESOURCE_FLAG_DENY_SHADER_RESOURCE,
            ..of_format(DXGI_FORMAT_R32_TYPELESS, 64, 64)
        },
    ] {
        allocator.create(&in_default(), desc).unwrap_or_else(|error| panic!("{error}: {desc:?}"));
    }
}

/// A buffer that the GPU writes is not for heaps of the CPU, whatever the state.
#[test]
fn the_gpu_writes_no_buffer_of_the_cpu() {
    for profile in HostProfile::all() {
        let gpu = fresh(profile);
        let (plain, extra) = (usual(&gpu), UAV);
        let desc = ResourceAllocatorDesc { extra_required_resource_flags: extra, ..Default::default() };
        let with_extra = allocator(&gpu, desc);
        let small = buffer_of(1000);
        for heap_type in [HeapType::Upload, HeapType::Readback] {
            for state in [COMMON, state_in(heap_type.to_d3d12())] {
                let flagged = [RT, UAV, RT | UAV].map(|flags| (&plain, Desc { Flags: flags, ..small }));
                for (allocator, desc) in flagged.into_iter().chain([(&with_extra, small)]) {
                    for error in errors_in(allocator, heap_type, &ResourceDesc::in_state(&desc, state)) {
                        assert!(error.is_invalid_argument(), "{error}");
                        assert!(error.to_string().starts_with(FLAGS), "{error}");
                    }
                }
            }
        }
        let pool = new_pool(&plain, PoolDesc { heap_type: HeapType::Upload, ..Default::default() });
        fails(plain.create(&in_pool(&pool), Desc { Flags: UAV, ..small }), FLAGS);
        assert_eq!(gpu.messages(), [], "{}", profile.name);
    }
    // In unified memory, UPLOAD is a CUSTOM heap, which the GPU writes.
    let unified = ResourceAllocatorFlags::ALLOW_UNIFIED_MEMORY;
    let gpu = open("cache-coherent-uma");
    let desc = Desc { Flags: UAV, ..buffer_of(1000) };
    with_flags(&gpu, unified).create(&in_upload(), desc).expect("it is a CUSTOM heap");
}

#[test]
fn clear_values_that_do_not_fit_are_refused() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    let color = ClearValue::Color { format: DXGI_FORMAT_R8G8B8A8_UNORM, color: [0.0; 4] };
    let depth = |depth| ClearValue::DepthStencil { format: DXGI_FORMAT_D32_FLOAT, depth, stencil: 0 };
    let target = flagged_texture(RT);
    let depths = Desc { Flags: DS, ..of_format(DXGI_FORMAT_D32_FLOAT, 64, 64) };
    for (desc, clear_value) in [
        (buffer_of(1000), color),
        (buffer_of(1000), depth(1.0)),
        (texture(64, 64), color),
        (target, depth(1.0)),
        (depths, color),
        (depths, depth(1.5)),
        (depths, depth(-0.5)),
        (depths, depth(f32::NAN)),
    ] {
        let resource = ResourceDesc { clear_value: Some(clear_value), ..ResourceDesc::new(&desc) };
        for error in errors(&allocator, &resource) {
            assert!(error.is_invalid_argument(), "{error}");
            assert!(error.to_string().starts_with("ResourceDesc::clear_value: "), "{error}");
        }
    }
    for (desc, clear_value) in [(target, color), (depths, depth(0.0)), (depths, depth(1.0))] {
        let resource = ResourceDesc { clear_value: Some(clear_value), ..ResourceDesc::new(&desc) };
        allocator.create(&in_default(), resource).expect("they fit");
    }
    assert_eq!(gpu.messages(), []);
}

#[test]
fn castable_formats_that_never_are_name_their_number() {
    let (gpu, allocator) = with_allocator(open("discrete"));
    for (format, castable, number) in [
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_R32_UINT, DXGI_FORMAT_UNKNOWN][..], 1),
        (DXGI_FORMAT_R8G8B8A8_UNORM, &[DXGI_FORMAT_R8_UNORM], 0),
        (DXGI_FORMAT_R32G32_UINT, &[DXGI_FORMAT_BC1_UNORM], 0),
    ] {
        let desc = of_format(format, 64, 64);
        let initial_state = InitialState::Layout(D3D12_BARRIER_LAYOUT_COMMON);
        let resource = ResourceDesc { castable_formats: castable, initial_state, ..ResourceDesc::new(&desc) };
        for error in errors(&allocator, &resource) {
            assert!(error.is_invalid_argument(), "{error}");
            let begins = format!("ResourceDesc::castable_formats: number {number}, ");
            assert!(error.to_string().starts_with(&begins), "{error}");
        }
    }
    assert_eq!(gpu.messages(), []);
}

/// What a device lacks is unsupported, not invalid.
#[test]
fn what_a_device_lacks_is_unsupported() {
    for profile in HostProfile::all() {
        let (gpu, allocator) = with_allocator(fresh(profile));
        let formats = [DXGI_FORMAT_R1_UNORM].into_iter().chain(DXGI_FORMAT_AYUV..=DXGI_FORMAT_A8P8);
        for format in formats.chain(DXGI_FORMAT_P208..=DXGI_FORMAT_V408) {
            let desc = of_format(format, 64, 64);
            let place = in_default();
            // SAFETY: the device is live, and the description outlives the call.
            let info = unsafe { gpu.device.GetResourceAllocationInfo(0, &[desc]) };
            let is_wrong = |severity| severity <= D3D12_MESSAGE_SEVERITY_WARNING;
            let errors = || gpu.messages().iter().filter(|&&(severity, _)| is_wrong(severity)).count();
            let before = errors();
            let made = allocator.create(&place, desc);
            assert_eq!(made.is_ok(), info.SizeInBytes != u64::MAX, "{format}: {made:?}");
            if let Err(error) = made {
                assert!(error.is_unsupported(), "{error}");
                assert_eq!(error.hresult(), E_NOTIMPL);
                assert!(error.to_string().contains(&format!("DXGI_FORMAT {format} ")), "{error}");
                assert_eq!(errors(), before, "{}: {format}", profile.name);
            }
        }
        // These are refused by the device, for a reason that it reports.
        for desc in [
            Desc { Format: DXGI_FORMAT_R9G9B9E5_SHAREDEXP, ..flagged_texture(UAV) },
            sampled(32, 0),
            Desc { Format: DXGI_FORMAT_R32G32B32_FLOAT, ..sampled(16, 0) },
        ] {
            let error = allocator.create(&in_default(), desc).expect_err("it is optional");
            assert!(error.is_unsupported(), "{error}: {desc:?}");
        }
        fails(allocator.create(&in_default(), sampled(4, 77)), QUALITY);
    }
}

/// A buffer that some versions of D3D12 refuse: the error is about its width.
#[test]
fn a_large_buffer_of_the_cpu_is_not_refused_for_its_state() {
    let faults = Faults::new(Some(Call::CreatePlacedResource), E_INVALIDARG);
    let gpu = open("discrete");
    inject(&gpu.device, &faults);
    let allocator = usual(&gpu);
    faults.fail_all();
    for (heap_type, state) in [
        (HeapType::Upload, D3D12_RESOURCE_STATE_GENERIC_READ),
        (HeapType::Upload, COMMON),
        (HeapType::Readback, D3D12_RESOURCE_STATE_COPY_DEST),
    ] {
        let create = |width| {
            let desc = buffer_of(width);
            let made = allocator.create_resource(&place(heap_type, NONE), &desc, state, None);
            let error = made.expect_err("the device refuses it");
            assert!(error.is_invalid_argument());
            assert!(error.to_string().contains("CreatePlacedResource"), "{error}");
            error.to_string()
        };
        let error = create(0xffff_0001);
        assert!(error.starts_with(WIDTH) && error.contains("0xffff0000"), "{error}");
        // Nor is a smaller one, which may begin in each of these states.
        let error = create(1 << 20);
        assert!(error.starts_with("D3D12_RESOURCE_DESC: "), "{error}");
    }
    // A state that not every buffer may begin in is named.
    let desc = buffer_of(1000);
    let made = allocator.create_resource(&in_default(), &desc, D3D12_RESOURCE_STATE_COPY_DEST, None);
    fails(made, "initial_state: ");
}

#[test]
fn a_heap_has_at_least_64_kib() {
    let gpu = open("discrete");
    for bytes in [1, 4096, 65_535] {
        let desc = ResourceAllocatorDesc { max_heap_size: Some(ByteSize::new(bytes)), ..Default::default() };
        let made = ResourceAllocator::new(&gpu.device, None, desc.clone());
        invalid(made, "ResourceAllocatorDesc::max_heap_size: ");
        invalid(usual(&gpu).create_nested(desc), "ResourceAllocatorDesc::max_heap_size: ");
    }
    let desc = ResourceAllocatorDesc { max_heap_size: Some(kib(64)), ..Default::default() };
    let allocator = allocator(&gpu, desc);
    drop(local(&allocator, 1000));
}
