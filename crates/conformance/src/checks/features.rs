//! `CheckFeatureSupport`: consistency of the reported features.

use heapwright_d3d12::sdk_619::*;
use heapwright_d3d12::trim::ID3D12Device15;
use heapwright_d3d12::*;
use windows_core::Interface as _;

use crate::answer::{Stop, ensure, failed, require, require_eq, skipped};
use crate::check::{Check, Need, check, validation};
use crate::com::device;
use crate::context::Context;
use crate::desc::{COMPUTE, COPY, DEFAULT, DIRECT, GPU_UPLOAD, KIB, MIB, buffer, buffer_heap, tight_buffer};
use crate::hresult::Named;

const D3D12: &str = "Learn, ID3D12Device::CheckFeatureSupport";
const NODE_INDEX: &str = "Learn, D3D12_FEATURE_DATA_ARCHITECTURE::NodeIndex";
const ADDRESSES: &str = "Learn, D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT";
const GPU_UPLOAD_CAPS: &str = "UPLOAD, How to find if GPU upload heaps are supported as a developer";
const TRACKING: &str = "UPLOAD, Detect modifications to the GPU Upload Heaps";
const FORMATS: &str = "Learn, D3D12_FEATURE_DATA_FORMAT_SUPPORT";
const SAMPLES: &str = "Learn, D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS";
const OPTIONS22: &str = "DirectX-Specs, D3D12 Revised Create Views, D3D12_FEATURE_DATA_D3D12_OPTIONS22";
const CORE: &str = "Learn, The Direct3D 12 Core 1.0 Feature Level";
const LAYOUTS: &str = "DirectX-Specs, D3D12EnhancedBarriers.md, layouts of command list types";
const ADDRESS_BITS: &str = "Learn, D3D12_FEATURE_DATA_D3D12_OPTIONS, MaxGPUVirtualAddressBitsPerResource";
const SIZE: &str = "Learn, ID3D12Device::CheckFeatureSupport, FeatureSupportDataSize";
const DATA: &str = "Learn, ID3D12Device::CheckFeatureSupport, pFeatureSupportData";

pub(super) const CHECKS: &[Check] = &[
    check("features/options-known", D3D12, &[], |ctx| {
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = ctx.known()?;
        let tier = options.ResourceHeapTier;
        ensure!([1, 2].contains(&tier), "ResourceHeapTier: expected 1 or 2, found {tier}");
        Ok(format!("resource heap tier {tier}"))
    }),
    check("features/architecture-known", D3D12, &[], |ctx| {
        let data: D3D12_FEATURE_DATA_ARCHITECTURE = ctx.known()?;
        Ok(format!("UMA {}, CacheCoherentUMA {}", data.UMA.as_bool(), data.CacheCoherentUMA.as_bool()))
    }),
    check("features/cache-coherent-implies-uma", "Learn, D3D12_FEATURE_DATA_ARCHITECTURE", &[], |ctx| {
        let data: D3D12_FEATURE_DATA_ARCHITECTURE = ctx.known()?;
        require(data.UMA.as_bool() || !data.CacheCoherentUMA.as_bool(), || {
            "CacheCoherentUMA is TRUE, but UMA is FALSE".to_owned()
        })
    }),
    check("features/architecture1-agrees", "Learn, D3D12_FEATURE_DATA_ARCHITECTURE1", &[], |ctx| {
        let old: D3D12_FEATURE_DATA_ARCHITECTURE = ctx.known()?;
        let new: D3D12_FEATURE_DATA_ARCHITECTURE1 = ctx.known()?;
        let old = [old.TileBasedRenderer, old.UMA, old.CacheCoherentUMA].map(|flag| flag.as_bool());
        let found = [new.TileBasedRenderer, new.UMA, new.CacheCoherentUMA].map(|flag| flag.as_bool());
        require_eq("TileBasedRenderer, UMA and CacheCoherentUMA", found, old)
    }),
    validation("features/architecture-node-out-of-range", NODE_INDEX, &[], |ctx| {
        let node = device::node_count(ctx.device());
        let data = D3D12_FEATURE_DATA_ARCHITECTURE { NodeIndex: node, ..Default::default() };
        device::feature_of(ctx.device(), data).refused(format!("NodeIndex {node}"))?;
        let data = D3D12_FEATURE_DATA_ARCHITECTURE1 { NodeIndex: node, ..Default::default() };
        device::feature_of(ctx.device(), data).refused(format!("NodeIndex {node}"))?;
        Ok(format!("node {node} is refused"))
    }),
    check("features/address-bits-agree", ADDRESSES, &[], |ctx| {
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = ctx.known()?;
        let data: D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT = ctx.known()?;
        require_eq(
            "MaxGPUVirtualAddressBitsPerResource against OPTIONS",
            data.MaxGPUVirtualAddressBitsPerResource,
            options.MaxGPUVirtualAddressBitsPerResource,
        )?;
        Ok(format!("{} bits in a resource", data.MaxGPUVirtualAddressBitsPerResource))
    }),
    check("features/address-bits-in-order", ADDRESSES, &[], |ctx| {
        let data: D3D12_FEATURE_DATA_GPU_VIRTUAL_ADDRESS_SUPPORT = ctx.known()?;
        let (one, all) = (data.MaxGPUVirtualAddressBitsPerResource, data.MaxGPUVirtualAddressBitsPerProcess);
        require((31..=64).contains(&one) && one <= all && all <= 64, || {
            format!("{one} bits in a resource and {all} in a process")
        })?;
        Ok(format!("{one} bits in a resource, {all} in a process"))
    }),
    check("features/wrong-sizes-refused", SIZE, &[], |ctx| {
        let mut count = 0;
        for (name, feature, size) in device::features() {
            if !device::feature_of_size(ctx.device(), feature, size).is_ok() {
                continue;
            }
            for wrong in [0, 1, size - 1, size + 1] {
                let found = device::feature_of_size(ctx.device(), feature, wrong);
                require(found == E_INVALIDARG, || {
                    format!(
                        "{name}, {wrong} bytes in place of {size}: expected E_INVALIDARG, found {}",
                        Named(found)
                    )
                })?;
                count += 1;
            }
        }
        Ok(format!("{count} wrong sizes are refused"))
    }),
    check("features/null-data-refused", DATA, &[], |ctx| {
        for (name, feature, size) in device::features() {
            if !device::feature_of_size(ctx.device(), feature, size).is_ok() {
                continue;
            }
            let found = device::feature_of_null(ctx.device(), feature, size);
            ensure!(found == E_INVALIDARG, "{name}: expected E_INVALIDARG, found {}", Named(found));
        }
        Ok("E_INVALIDARG".to_owned())
    }),
    check("features/unknown-features-refused", D3D12, &[], |ctx| {
        for feature in [-1, 0x4000, i32::MAX] {
            // Which error it is the documents leave open; what matters is that code sees one.
            let found = device::feature_of_size(ctx.device(), feature, 4);
            ensure!(found.is_err(), "feature {feature}: expected an error, found {}", Named(found));
        }
        Ok("an error for each".to_owned())
    }),
    check("features/answers-are-stable", D3D12, &[], |ctx| {
        let again = crate::context::Caps::query(ctx.device());
        ensure!(again == *ctx.caps(), "the capabilities changed from {:?} to {again:?}", ctx.caps());
        Ok("two queries agree".to_owned())
    }),
    check("features/tight-alignment-known-tier", "TIGHT, Runtime changes", &[], |ctx| {
        let data: D3D12_FEATURE_DATA_TIGHT_ALIGNMENT = ctx.known()?;
        let tier = data.SupportTier;
        ensure!([0, 1].contains(&tier), "SupportTier: expected 0 or 1, found {tier}");
        Ok(format!("tier {tier}"))
    }),
    check("features/tight-alignment-means-the-flag", "TIGHT, Proposed Solution", &[], |ctx| {
        let tier = ctx.caps().tight_alignment_tier;
        let is_taken = ctx.allocation(&[tight_buffer(100)]).size != u64::MAX;
        require_eq(format!("tier {tier}: the flag is accepted"), is_taken, tier > 0)?;
        Ok(format!("tier {tier}, the flag is {}", if is_taken { "taken" } else { "refused" }))
    }),
    check("features/gpu-upload-means-the-heaps", GPU_UPLOAD_CAPS, &[], |ctx| {
        let says = ctx.caps().gpu_upload_heaps;
        let made = ctx.create_heap(&buffer_heap(GPU_UPLOAD, MIB)).implemented()?;
        require_eq("a GPU_UPLOAD heap is created", made.is_ok(), says)?;
        Ok(format!("GPUUploadHeapSupported {says}, consistent with heap creation"))
    }),
    check("features/write-tracking-off-by-default", TRACKING, &[], |ctx| {
        let data: D3D12_FEATURE_DATA_D3D12_OPTIONS17 = ctx.known()?;
        require(!data.ManualWriteTrackingResourceSupported.as_bool(), || {
            "ManualWriteTrackingResourceSupported is TRUE without a tool".to_owned()
        })
    }),
    check("features/options4-known", "Learn, D3D12_FEATURE_DATA_D3D12_OPTIONS4", &[], |ctx| {
        let data: D3D12_FEATURE_DATA_D3D12_OPTIONS4 = ctx.known()?;
        let tier = data.SharedResourceCompatibilityTier;
        ensure!((0..=2).contains(&tier), "SharedResourceCompatibilityTier: expected 0 to 2, found {tier}");
        Ok(format!("MSAA64KBAlignedTextureSupported {}", data.MSAA64KBAlignedTextureSupported.as_bool()))
    }),
    check("features/options7-known", "Learn, D3D12_FEATURE_DATA_D3D12_OPTIONS7", &[], |ctx| {
        let data: D3D12_FEATURE_DATA_D3D12_OPTIONS7 = ctx.known()?;
        Ok(format!(
            "mesh shader tier {}, sampler feedback tier {}",
            data.MeshShaderTier, data.SamplerFeedbackTier
        ))
    }),
    check("features/options12-known", "Learn, D3D12_FEATURE_DATA_D3D12_OPTIONS12", &[], |ctx| {
        let data: D3D12_FEATURE_DATA_D3D12_OPTIONS12 = ctx.known()?;
        let barriers = data.EnhancedBarriersSupported.as_bool();
        require(barriers || !data.RelaxedFormatCastingSupported.as_bool(), || {
            "RelaxedFormatCastingSupported is TRUE, but EnhancedBarriersSupported is FALSE".to_owned()
        })?;
        Ok(format!("EnhancedBarriersSupported {barriers}"))
    }),
    check("features/options20-known", "Learn, D3D12_FEATURE_DATA_D3D12_OPTIONS20", &[], |ctx| {
        let data: D3D12_FEATURE_DATA_D3D12_OPTIONS20 = ctx.known()?;
        let tier = data.RecreateAtTier;
        ensure!([0, 1].contains(&tier), "RecreateAtTier: expected 0 or 1, found {tier}");
        Ok(format!("RecreateAtTier {tier}"))
    }),
    check("features/options22-known", OPTIONS22, &[], |ctx| {
        let Ok(data) = ctx.feature::<D3D12_FEATURE_DATA_D3D12_OPTIONS22>().result() else {
            return skipped("the device does not know D3D12_FEATURE_D3D12_OPTIONS22");
        };
        let has_interface = ctx.device().cast::<ID3D12Device15>().is_ok();
        let has_views = data.CreateByteOffsetViewsSupported.as_bool();
        ensure!(has_interface || !has_views, "CreateByteOffsetViewsSupported is TRUE without ID3D12Device15");
        Ok(format!("CreateByteOffsetViewsSupported {has_views}"))
    }),
    check("features/compute-only-heaps-mean-the-features", CORE, &[], |ctx| {
        let levels = [D3D_FEATURE_LEVEL_1_0_CORE, D3D_FEATURE_LEVEL_11_0];
        if device::feature_level(ctx.device(), &levels).result() != Ok(D3D_FEATURE_LEVEL_1_0_CORE) {
            return skipped("the device is not compute-only");
        }
        let of_heaps: D3D12_FEATURE_DATA_D3D12_OPTIONS19 = ctx.known()?;
        let of_watches: D3D12_FEATURE_DATA_D3D12_OPTIONS20 = ctx.known()?;
        let plain = buffer_heap(DEFAULT, 64 * KIB);
        let custom = D3D12_HEAP_PROPERTIES {
            Type: D3D12_HEAP_TYPE_CUSTOM,
            CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
            MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
            ..plain.Properties
        };
        let watched = plain.Flags | D3D12_HEAP_FLAG_ALLOW_WRITE_WATCH;
        let cases = [
            (
                "CUSTOM",
                D3D12_HEAP_DESC { Properties: custom, ..plain },
                of_heaps.ComputeOnlyCustomHeapSupported,
            ),
            (
                "ALLOW_WRITE_WATCH",
                D3D12_HEAP_DESC { Flags: watched, ..plain },
                of_watches.ComputeOnlyWriteWatchSupported,
            ),
        ];
        for (what, desc, supported) in cases {
            let made = ctx.create_heap(&desc).implemented()?.is_ok();
            require_eq(format!("a heap with {what} is created"), made, supported.as_bool())?;
        }
        Ok("heaps are as the device says".to_owned())
    }),
    check("features/layout-of-reads-on-two-queues", LAYOUTS, &[Need::EnhancedBarriers], |ctx| {
        let mut supported = [false; 3];
        for (supported, list_type) in supported.iter_mut().zip([DIRECT, COMPUTE, COPY]) {
            let data = D3D12_FEATURE_DATA_BARRIER_LAYOUT {
                CommandListType: list_type,
                Layout: D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_GENERIC_READ_COMPUTE_QUEUE_ACCESSIBLE,
                ..Default::default()
            };
            let Ok(data) = device::feature_of(ctx.device(), data).result() else {
                return skipped("the device does not know D3D12_FEATURE_BARRIER_LAYOUT");
            };
            *supported = data.Supported.as_bool();
        }
        let [direct, compute, copy] = supported;
        require_eq("the layout is supported in compute lists and in direct ones", compute, direct)?;
        require_eq("the layout is supported in copy lists", copy, false)?;
        Ok(format!("supported {direct}"))
    }),
    check("features/barrier-layouts-of-command-lists", LAYOUTS, &[Need::EnhancedBarriers], |ctx| {
        let cases = [
            (D3D12_BARRIER_LAYOUT_COMMON, [true, true, true]),
            (D3D12_BARRIER_LAYOUT_RENDER_TARGET, [true, false, false]),
            (D3D12_BARRIER_LAYOUT_DEPTH_STENCIL_WRITE, [true, false, false]),
            (D3D12_BARRIER_LAYOUT_UNORDERED_ACCESS, [true, true, false]),
            (D3D12_BARRIER_LAYOUT_DIRECT_QUEUE_COMMON, [true, false, false]),
            (D3D12_BARRIER_LAYOUT_COMPUTE_QUEUE_COMMON, [false, true, false]),
        ];
        for (layout, expected) in cases {
            for (list_type, expected) in [DIRECT, COMPUTE, COPY].into_iter().zip(expected) {
                let data = D3D12_FEATURE_DATA_BARRIER_LAYOUT {
                    CommandListType: list_type,
                    Layout: layout,
                    ..Default::default()
                };
                let Ok(data) = device::feature_of(ctx.device(), data).result() else {
                    return skipped("the device does not know D3D12_FEATURE_BARRIER_LAYOUT");
                };
                let what = format!("layout {layout} in lists of type {list_type}");
                require_eq(what, data.Supported.as_bool(), expected)?;
            }
        }
        Ok("as the documents list them".to_owned())
    }),
    check("features/existing-heaps-known", "Learn, D3D12_FEATURE_DATA_EXISTING_HEAPS", &[], |ctx| {
        let data: D3D12_FEATURE_DATA_EXISTING_HEAPS = ctx.known()?;
        Ok(format!("Supported {}", data.Supported.as_bool()))
    }),
    check("features/feature-levels", "Learn, D3D12_FEATURE_DATA_FEATURE_LEVELS", &[], |ctx| {
        let ask = |levels: &[D3D_FEATURE_LEVEL]| device::feature_level(ctx.device(), levels);
        let all =
            [D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_11_1, D3D_FEATURE_LEVEL_12_0, D3D_FEATURE_LEVEL_12_1];
        let highest = ask(&all).ok("four levels")?;
        ensure!(all.contains(&highest), "{highest:#x} is not among the requested levels");
        require_eq("of one level", ask(&all[..1]).ok("one level")?, D3D_FEATURE_LEVEL_11_0)?;
        Ok(format!("{highest:#x}"))
    }),
    check("features/resource-binding-tier", "Learn, Hardware support, resource binding tiers", &[], |ctx| {
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = ctx.known()?;
        let tier = options.ResourceBindingTier;
        let levels = [D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_12_0];
        let level = device::feature_level(ctx.device(), &levels).ok("two levels")?;
        let least = if level >= D3D_FEATURE_LEVEL_12_0 { 2 } else { 1 };
        require((least..=3).contains(&tier), || {
            format!("ResourceBindingTier: expected {least} to 3 on feature level {level:#x}, found {tier}")
        })?;
        Ok(format!("tier {tier}"))
    }),
    check("features/feature-level-means-features", "Learn, Hardware feature levels", &[], |ctx| {
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = ctx.known()?;
        let [base, logic, tiled, conservative] =
            [D3D_FEATURE_LEVEL_11_0, D3D_FEATURE_LEVEL_11_1, D3D_FEATURE_LEVEL_12_0, D3D_FEATURE_LEVEL_12_1];
        let level = device::feature_level(ctx.device(), &[base, logic, tiled, conservative]);
        let level = level.ok("four levels")?;
        let is = |flag: windows_core::BOOL| i32::from(flag.as_bool());
        let required = [
            (logic, "OutputMergerLogicOp", is(options.OutputMergerLogicOp), 1),
            (tiled, "TiledResourcesTier", options.TiledResourcesTier, 2),
            (tiled, "TypedUAVLoadAdditionalFormats", is(options.TypedUAVLoadAdditionalFormats), 1),
            (conservative, "ROVsSupported", is(options.ROVsSupported), 1),
            (conservative, "ConservativeRasterizationTier", options.ConservativeRasterizationTier, 1),
        ];
        for (since, name, found, least) in required.into_iter().filter(|&(since, ..)| since <= level) {
            ensure!(found >= least, "{name} is {found}; feature level {since:#x} requires {least} or more");
        }
        Ok(format!("feature level {level:#x}"))
    }),
    check("features/no-feature-levels-refused", "Learn, D3D12_FEATURE_DATA_FEATURE_LEVELS", &[], |ctx| {
        device::feature_level(ctx.device(), &[]).refused("no levels")
    }),
    check("features/format-support-of-a-common-format", FORMATS, &[], |ctx| {
        let support = format_support(ctx, DXGI_FORMAT_R8G8B8A8_UNORM)?;
        let expected = D3D12_FORMAT_SUPPORT1_TEXTURE2D | D3D12_FORMAT_SUPPORT1_RENDER_TARGET;
        ensure!(support & expected == expected, "R8G8B8A8_UNORM: {support:#x} lacks {expected:#x}");
        Ok(format!("{support:#x}"))
    }),
    check("features/format-support-of-a-depth-format", FORMATS, &[], |ctx| {
        let support = format_support(ctx, DXGI_FORMAT_D32_FLOAT)?;
        let (yes, no) = (D3D12_FORMAT_SUPPORT1_DEPTH_STENCIL, D3D12_FORMAT_SUPPORT1_RENDER_TARGET);
        require(support & yes != 0 && support & no == 0, || {
            format!("D32_FLOAT: expected DEPTH_STENCIL without RENDER_TARGET, found {support:#x}")
        })?;
        Ok(format!("{support:#x}"))
    }),
    check("features/format-support-of-a-block-format", FORMATS, &[], |ctx| {
        let support = format_support(ctx, DXGI_FORMAT_BC1_UNORM)?;
        let (yes, no) = (D3D12_FORMAT_SUPPORT1_TEXTURE2D, D3D12_FORMAT_SUPPORT1_RENDER_TARGET);
        require(support & yes != 0 && support & no == 0, || {
            format!("BC1_UNORM: expected TEXTURE2D without RENDER_TARGET, found {support:#x}")
        })?;
        Ok(format!("{support:#x}"))
    }),
    check("features/sample-quality-levels", SAMPLES, &[], |ctx| {
        let levels = |count| quality_levels(ctx, count);
        // Four samples of a common render target format: every device of feature level 11_0 has them.
        require_eq("quality levels of 1 sample", levels(1)?, 1)?;
        let four = levels(4)?;
        ensure!(four >= 1, "no quality level for 4 samples");
        let three = levels(3)?;
        ensure!(three == 0, "expected no quality levels for 3 samples, found {three}");
        Ok(format!("{four} for 4 samples"))
    }),
    check("features/largest-buffer-is-within-the-bits", ADDRESS_BITS, &[], |ctx| {
        let bits = ctx.caps().gpu_va_bits_per_resource;
        if bits == 0 || bits >= 63 {
            return failed(format!("{bits} bits of GPU virtual address in a resource"));
        }
        let found = ctx.allocation(&[buffer(1 << bits)]);
        require(found.size == 1 << bits || found.size == u64::MAX, || {
            format!("SizeInBytes of a buffer of 2^{bits} bytes is {:#x}", found.size)
        })?;
        let below = ctx.allocation(&[buffer(1 << (bits - 1))]);
        require_eq("the size of half of it", below.size, 1 << (bits - 1))?;
        Ok(format!("2^{bits} bytes: {}", if found.size == u64::MAX { "refused" } else { "taken" }))
    }),
    check("features/heap-tier-is-what-heaps-do", "Learn, D3D12_RESOURCE_HEAP_TIER", &[], |ctx| {
        let desc = D3D12_HEAP_DESC { Flags: D3D12_HEAP_FLAG_NONE, ..buffer_heap(DEFAULT, 64 * KIB) };
        let is_made = ctx.create_heap(&desc).implemented()?.is_ok();
        let tier = ctx.caps().resource_heap_tier;
        require_eq(
            format!("tier {tier}: a heap for all resource categories is created"),
            is_made,
            tier >= 2,
        )?;
        Ok(format!("tier {tier}"))
    }),
];

fn format_support(ctx: &Context, format: DXGI_FORMAT) -> Result<D3D12_FORMAT_SUPPORT1, Stop> {
    let data = D3D12_FEATURE_DATA_FORMAT_SUPPORT { Format: format, ..Default::default() };
    Ok(device::feature_of(ctx.device(), data).ok(format!("format {format}"))?.Support1)
}

fn quality_levels(ctx: &Context, count: u32) -> Result<u32, Stop> {
    let data = D3D12_FEATURE_DATA_MULTISAMPLE_QUALITY_LEVELS {
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleCount: count,
        ..Default::default()
    };
    // A sample count that does not exist may be an error or zero levels.
    let answer = device::feature_of(ctx.device(), data).implemented()?;
    Ok(answer.map_or(0, |data| data.NumQualityLevels))
}
