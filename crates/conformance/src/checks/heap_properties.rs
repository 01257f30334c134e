//! Heap properties: the custom equivalents of heap types (the three tables of document UPLOAD), and valid combinations.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, each, require, require_eq};
use crate::check::{Check, Need, check, validation};
use crate::com::{device, memory};
use crate::context::Context;
use crate::desc::*;

const TABLES: &str = "UPLOAD, Support GPU upload heaps with custom heaps";
const CUSTOM: &str = "Learn, D3D12_HEAP_PROPERTIES, CUSTOM";
const ABSTRACT: &str = "Learn, D3D12_HEAP_PROPERTIES";
const NODE_MASK: &str = "Learn, ID3D12Device::GetCustomHeapProperties, nodeMask";
const NODE_MASKS: &str = "Learn, D3D12_HEAP_PROPERTIES, node masks";
const OF_RESOURCE: &str = "Learn, ID3D12Resource::GetHeapProperties";

const NONE: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_NOT_AVAILABLE;
const COMBINE: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE;
const BACK: D3D12_CPU_PAGE_PROPERTY = D3D12_CPU_PAGE_PROPERTY_WRITE_BACK;
const L0: D3D12_MEMORY_POOL = D3D12_MEMORY_POOL_L0;
const L1: D3D12_MEMORY_POOL = D3D12_MEMORY_POOL_L1;

const DISCRETE: &[Need] = &[Need::Discrete];
const UMA: &[Need] = &[Need::NonCoherentUma];
const COHERENT: &[Need] = &[Need::CacheCoherentUma];
const DISCRETE_NEW: &[Need] = &[Need::Discrete, Need::GpuUploadHeapType];
const UMA_NEW: &[Need] = &[Need::NonCoherentUma, Need::GpuUploadHeapType];
const COHERENT_NEW: &[Need] = &[Need::CacheCoherentUma, Need::GpuUploadHeapType];

pub(super) const CHECKS: &[Check] = &[
    check("heap-properties/discrete-upload", TABLES, DISCRETE, |ctx| row(ctx, UPLOAD, COMBINE, L0)),
    check("heap-properties/discrete-default", TABLES, DISCRETE, |ctx| row(ctx, DEFAULT, NONE, L1)),
    check("heap-properties/discrete-readback", TABLES, DISCRETE, |ctx| row(ctx, READBACK, BACK, L0)),
    check("heap-properties/discrete-gpu-upload", TABLES, DISCRETE_NEW, |ctx| {
        row(ctx, GPU_UPLOAD, COMBINE, L1)
    }),
    check("heap-properties/uma-upload", TABLES, UMA, |ctx| row(ctx, UPLOAD, COMBINE, L0)),
    check("heap-properties/uma-default", TABLES, UMA, |ctx| row(ctx, DEFAULT, NONE, L0)),
    check("heap-properties/uma-readback", TABLES, UMA, |ctx| row(ctx, READBACK, BACK, L0)),
    check("heap-properties/uma-gpu-upload", TABLES, UMA_NEW, |ctx| row(ctx, GPU_UPLOAD, COMBINE, L0)),
    check("heap-properties/cache-coherent-upload", TABLES, COHERENT, |ctx| row(ctx, UPLOAD, BACK, L0)),
    check("heap-properties/cache-coherent-default", TABLES, COHERENT, |ctx| row(ctx, DEFAULT, NONE, L0)),
    check("heap-properties/cache-coherent-readback", TABLES, COHERENT, |ctx| row(ctx, READBACK, BACK, L0)),
    check("heap-properties/cache-coherent-gpu-upload", TABLES, COHERENT_NEW, |ctx| {
        row(ctx, GPU_UPLOAD, BACK, L0)
    }),
    check("heap-properties/uma-gpu-upload-is-upload", TABLES, &[Need::Uma, Need::GpuUploadHeapType], |ctx| {
        let [upload, gpu] =
            [UPLOAD, GPU_UPLOAD].map(|heap_type| device::custom_heap_properties(ctx.device(), 0, heap_type));
        require_eq(
            "page property and pool of GPU_UPLOAD against UPLOAD",
            (gpu.CPUPageProperty, gpu.MemoryPoolPreference),
            (upload.CPUPageProperty, upload.MemoryPoolPreference),
        )
    }),
    check("heap-properties/answer-is-custom", "Learn, ID3D12Device::GetCustomHeapProperties", &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            let found = device::custom_heap_properties(ctx.device(), 0, heap_type);
            require_eq(format!("Type for {}", heap_type_name(heap_type)), found.Type, D3D12_HEAP_TYPE_CUSTOM)
        })
    }),
    check("heap-properties/node-masks-of-the-answer", NODE_MASK, &[], |ctx| {
        for mask in [0, 1] {
            let found = device::custom_heap_properties(ctx.device(), mask, DEFAULT);
            for (name, found) in [("Creation", found.CreationNodeMask), ("Visible", found.VisibleNodeMask)] {
                require(found <= 1, || {
                    format!("nodeMask {mask}: expected a {name}NodeMask of at most 1, found {found:#x}")
                })?;
            }
        }
        Ok("node 0".to_owned())
    }),
    check("heap-properties/answers-make-heaps", "Learn, ID3D12Device::GetCustomHeapProperties", &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            let home = device::custom_heap_properties(ctx.device(), 0, heap_type);
            let desc = D3D12_HEAP_DESC { Properties: home, ..buffer_heap(0, 64 * KIB) };
            ctx.create_heap(&desc).ok(format!("the custom properties of {}", heap_type_name(heap_type)))
        })
    }),
    check("heap-properties/custom-upload-is-mapped", CUSTOM, &[], |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, UPLOAD);
        let resource =
            ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).ok("a buffer in custom UPLOAD")?;
        let mapping = ctx.map(&resource).ok("a buffer in custom UPLOAD")?;
        mapping.write(0, &[7; 256]);
        require_eq("bytes", mapping.read(0, 256), vec![7; 256])
    }),
    validation("heap-properties/custom-default-is-not-mapped", CUSTOM, &[], |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, DEFAULT);
        let resource =
            ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).ok("a buffer in custom DEFAULT")?;
        memory::map_raw(&resource, 0, None).refused("NOT_AVAILABLE")
    }),
    check("heap-properties/abstract-types-make-heaps", ABSTRACT, &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            ctx.create_heap(&buffer_heap(heap_type, 64 * KIB)).ok(heap_type_name(heap_type))
        })
    }),
    check("heap-properties/type-0-refused", ABSTRACT, &[], |ctx| refused(ctx, properties(0), "type 0")),
    check("heap-properties/type-out-of-range-refused", ABSTRACT, &[], |ctx| {
        refused(ctx, properties(6), "type 6")?;
        refused(ctx, properties(-1), "type -1")
    }),
    check("heap-properties/abstract-with-page-property-refused", ABSTRACT, &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            let home = D3D12_HEAP_PROPERTIES { CPUPageProperty: BACK, ..properties(heap_type) };
            refused(ctx, home, heap_type_name(heap_type))
        })
    }),
    check("heap-properties/abstract-with-pool-refused", ABSTRACT, &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            let home = D3D12_HEAP_PROPERTIES { MemoryPoolPreference: L0, ..properties(heap_type) };
            refused(ctx, home, heap_type_name(heap_type))
        })
    }),
    check("heap-properties/custom-unknown-page-property-refused", CUSTOM, &[], |ctx| {
        refused(ctx, custom(D3D12_CPU_PAGE_PROPERTY_UNKNOWN, L0), "CPUPageProperty UNKNOWN")
    }),
    check("heap-properties/custom-unknown-pool-refused", CUSTOM, &[], |ctx| {
        refused(ctx, custom(BACK, D3D12_MEMORY_POOL_UNKNOWN), "MemoryPoolPreference UNKNOWN")
    }),
    check("heap-properties/custom-out-of-range-refused", CUSTOM, &[], |ctx| {
        refused(ctx, custom(4, L0), "CPUPageProperty 4")?;
        refused(ctx, custom(BACK, 3), "MemoryPoolPreference 3")
    }),
    check("heap-properties/custom-combinations-in-l0", CUSTOM, &[], |ctx| {
        each([(NONE, "NOT_AVAILABLE"), (COMBINE, "WRITE_COMBINE"), (BACK, "WRITE_BACK")], |(page, name)| {
            ctx.create_heap(&heap_of(custom(page, L0))).ok(format!("{name} in L0"))
        })
    }),
    check("heap-properties/custom-l1-without-cpu-access", CUSTOM, DISCRETE, |ctx| {
        ctx.create_heap(&heap_of(custom(NONE, L1))).taken("NOT_AVAILABLE in L1")
    }),
    validation("heap-properties/custom-l1-refused-on-uma", TABLES, &[Need::Uma], |ctx| {
        each([(NONE, "NOT_AVAILABLE"), (COMBINE, "WRITE_COMBINE"), (BACK, "WRITE_BACK")], |(page, name)| {
            refused(ctx, custom(page, L1), name)
        })
    }),
    check("heap-properties/custom-l1-write-back-refused", TABLES, &[], |ctx| {
        refused(ctx, custom(BACK, L1), "WRITE_BACK in L1")
    }),
    check("heap-properties/node-mask-out-of-range-refused", NODE_MASKS, &[], |ctx| {
        let beyond = 1_u32.checked_shl(device::node_count(ctx.device())).unwrap_or(0);
        let home = properties(DEFAULT);
        refused(
            ctx,
            D3D12_HEAP_PROPERTIES { CreationNodeMask: beyond, VisibleNodeMask: beyond, ..home },
            "a node beyond the last",
        )
    }),
    check("heap-properties/node-mask-one-is-the-first-node", NODE_MASKS, &[], |ctx| {
        let home = D3D12_HEAP_PROPERTIES { CreationNodeMask: 1, VisibleNodeMask: 1, ..properties(DEFAULT) };
        ctx.create_heap(&heap_of(home)).taken("node masks 1")
    }),
    check("heap-properties/resource-reports-its-heaps", OF_RESOURCE, &[], |ctx| {
        let desc = buffer_heap(UPLOAD, 64 * KIB);
        let heap = ctx.create_heap(&desc).ok("64 KiB")?;
        let resource = ctx.place(&heap, 0, &buffer(16)).ok("16 bytes")?;
        let (home, flags) = heap_properties(&resource)?;
        require_eq("Type", home.Type, UPLOAD)?;
        let deny = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
        require_eq("flags that deny", flags & deny, deny)
    }),
    check("heap-properties/committed-resource-reports-its-own", OF_RESOURCE, &[], |ctx| {
        each(HEAP_TYPES, |heap_type| {
            let resource = ctx.commit(heap_type, &buffer(16)).ok(heap_type_name(heap_type))?;
            require_eq("Type", heap_properties(&resource)?.0.Type, heap_type)
        })
    }),
];

fn row(
    ctx: &Context,
    heap_type: D3D12_HEAP_TYPE,
    page: D3D12_CPU_PAGE_PROPERTY,
    pool: D3D12_MEMORY_POOL,
) -> Verdict {
    let found = device::custom_heap_properties(ctx.device(), 0, heap_type);
    require_eq("CPUPageProperty", found.CPUPageProperty, page)?;
    require_eq("MemoryPoolPreference", found.MemoryPoolPreference, pool)?;
    Ok(format!("CPUPageProperty {page}, MemoryPoolPreference {pool}"))
}

fn heap_of(home: D3D12_HEAP_PROPERTIES) -> D3D12_HEAP_DESC {
    D3D12_HEAP_DESC { Properties: home, ..buffer_heap(0, 64 * KIB) }
}

fn refused(ctx: &Context, home: D3D12_HEAP_PROPERTIES, what: &str) -> Verdict {
    ctx.create_heap(&heap_of(home)).refused(what)?;
    ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).refused(what)
}

fn heap_properties(resource: &ID3D12Resource) -> Result<(D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS), Stop> {
    memory::heap_properties(resource).ok("a resource with a heap")
}
