//! The device and its objects as COM objects: interfaces, private data, names.

use heapwright_d3d12::names::{WKPDID_D3DDebugObjectName, WKPDID_D3DDebugObjectNameW};
use heapwright_d3d12::*;
use windows_core::{GUID, IUnknown, Interface};

use crate::answer::{Stop, Verdict, ensure, failed, require, require_eq};
use crate::check::{Check, Need, check, validation};
use crate::com::{cast, device, memory, object};
use crate::context::Context;
use crate::desc::{COMMON, DEFAULT, KIB, UPLOAD, buffer, buffer_heap, properties};
use crate::hresult::Named;

/// The GUID of the checks' private data.
const OWN: GUID = GUID::from_u128(0x6865_6170_7772_6967_6874_2063_6f6e_6601);
const OTHER: GUID = GUID::from_u128(0x6865_6170_7772_6967_6874_2063_6f6e_6602);

const COMMITTED_RESULT: &str = "Learn, ID3D12Device::CreateCommittedResource, ppvResource";
const LIFETIME: &str = "Learn, ID3D12Device::CreatePlacedResource, lifetime";
const PRIVATE_INTERFACE: &str = "Learn, ID3D12Object::SetPrivateDataInterface";
const NEWER: &str = "Learn, ID3D12Device interface, the newer interfaces";
const HEAP_RESULT: &str = "Learn, ID3D12Device::CreateHeap, ppvHeap";
const COMMITTED: &str = "Learn, ID3D12Device::CreateCommittedResource";
const PLACED_RESULT: &str = "Learn, ID3D12Device::CreatePlacedResource, ppvResource";
const REFERENCES: &str = "vkd3d-proton, tests of private references";
const WINE: &str = "Wine, test_private_data of its D3D12 tests";

pub(super) const CHECKS: &[Check] = &[
    check("device/interfaces-are-one-object", "Learn, IUnknown::QueryInterface, identity", &[], |ctx| {
        let identity = object::identity(ctx.device());
        for (name, found) in interfaces(ctx) {
            if let Some(found) = found {
                require_eq(format!("identity through {name}"), found, identity)?;
            }
        }
        Ok(format!(
            "{} interfaces, one identity",
            interfaces(ctx).iter().filter(|(_, found)| found.is_some()).count()
        ))
    }),
    check("device/newer-interfaces-imply-older", NEWER, &[], |ctx| {
        let found = interfaces(ctx);
        let newest = found.iter().rposition(|(_, identity)| identity.is_some()).unwrap_or(0);
        for (name, identity) in &found[..=newest] {
            ensure!(identity.is_some(), "the device has {} but not {name}", found[newest].0);
        }
        Ok(format!("the newest is {}", found[newest].0))
    }),
    check("device/query-interface-is-symmetric", "Learn, IUnknown::QueryInterface, symmetry", &[], |ctx| {
        let plain: ID3D12Object = ctx.interface("ID3D12Object")?;
        let back = plain.cast::<ID3D12Device>();
        ensure!(back.is_ok(), "QueryInterface from ID3D12Object to ID3D12Device fails");
        let unknown: IUnknown = ctx.interface("IUnknown")?;
        ensure!(unknown.cast::<ID3D12Device>().is_ok(), "QueryInterface from IUnknown to ID3D12Device fails");
        Ok("ID3D12Object and IUnknown return ID3D12Device".to_owned())
    }),
    check("device/foreign-interface-refused", "Learn, IUnknown::QueryInterface, E_NOINTERFACE", &[], |ctx| {
        let no = ctx.device().cast::<ID3D12Resource>().map_err(|error| error.code());
        require(matches!(no, Err(E_NOINTERFACE)), || {
            "QueryInterface for ID3D12Resource: expected E_NOINTERFACE".to_owned()
        })?;
        let no = ctx.device().cast::<ID3D12DeviceChild>().map_err(|error| error.code());
        require(matches!(no, Err(E_NOINTERFACE)), || {
            "QueryInterface for ID3D12DeviceChild: expected E_NOINTERFACE".to_owned()
        })
    }),
    check("device/has-a-node", "Learn, ID3D12Device::GetNodeCount", &[], |ctx| {
        let count = device::node_count(ctx.device());
        ensure!(count >= 1, "GetNodeCount: expected at least 1, found 0");
        Ok(format!("{count} node"))
    }),
    check("device/luid-is-stable", "Learn, ID3D12Device::GetAdapterLuid", &[], |ctx| {
        let (first, second) = (device::adapter_luid(ctx.device()), device::adapter_luid(ctx.device()));
        require_eq("the LUID, queried twice", second, first)?;
        Ok(format!("{:08x}:{:08x}", first.HighPart, first.LowPart))
    }),
    check("device/luid-is-the-adapters", "Learn, ID3D12Device::GetAdapterLuid", &[Need::Adapter], |ctx| {
        let desc = crate::com::adapter::desc(ctx.adapter()?).ok("an adapter")?;
        require_eq("the device's LUID", device::adapter_luid(ctx.device()), desc.AdapterLuid)
    }),
    check("device/is-not-removed", "Learn, ID3D12Device::GetDeviceRemovedReason", &[], |ctx| {
        let reason = device::removed_reason(ctx.device());
        ensure!(reason == S_OK, "expected S_OK, found {}", Named(reason));
        Ok("S_OK".to_owned())
    }),
    check("device/descriptor-sizes", "Learn, ID3D12Device::GetDescriptorHandleIncrementSize", &[], |ctx| {
        let sizes = [
            D3D12_DESCRIPTOR_HEAP_TYPE_CBV_SRV_UAV,
            D3D12_DESCRIPTOR_HEAP_TYPE_SAMPLER,
            D3D12_DESCRIPTOR_HEAP_TYPE_RTV,
            D3D12_DESCRIPTOR_HEAP_TYPE_DSV,
        ]
        .map(|heap_type| device::descriptor_increment(ctx.device(), heap_type));
        if sizes == [0; 4] {
            return Err(Stop::Skipped("the device has no descriptors: every increment is 0".to_owned()));
        }
        ensure!(!sizes.contains(&0), "some increments are 0: {sizes:?}");
        Ok(format!("{sizes:?}"))
    }),
    check("device/heap-knows-its-device", "Learn, ID3D12DeviceChild::GetDevice", &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        belongs(ctx, &heap)
    }),
    check("device/placed-resource-knows-its-device", "Learn, ID3D12DeviceChild::GetDevice", &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        belongs(ctx, &ctx.place(&heap, 0, &buffer(16)).ok("16 bytes")?)
    }),
    check("device/committed-resource-knows-its-device", "Learn, ID3D12DeviceChild::GetDevice", &[], |ctx| {
        belongs(ctx, &ctx.commit(DEFAULT, &buffer(16)).ok("16 bytes")?)
    }),
    check("device/heap-interfaces", "Learn, ID3D12Heap", &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        child_interfaces::<ID3D12Heap>(&heap, heap.cast::<ID3D12Resource>().is_ok())
    }),
    check("device/resource-interfaces", "Learn, ID3D12Resource", &[], |ctx| {
        let resource = ctx.commit(DEFAULT, &buffer(16)).ok("16 bytes")?;
        child_interfaces::<ID3D12Resource>(&resource, resource.cast::<ID3D12Heap>().is_ok())
    }),
    check("device/resource2-answers-with-device8", "Learn, ID3D12Resource2", &[], |ctx| {
        let _: ID3D12Device8 = ctx.interface("ID3D12Device8")?;
        let resource = ctx.commit(DEFAULT, &buffer(16)).ok("16 bytes")?;
        let newer = resource.cast::<ID3D12Resource2>();
        ensure!(newer.is_ok(), "the device has ID3D12Device8, but its resources have no ID3D12Resource2");
        Ok("ID3D12Resource2".to_owned())
    }),
    validation("device/heap-null-result-only-checks", HEAP_RESULT, &[], |ctx| {
        let desc = buffer_heap(DEFAULT, 64 * KIB);
        answers("a valid description", device::check_heap(ctx.device(), Some(&desc)), S_FALSE)?;
        let empty = D3D12_HEAP_DESC { SizeInBytes: 0, ..desc };
        answers("an invalid description", device::check_heap(ctx.device(), Some(&empty)), E_INVALIDARG)
    }),
    check("device/heap-null-desc-refused", "Learn, ID3D12Device::CreateHeap, pDesc", &[], |ctx| {
        answers("no description", device::check_heap(ctx.device(), None), E_INVALIDARG)
    }),
    validation("device/committed-null-result-only-checks", COMMITTED_RESULT, &[], |ctx| {
        let home = properties(DEFAULT);
        let ask = |desc: D3D12_RESOURCE_DESC| {
            device::check_committed(ctx.device(), Some(&home), Some(&desc), COMMON)
        };
        answers("a valid description", ask(buffer(16)), S_FALSE)?;
        answers("an invalid description", ask(buffer(0)), E_INVALIDARG)
    }),
    check("device/committed-null-pointers-refused", COMMITTED, &[], |ctx| {
        let (home, desc) = (properties(DEFAULT), buffer(16));
        answers(
            "no properties",
            device::check_committed(ctx.device(), None, Some(&desc), COMMON),
            E_INVALIDARG,
        )?;
        answers(
            "no description",
            device::check_committed(ctx.device(), Some(&home), None, COMMON),
            E_INVALIDARG,
        )
    }),
    validation("device/placed-null-result-only-checks", PLACED_RESULT, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let ask = |heap, width| device::check_placed(ctx.device(), heap, &buffer(width));
        answers("a valid description", ask(Some(&heap), 16), S_FALSE)?;
        answers("too large", ask(Some(&heap), 64 * KIB + 1), E_INVALIDARG)?;
        answers("no heap", ask(None, 16), E_INVALIDARG)
    }),
    check("device/wrong-interface-creates-nothing", "Learn, ID3D12Device::CreateHeap, riid", &[], |ctx| {
        let desc = buffer_heap(DEFAULT, 64 * KIB);
        let (hresult, is_written) = device::create_heap_as(ctx.device(), &desc, &ID3D12CommandQueue::IID);
        answers("a queue's interface", hresult, E_NOINTERFACE)?;
        ensure!(!is_written, "a pointer was written although the call failed");
        Ok("E_NOINTERFACE and a null pointer".to_owned())
    }),
    check("device/objects-give-their-references-back", "Learn, IUnknown::AddRef and Release", &[], |ctx| {
        let before = object::reference_count(ctx.device());
        for _ in 0..4 {
            let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
            ctx.place(&heap, 0, &buffer(16)).ok("16 bytes")?;
            ctx.commit(DEFAULT, &buffer(16)).ok("16 bytes")?;
        }
        require_eq("references to the device", object::reference_count(ctx.device()), before)?;
        Ok(format!("{before} before and after"))
    }),
    check("device/placed-resources-hold-no-reference", REFERENCES, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(UPLOAD, 64 * KIB)).ok("64 KiB")?;
        let before = object::reference_count(&heap);
        let _resource = ctx.place(&heap, 0, &buffer(16)).ok("16 bytes")?;
        require_eq("references to the heap", object::reference_count(&heap), before)?;
        Ok(format!("{before} before and after"))
    }),
    check("device/placed-resource-outlives-its-heaps-pointer", LIFETIME, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(UPLOAD, 64 * KIB)).ok("64 KiB")?;
        let resource = ctx.place(&heap, 0, &buffer(16)).ok("16 bytes")?;
        drop(heap);
        let mapping = ctx.map(&resource).ok("a buffer whose heap has no other reference")?;
        mapping.write(0, b"still here");
        require_eq("bytes", mapping.read(0, 10), b"still here".to_vec())
    }),
    check("device/private-data-round-trip", "Learn, ID3D12Object::SetPrivateData", &[], |ctx| {
        each_object(ctx, |name, object| {
            answers(name, object::private_data_size(object, &OWN).0, DXGI_ERROR_NOT_FOUND)?;
            // The second takes the place of the first.
            for (data, len) in [(b"first and long".as_slice(), 14), (b"second", 6)] {
                set(name, object, data)?;
                require_eq(format!("{name}: size"), object::private_data_size(object, &OWN), (S_OK, len))?;
                let (hresult, size, _) = object::private_data(object, &OWN, 4);
                require_eq(format!("{name}: 4 bytes"), (hresult, size), (DXGI_ERROR_MORE_DATA, len))?;
                let (hresult, size, bytes) = object::private_data(object, &OWN, 64);
                require_eq(format!("{name}: 64 bytes"), (hresult, size), (S_OK, len))?;
                require_eq(format!("{name}: bytes"), &bytes[..data.len()], data)?;
            }
            // Where nothing is left to remove, S_FALSE would do as well: both are success.
            let removed = object::set_private_data(object, &OWN, None);
            ensure!(removed.is_ok(), "{name}: expected success, found {}", Named(removed));
            answers(name, object::private_data_size(object, &OWN).0, DXGI_ERROR_NOT_FOUND)
        })
    }),
    check("device/private-data-of-some-size-is-removed", WINE, &[], |ctx| {
        each_object(ctx, |name, object| {
            set(name, object, b"12345")?;
            answers(name, object::remove_private_data(object, &OWN, 5), S_OK)?;
            answers(name, object::private_data_size(object, &OWN).0, DXGI_ERROR_NOT_FOUND)
        })
    }),
    check("device/private-data-of-nothing-removed", "vkd3d-proton, test_object_interface", &[], |ctx| {
        each_object(ctx, |name, object| {
            answers(name, object::set_private_data(object, &OTHER, None), S_FALSE)?;
            answers(name, object::set_private_data_interface(object, &OTHER, None), S_OK)?;
            let (hresult, size) = object::private_data_size(object, &OTHER);
            answers(name, hresult, S_OK)?;
            let pointer = u32::try_from(size_of::<usize>()).expect("the size fits in 32 bits");
            require_eq(format!("{name}: size of a null interface"), size, pointer)?;
            answers(name, object::set_private_data(object, &OTHER, None), S_OK)
        })
    }),
    check("device/private-data-is-per-object", "Learn, ID3D12Object::SetPrivateData", &[], |ctx| {
        let desc = buffer_heap(DEFAULT, 64 * KIB);
        let first = object_of(&ctx.create_heap(&desc).ok("64 KiB")?)?;
        let second = object_of(&ctx.create_heap(&desc).ok("64 KiB")?)?;
        set("a heap", &first, b"mine")?;
        answers("another heap", object::private_data_size(&second, &OWN).0, DXGI_ERROR_NOT_FOUND)
    }),
    check("device/private-interface-is-held", PRIVATE_INTERFACE, &[], |ctx| {
        let desc = buffer_heap(DEFAULT, 64 * KIB);
        let owner = object_of(&ctx.create_heap(&desc).ok("64 KiB")?)?;
        let held = ctx.create_heap(&desc).ok("64 KiB")?;
        let before = object::reference_count(&held);
        let unknown: IUnknown = held
            .cast()
            .map_err(|_| Stop::Failed("QueryInterface from ID3D12Heap to IUnknown fails".to_owned()))?;
        answers("attach", object::set_private_data_interface(&owner, &OWN, Some(&unknown)), S_OK)?;
        drop(unknown);
        let during = object::reference_count(&held);
        ensure!(during > before, "expected more than {before} references while attached, found {during}");
        let back = object::private_interface(&owner, &OWN).ok("an interface")?;
        require_eq("the returned interface", object::identity(&back), object::identity(&held))?;
        drop((back, owner));
        require_eq("references after the owner was released", object::reference_count(&held), before)?;
        Ok(format!("{before}, {during} while attached, {before} after"))
    }),
    check("device/private-interface-is-released-when-replaced", PRIVATE_INTERFACE, &[], |ctx| {
        let desc = buffer_heap(DEFAULT, 64 * KIB);
        let owner = object_of(&ctx.create_heap(&desc).ok("64 KiB")?)?;
        let held = ctx.create_heap(&desc).ok("64 KiB")?;
        let before = object::reference_count(&held);
        let unknown: IUnknown = held
            .cast()
            .map_err(|_| Stop::Failed("QueryInterface from ID3D12Heap to IUnknown fails".to_owned()))?;
        answers("attach", object::set_private_data_interface(&owner, &OWN, Some(&unknown)), S_OK)?;
        drop(unknown);
        set("replace", &owner, b"bytes")?;
        require_eq("references after the data was replaced", object::reference_count(&held), before)?;
        Ok(format!("{before} before and after"))
    }),
    check("device/name-is-private-data", "Learn, ID3D12Object::SetName", &[], |ctx| {
        each_object(ctx, |name, object| {
            answers(name, object::set_name(object, "Höhe"), S_OK)?;
            let (hresult, size, bytes) = object::private_data(object, &WKPDID_D3DDebugObjectNameW, 64);
            answers(name, hresult, S_OK)?;
            let expected: Vec<u8> = "Höhe".encode_utf16().flat_map(u16::to_le_bytes).collect();
            // With the terminating zero or without it: the documents do not say.
            require(size == 8 || size == 10, || {
                format!("{name}: expected 8 or 10 bytes for a name of 4 letters, found {size}")
            })?;
            require_eq(format!("{name}: letters"), &bytes[..8], &expected[..])
        })
    }),
    check(
        "device/narrow-name-is-kept",
        "Learn, ID3D12Object::SetName, WKPDID_D3DDebugObjectName",
        &[],
        |ctx| {
            each_object(ctx, |name, object| {
                let hresult = object::set_private_data(object, &WKPDID_D3DDebugObjectName, Some(b"narrow"));
                answers(name, hresult, S_OK)?;
                let (hresult, size, bytes) = object::private_data(object, &WKPDID_D3DDebugObjectName, 64);
                answers(name, hresult, S_OK)?;
                require_eq(format!("{name}: letters"), (size, &bytes[..6]), (6, b"narrow".as_slice()))
            })
        },
    ),
    check("device/heap1-by-the-newer-call", "Learn, ID3D12Device4::CreateHeap1", &[], |ctx| {
        let newer: ID3D12Device4 = ctx.interface("ID3D12Device4")?;
        let desc = buffer_heap(DEFAULT, 128 * KIB);
        let heap = device::create_heap1(&newer, &desc).ok("128 KiB")?;
        let heap: ID3D12Heap = heap
            .cast()
            .map_err(|_| Stop::Failed("QueryInterface from ID3D12Heap1 to ID3D12Heap fails".to_owned()))?;
        require_eq("SizeInBytes", memory::heap_desc(&heap).SizeInBytes, 128 * KIB)
    }),
    check("device/heap1-of-nothing-refused", "Learn, ID3D12Device4::CreateHeap1", &[], |ctx| {
        let newer: ID3D12Device4 = ctx.interface("ID3D12Device4")?;
        let desc = buffer_heap(DEFAULT, 0);
        device::create_heap1(&newer, &desc).refused("0 bytes")
    }),
];

macro_rules! identities {
    ($ctx:ident: $($interface:ident),* $(,)?) => {
        vec![$((
            stringify!($interface),
            $ctx.device().cast::<$interface>().ok().map(|one| object::identity(&one)),
        )),*]
    };
}

/// Returns each interface with the COM identity that it leads to, or `None` if the device does not have the interface.
fn interfaces(ctx: &Context) -> Vec<(&'static str, Option<usize>)> {
    identities!(
        ctx: ID3D12Device,
        ID3D12Device1,
        ID3D12Device2,
        ID3D12Device3,
        ID3D12Device4,
        ID3D12Device5,
        ID3D12Device6,
        ID3D12Device7,
        ID3D12Device8,
        ID3D12Device9,
        ID3D12Device10,
        ID3D12Device11,
        ID3D12Device12,
        ID3D12Device13,
        ID3D12Device14,
    )
}

fn answers(what: &str, found: windows_core::HRESULT, expected: windows_core::HRESULT) -> Verdict {
    require(found == expected, || format!("{what}: expected {}, found {}", Named(expected), Named(found)))
}

fn belongs<I: Interface>(ctx: &Context, child: &I) -> Verdict {
    let device = object::device_of(child).ok("an object of the device")?;
    // Not `require_eq`, whose result has the value: addresses differ from run to run.
    let is_same = object::identity(&device) == object::identity(ctx.device());
    require(is_same, || "GetDevice returns another device than the one that created the object".to_owned())
}

/// Fails the check unless an object has the interfaces of a pageable with one identity and no interface of another
/// kind.
fn child_interfaces<I: Interface>(child: &I, is_also_else: bool) -> Verdict {
    let identity = object::identity(child);
    let found = [
        ("ID3D12Object", child.cast::<ID3D12Object>().ok().map(|one| object::identity(&one))),
        ("ID3D12DeviceChild", child.cast::<ID3D12DeviceChild>().ok().map(|one| object::identity(&one))),
        ("ID3D12Pageable", child.cast::<ID3D12Pageable>().ok().map(|one| object::identity(&one))),
    ];
    for (name, one) in found {
        require_eq(format!("identity through {name}"), one, Some(identity))?;
    }
    if is_also_else || child.cast::<ID3D12Device>().is_ok() {
        return failed("QueryInterface succeeds for an interface of a different object type");
    }
    Ok("ID3D12Object, ID3D12DeviceChild and ID3D12Pageable".to_owned())
}

fn object_of<I: Interface>(child: &I) -> Result<ID3D12Object, Stop> {
    cast(child).or_else(|hresult| failed(format!("the object has no ID3D12Object: {}", Named(hresult))))
}

fn set(name: &str, object: &ID3D12Object, data: &[u8]) -> Verdict {
    answers(name, object::set_private_data(object, &OWN, Some(data)), S_OK)
}

/// Runs a test on a heap, a placed and a committed resource, and the device, and removes the device's data afterwards.
fn each_object(ctx: &Context, test: impl Fn(&str, &ID3D12Object) -> Verdict) -> Verdict {
    let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
    let placed = ctx.place(&heap, 0, &buffer(16)).ok("16 bytes")?;
    let committed = ctx.commit(DEFAULT, &buffer(16)).ok("16 bytes")?;
    test("a heap", &object_of(&heap)?)?;
    test("a placed resource", &object_of(&placed)?)?;
    test("a committed resource", &object_of(&committed)?)?;
    let device = object_of(ctx.device())?;
    let result = test("the device", &device);
    let cleaned = object::set_private_data(&device, &OWN, None);
    result?;
    ensure!(cleaned.is_ok(), "removing the device's data: {}", Named(cleaned));
    Ok("heap, placed resource, committed resource and device".to_owned())
}
