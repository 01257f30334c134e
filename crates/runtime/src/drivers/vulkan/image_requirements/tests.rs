//! Comparison with images that the first device creates. Without one, the tests print the reason and pass.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use heapwright_d3d12::*;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::ddi::{Extent, ResourceKind, TextureUsage};
use crate::drivers::driver::Backend as _;
use crate::drivers::layout::TextureLayout;
use crate::drivers::vulkan::fault_tests::{open_with, or_skip};
use crate::drivers::vulkan::{VulkanBackend, validation_messages};
use crate::format::{FormatProperties, properties};
use crate::rules::tests::texture::any_texture;
use crate::rules::{Options, allocation_info, resource};
use crate::{DeviceOptions, Instance};

/// Images of at most this size get memory in the tests.
const MOST: u64 = 32 << 20;

/// Describes a texture of 64 by 64 texels.
fn square(format: &'static FormatProperties) -> TextureArgs {
    TextureArgs {
        dimension: TextureDimension::Texture2D,
        extent: Extent { width: 64, height: 64, depth: 1 },
        array_size: 1,
        mip_levels: 1,
        format,
        sample_count: 1,
        layout: TextureMemoryLayout::Unknown,
        usage: TextureUsage::default(),
    }
}

/// Binds an image to memory at an offset at which the texture may be placed, and destroys it. Returns its requirements.
fn bind(
    device: &LogicalDevice,
    image: &ImageDesc,
    place: ResourceAllocation,
) -> Result<ResourceAllocation, vk::Result> {
    let (functions, offset) = (device.functions(), place.alignment.get());
    // SAFETY: the device supports the image; the memory is of a type that the image may have, and large enough for it
    // at the offset, if that is right; nothing is in use when it is freed.
    unsafe {
        let created = functions.create_image(&image.info(), None)?;
        let needs = functions.get_image_memory_requirements(created);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(offset + place.size.get())
            .memory_type_index(needs.memory_type_bits.trailing_zeros());
        let bound = functions.allocate_memory(&info, None).and_then(|memory| {
            let bound = functions.bind_image_memory(created, memory, offset);
            functions.destroy_image(created, None);
            functions.free_memory(memory, None);
            bound
        });
        bound.map(|()| ResourceAllocation {
            size: ByteSize::new(needs.size),
            alignment: hardware::alignment(needs.alignment),
        })
    }
}

/// The requirements are those of a created image, and wherever D3D12 permits a texture, the image could be bound.
#[test]
fn images_fit_where_their_textures_are_placed() {
    let Some(driver) = or_skip(VulkanBackend::open(0)) else { return };
    let bound = Cell::new(0);
    let textures = (any_texture(), any::<bool>());
    let checked = TestRunner::new(Config { failure_persistence: None, ..Config::default() }).run(
        &textures,
        |(desc, is_tight)| {
            let flag =
                if is_tight { D3D12_RESOURCE_FLAG_USE_TIGHT_ALIGNMENT } else { D3D12_RESOURCE_FLAG_NONE };
            let desc = D3D12_RESOURCE_DESC1 { Flags: desc.Flags | flag, ..desc };
            let Ok(resource) = resource::check(&desc, driver.caps(), &Options::default()) else {
                return Ok(());
            };
            let args = allocation_info::args(&resource, allocation_info::PLACED_MINIMUM, None);
            let ResourceKind::Texture(texture) = args.kind else { return Ok(()) };
            let place = driver.check_resource_allocation_info(&args);
            let texels = TextureLayout::of_texture(texture).total_size();
            let needs = driver.images.of_texture(&texture, texels);
            let queried = ImageRequirements::new(&driver.device).of_texture(&texture, texels);
            prop_assert_eq!(queried, needs, "kept");
            let Some(needs) = needs.filter(|needs| needs.alignment <= place.alignment) else { return Ok(()) };
            prop_assert!(needs.size <= place.size);
            let mut images = formats(&texture).iter().filter_map(|&format| ImageDesc::new(&texture, format));
            let image = images.find(|image| image.is_supported(&driver.device, texels));
            if let Some(image) = image.filter(|_| place.size.get() <= MOST) {
                prop_assert_eq!(bind(&driver.device, &image, place), Ok(needs));
                bound.set(bound.get() + 1);
            }
            Ok(())
        },
    );
    checked.expect("no texture differs");
    assert!(bound.get() >= 30, "{} images were bound", bound.get());
    // Other tests of this process call Vulkan wrongly on purpose, but not for images.
    let messages = validation_messages().into_iter().filter(|message| message.contains("Image"));
    assert_eq!(messages.collect::<Vec<_>>(), Vec::<String>::new());
}

/// Textures whose texels the driver or D3D12 arranges have no image, and neither do those that the device cannot
/// create.
#[test]
fn some_textures_have_no_image() {
    let Some(driver) = or_skip(VulkanBackend::open(0)) else { return };
    let texture = square(properties(DXGI_FORMAT_R8G8B8A8_UNORM).expect("a known format"));
    let has_image = |texture| driver.images.of_texture(&texture, ByteSize::from_kib(16)).is_some();
    assert!(has_image(texture));
    for layout in [TextureMemoryLayout::RowMajor, TextureMemoryLayout::UndefinedSwizzle64Kib] {
        assert!(!has_image(TextureArgs { layout, ..texture }), "{layout:?}");
    }
    assert!(has_image(TextureArgs { mip_levels: 7, ..texture }));
    assert!(!has_image(TextureArgs { mip_levels: 8, ..texture }), "more levels than the extent has");
    let format = properties(DXGI_FORMAT_R8G8_B8G8_UNORM).expect("a known format");
    assert!(!has_image(TextureArgs { format, ..texture }));
}

/// The formats of textures without a corresponding format in Vulkan are those that are meant.
#[test]
fn formats_of_textures_have_formats_in_vulkan() {
    let without: Vec<_> = (0..256)
        .filter_map(properties)
        .filter(|format| format.resource_support().has(D3D12_FORMAT_SUPPORT1_TEXTURE2D))
        .filter(|format| formats(&square(format)).is_empty())
        .map(|format| format.name)
        .collect();
    let expected = [
        "DXGI_FORMAT_R8G8_B8G8_UNORM",
        "DXGI_FORMAT_G8R8_G8B8_UNORM",
        "DXGI_FORMAT_R10G10B10_XR_BIAS_A2_UNORM",
        // Of video: their planes and palettes are arranged by the driver.
        "DXGI_FORMAT_AYUV",
        "DXGI_FORMAT_Y410",
        "DXGI_FORMAT_Y416",
        "DXGI_FORMAT_NV12",
        "DXGI_FORMAT_P010",
        "DXGI_FORMAT_P016",
        "DXGI_FORMAT_420_OPAQUE",
        "DXGI_FORMAT_YUY2",
        "DXGI_FORMAT_Y210",
        "DXGI_FORMAT_Y216",
        "DXGI_FORMAT_NV11",
        "DXGI_FORMAT_AI44",
        "DXGI_FORMAT_IA44",
        "DXGI_FORMAT_P8",
        "DXGI_FORMAT_A8P8",
        "DXGI_FORMAT_P208",
        "DXGI_FORMAT_V208",
        "DXGI_FORMAT_V408",
    ];
    assert_eq!(without, expected);
}

/// The largest textures that D3D12 permits are larger than the images of some devices.
#[test]
fn textures_may_be_larger_than_the_images_of_the_device() {
    let Some(driver) = or_skip(VulkanBackend::open(0)) else { return };
    let format = properties(DXGI_FORMAT_R32G32B32A32_FLOAT).expect("a known format");
    let mut has_image = true;
    // From one texel to 16,384 by 16,384 with 2,048 slices.
    for log2 in 0..=25_u32 {
        let width = 1 << log2.min(14);
        let extent = Extent { width, height: width, depth: 1 };
        let texture = TextureArgs { extent, array_size: 1 << log2.saturating_sub(14), ..square(format) };
        let texels = TextureLayout::of_texture(texture).total_size();
        let found = driver.images.of_texture(&texture, texels);
        // Every device has images of 2 GiB, by the rules of Vulkan.
        assert!(found.is_some() || texels > ByteSize::from_gib(2), "{texture:?}");
        assert!(has_image || found.is_none(), "smaller images do not exist: {texture:?}");
        assert!(found.is_none_or(|found| found.size.get() >= extent.volume() * 16), "{texture:?}");
        has_image = found.is_some();
    }
}

/// The calls of `vkGetDeviceImageMemoryRequirements` on this test's device.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// The device's own function.
static REAL: AtomicUsize = AtomicUsize::new(0);

unsafe extern "system" fn ask(
    device: vk::Device,
    image: *const vk::DeviceImageMemoryRequirements<'_>,
    found: *mut vk::MemoryRequirements2<'_>,
) {
    ASKED.fetch_add(1, Ordering::SeqCst);
    let real = std::ptr::with_exposed_provenance::<c_void>(REAL.load(Ordering::SeqCst));
    // SAFETY: the device returned this function for the name; the arguments are the driver's.
    unsafe {
        let real: vk::PFN_vkGetDeviceImageMemoryRequirements = std::mem::transmute(real);
        real(device, image, found);
    }
}

/// The device is asked once for each texture that is created, also when more descriptions are in use than are kept.
#[test]
fn creation_asks_the_device_once() {
    let replace = |name: &CStr, real: *const c_void| {
        if name == c"vkGetDeviceImageMemoryRequirements" && !real.is_null() {
            REAL.store(real.expose_provenance(), Ordering::SeqCst);
            return ask as vk::PFN_vkGetDeviceImageMemoryRequirements as *const c_void;
        }
        real
    };
    let Some(device) = open_with(replace) else { return };
    let backend = VulkanBackend::over(device).expect("a driver");
    let texture = square(properties(DXGI_FORMAT_R8G8B8A8_UNORM).expect("a known format"));
    let asked = |width| {
        let extent = Extent { width, height: 64, depth: 1 };
        backend.images.of_texture(&TextureArgs { extent, ..texture }, ByteSize::from_mib(2));
        ASKED.swap(0, Ordering::SeqCst)
    };
    let many = u32::try_from(KEPT).expect("a few thousand") + 100;
    assert!((1..=many).all(|width| asked(width) == 1), "each once");
    assert_eq!(asked(many), 0, "the last ones are kept");
    let gpu = Instance::over(Arc::new(Arc::clone(&backend).driver()), DeviceOptions::default(), &[]);
    let gpu = gpu.expect("a device");
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: 77,
        Height: 33,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    };
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let mut made: Option<ID3D12Resource> = None;
    // SAFETY: a live device, readable descriptions, a writable result.
    unsafe {
        gpu.device.CreateCommittedResource(
            &properties,
            D3D12_HEAP_FLAG_NONE,
            &desc,
            D3D12_RESOURCE_STATE_COMMON,
            None,
            &mut made,
        )
    }
    .expect("a texture");
    assert_eq!(ASKED.load(Ordering::SeqCst), 1, "a description that is not kept");
}
