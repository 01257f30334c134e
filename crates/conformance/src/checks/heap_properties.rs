//! Heap properties: what each heap type stands for, and which custom ones exist (document UPLOAD's three tables).

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, require, require_eq};
use crate::check::{Check, Need, check};
use crate::com::{device, memory};
use crate::context::Context;
use crate::desc::{KIB, buffer, buffer_heap, custom, heap_type_name, properties};

const TABLES: &str = "UPLOAD, Support GPU upload heaps with custom heaps";
const CUSTOM: &str = "D3D12, D3D12_HEAP_PROPERTIES, CUSTOM";
const ABSTRACT: &str = "D3D12, D3D12_HEAP_PROPERTIES";

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
    check("heap-properties/discrete-upload", TABLES, DISCRETE, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_UPLOAD, COMBINE, L0)
    }),
    check("heap-properties/discrete-default", TABLES, DISCRETE, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_DEFAULT, NONE, L1)
    }),
    check("heap-properties/discrete-readback", TABLES, DISCRETE, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_READBACK, BACK, L0)
    }),
    check("heap-properties/discrete-gpu-upload", TABLES, DISCRETE_NEW, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_GPU_UPLOAD, COMBINE, L1)
    }),
    check("heap-properties/uma-upload", TABLES, UMA, |ctx| row(ctx, D3D12_HEAP_TYPE_UPLOAD, COMBINE, L0)),
    check("heap-properties/uma-default", TABLES, UMA, |ctx| row(ctx, D3D12_HEAP_TYPE_DEFAULT, NONE, L0)),
    check("heap-properties/uma-readback", TABLES, UMA, |ctx| row(ctx, D3D12_HEAP_TYPE_READBACK, BACK, L0)),
    check("heap-properties/uma-gpu-upload", TABLES, UMA_NEW, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_GPU_UPLOAD, COMBINE, L0)
    }),
    check("heap-properties/cache-coherent-upload", TABLES, COHERENT, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_UPLOAD, BACK, L0)
    }),
    check("heap-properties/cache-coherent-default", TABLES, COHERENT, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_DEFAULT, NONE, L0)
    }),
    check("heap-properties/cache-coherent-readback", TABLES, COHERENT, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_READBACK, BACK, L0)
    }),
    check("heap-properties/cache-coherent-gpu-upload", TABLES, COHERENT_NEW, |ctx| {
        row(ctx, D3D12_HEAP_TYPE_GPU_UPLOAD, BACK, L0)
    }),
    check("heap-properties/uma-gpu-upload-is-upload", TABLES, &[Need::Uma, Need::GpuUploadHeapType], |ctx| {
        let [upload, gpu] = [D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_GPU_UPLOAD]
            .map(|heap_type| device::custom_heap_properties(ctx.device(), 0, heap_type));
        require_eq(
            "page property and pool of GPU_UPLOAD against UPLOAD",
            (gpu.CPUPageProperty, gpu.MemoryPoolPreference),
            (upload.CPUPageProperty, upload.MemoryPoolPreference),
        )?;
        Ok("the same".to_owned())
    }),
    check("heap-properties/answer-is-custom", "D3D12, GetCustomHeapProperties", &[], |ctx| {
        for heap_type in [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
            let found = device::custom_heap_properties(ctx.device(), 0, heap_type);
            require_eq(
                format!("Type for {}", heap_type_name(heap_type)),
                found.Type,
                D3D12_HEAP_TYPE_CUSTOM,
            )?;
        }
        Ok("CUSTOM".to_owned())
    }),
    check(
        "heap-properties/node-masks-of-the-answer",
        "D3D12, GetCustomHeapProperties, nodeMask",
        &[],
        |ctx| {
            for mask in [0, 1] {
                let found = device::custom_heap_properties(ctx.device(), mask, D3D12_HEAP_TYPE_DEFAULT);
                for (name, found) in
                    [("Creation", found.CreationNodeMask), ("Visible", found.VisibleNodeMask)]
                {
                    require(found <= 1, || format!("nodeMask {mask}: {name}NodeMask is {found:#x}"))?;
                }
            }
            Ok("node 0".to_owned())
        },
    ),
    check("heap-properties/answers-make-heaps", "D3D12, GetCustomHeapProperties", &[], |ctx| {
        for heap_type in [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
            let home = device::custom_heap_properties(ctx.device(), 0, heap_type);
            let desc = D3D12_HEAP_DESC { Properties: home, ..buffer_heap(0, 64 * KIB) };
            ctx.create_heap(&desc).ok(format!("the custom properties of {}", heap_type_name(heap_type)))?;
        }
        Ok("DEFAULT, UPLOAD and READBACK".to_owned())
    }),
    check("heap-properties/custom-upload-is-mapped", CUSTOM, &[], |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, D3D12_HEAP_TYPE_UPLOAD);
        let resource =
            ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).ok("a buffer in custom UPLOAD")?;
        let mapping = ctx.map(&resource).ok("a buffer in custom UPLOAD")?;
        mapping.write(0, &[7; 256]);
        require_eq("bytes", mapping.read(0, 256), vec![7; 256])?;
        Ok("256 bytes written and read".to_owned())
    }),
    check("heap-properties/custom-default-is-not-mapped", CUSTOM, &[], |ctx| {
        let home = device::custom_heap_properties(ctx.device(), 0, D3D12_HEAP_TYPE_DEFAULT);
        let resource =
            ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).ok("a buffer in custom DEFAULT")?;
        ctx.answer("Map", memory::map_raw(&resource, 0, None)).refused("NOT_AVAILABLE")?;
        Ok("E_INVALIDARG".to_owned())
    })
    .validates(),
    check("heap-properties/abstract-types-make-heaps", ABSTRACT, &[], |ctx| {
        for heap_type in [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
            ctx.create_heap(&buffer_heap(heap_type, 64 * KIB)).ok(heap_type_name(heap_type))?;
        }
        Ok("DEFAULT, UPLOAD and READBACK".to_owned())
    }),
    check("heap-properties/type-0-refused", ABSTRACT, &[], |ctx| refused(ctx, properties(0), "type 0")),
    check("heap-properties/type-out-of-range-refused", ABSTRACT, &[], |ctx| {
        refused(ctx, properties(6), "type 6")?;
        refused(ctx, properties(-1), "type -1")
    }),
    check("heap-properties/abstract-with-page-property-refused", ABSTRACT, &[], |ctx| {
        for heap_type in [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
            let home = D3D12_HEAP_PROPERTIES { CPUPageProperty: BACK, ..properties(heap_type) };
            refused(ctx, home, heap_type_name(heap_type))?;
        }
        Ok("E_INVALIDARG for each".to_owned())
    }),
    check("heap-properties/abstract-with-pool-refused", ABSTRACT, &[], |ctx| {
        for heap_type in [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
            let home = D3D12_HEAP_PROPERTIES { MemoryPoolPreference: L0, ..properties(heap_type) };
            refused(ctx, home, heap_type_name(heap_type))?;
        }
        Ok("E_INVALIDARG for each".to_owned())
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
        for (page, name) in [(NONE, "NOT_AVAILABLE"), (COMBINE, "WRITE_COMBINE"), (BACK, "WRITE_BACK")] {
            ctx.create_heap(&heap_of(custom(page, L0))).ok(format!("{name} in L0"))?;
        }
        Ok("NOT_AVAILABLE, WRITE_COMBINE and WRITE_BACK".to_owned())
    }),
    check("heap-properties/custom-l1-without-cpu-access", CUSTOM, DISCRETE, |ctx| {
        ctx.create_heap(&heap_of(custom(NONE, L1))).ok("NOT_AVAILABLE in L1")?;
        Ok("NOT_AVAILABLE in L1".to_owned())
    }),
    check("heap-properties/custom-l1-refused-on-uma", TABLES, &[Need::Uma], |ctx| {
        for (page, name) in [(NONE, "NOT_AVAILABLE"), (COMBINE, "WRITE_COMBINE"), (BACK, "WRITE_BACK")] {
            refused(ctx, custom(page, L1), name)?;
        }
        Ok("E_INVALIDARG for each page property".to_owned())
    })
    .validates(),
    check("heap-properties/custom-l1-write-back-refused", TABLES, &[], |ctx| {
        refused(ctx, custom(BACK, L1), "WRITE_BACK in L1")
    }),
    check(
        "heap-properties/node-mask-out-of-range-refused",
        "D3D12, D3D12_HEAP_PROPERTIES, node masks",
        &[],
        |ctx| {
            let beyond = 1_u32.checked_shl(device::node_count(ctx.device())).unwrap_or(0);
            let home = properties(D3D12_HEAP_TYPE_DEFAULT);
            refused(
                ctx,
                D3D12_HEAP_PROPERTIES { CreationNodeMask: beyond, VisibleNodeMask: beyond, ..home },
                "a node beyond the last",
            )
        },
    ),
    check(
        "heap-properties/node-mask-one-is-the-first-node",
        "D3D12, D3D12_HEAP_PROPERTIES, node masks",
        &[],
        |ctx| {
            let home = D3D12_HEAP_PROPERTIES {
                CreationNodeMask: 1,
                VisibleNodeMask: 1,
                ..properties(D3D12_HEAP_TYPE_DEFAULT)
            };
            ctx.create_heap(&heap_of(home)).ok("node masks 1")?;
            Ok("taken".to_owned())
        },
    ),
    check(
        "heap-properties/resource-reports-its-heaps",
        "D3D12, ID3D12Resource::GetHeapProperties",
        &[],
        |ctx| {
            let desc = buffer_heap(D3D12_HEAP_TYPE_UPLOAD, 64 * KIB);
            let heap = ctx.create_heap(&desc).ok("64 KiB")?;
            let resource = ctx.place(&heap, 0, &buffer(16)).ok("16 bytes")?;
            let (home, flags) = heap_properties(ctx, &resource)?;
            require_eq("Type", home.Type, D3D12_HEAP_TYPE_UPLOAD)?;
            let deny = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
            require_eq("flags that deny", flags & deny, deny)?;
            Ok("UPLOAD, ALLOW_ONLY_BUFFERS".to_owned())
        },
    ),
    check(
        "heap-properties/committed-resource-reports-its-own",
        "D3D12, ID3D12Resource::GetHeapProperties",
        &[],
        |ctx| {
            for heap_type in [D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_TYPE_READBACK] {
                let resource = ctx.commit(heap_type, &buffer(16)).ok(heap_type_name(heap_type))?;
                require_eq("Type", heap_properties(ctx, &resource)?.0.Type, heap_type)?;
            }
            Ok("DEFAULT, UPLOAD and READBACK".to_owned())
        },
    ),
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
    ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, &buffer(256)).refused(what)?;
    Ok("E_INVALIDARG for a heap and for a committed resource".to_owned())
}

fn heap_properties(
    ctx: &Context,
    resource: &ID3D12Resource,
) -> Result<(D3D12_HEAP_PROPERTIES, D3D12_HEAP_FLAGS), Stop> {
    ctx.answer("GetHeapProperties", memory::heap_properties(resource)).ok("a resource with a heap")
}
