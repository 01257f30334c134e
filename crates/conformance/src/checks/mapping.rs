//! `Map` and `Unmap`, and access to texels by `WriteToSubresource` and `ReadFromSubresource`.

use heapwright_d3d12::*;

use crate::answer::{Stop, Verdict, each, ensure, require, require_eq, skipped};
use crate::check::{Check, Need, check, validation};
use crate::com::device::Home;
use crate::com::memory::{self, Mapping};
use crate::context::{Context, state_of};
use crate::desc::*;

const MAP: &str = "Learn, ID3D12Resource::Map";
const MAP_TEXTURE: &str = "vkd3d-proton, test_map_texture_validation";
const SUBRESOURCE: &str = "vkd3d-proton, test_read_write_subresource";
const READ_RANGE: &str = "Learn, ID3D12Resource::Map, pReadRange";
const HEAP_MEMORY: &str = "Learn, ID3D12Heap, memory outlives its resources";
const OBSERVED: &str = "observed on Windows, ID3D12Resource::Map, ppData";

pub(super) const CHECKS: &[Check] = &[
    check("mapping/upload", MAP, &[], |ctx| round_trip(ctx, UPLOAD)),
    check("mapping/readback", MAP, &[], |ctx| round_trip(ctx, READBACK)),
    check("mapping/default-refused", MAP, &[], |ctx| {
        let resource = ctx.commit(DEFAULT, &buffer(256)).ok("256 bytes")?;
        memory::map_raw(&resource, 0, None).refused("a buffer in DEFAULT")?;
        memory::map_without_pointer(&resource, 0).refused("without a pointer")
    }),
    check("mapping/placed-default-refused", MAP, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(DEFAULT, 64 * KIB)).ok("64 KiB")?;
        let resource = ctx.place(&heap, 0, &buffer(256)).ok("256 bytes")?;
        memory::map_raw(&resource, 0, None).refused("a placed buffer in DEFAULT")
    }),
    check("mapping/second-subresource-refused", "Learn, ID3D12Resource::Map, Subresource", &[], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(256)).ok("256 bytes")?;
        each([1, 2, u32::MAX], |subresource| {
            memory::map_raw(&resource, subresource, None).refused(format!("subresource {subresource}"))
        })
    }),
    validation("mapping/failure-leaves-the-pointer", OBSERVED, &[], |ctx| {
        const BEFORE: usize = 0x5555;
        let default = ctx.commit(DEFAULT, &buffer(256)).ok("256 bytes")?;
        let upload = ctx.commit(UPLOAD, &buffer(256)).ok("256 bytes")?;
        for (resource, subresource, what) in [(default, 0, "of DEFAULT"), (upload, 1, "of subresource 1")] {
            let (result, found) = memory::map_over(&resource, subresource, BEFORE);
            result.fails(what)?;
            ensure!(found == BEFORE, "Map {what} failed and changed *ppData");
        }
        Ok("the pointer is unchanged".to_owned())
    }),
    check("mapping/volume-of-mips-without-a-pointer-refused", MAP_TEXTURE, &[Need::Textures], |ctx| {
        let one = cpu_texture(ctx, &volume(8, 8, 8))?;
        memory::map_without_pointer(&one, 0).ok("a volume of one mip level")?;
        memory::unmap(&one, 0);
        let two = cpu_texture(ctx, &with_mips(volume(8, 8, 8), 2))?;
        memory::map_without_pointer(&two, 0).refused("a volume of two mip levels")
    }),
    check("mapping/texels-without-a-mapping", SUBRESOURCE, &[Need::Textures], |ctx| {
        let texture = cpu_texture(ctx, &rgba(8, 8))?;
        let texels: Vec<u8> = (0..=255).collect();
        let write = || memory::write_to_subresource(&texture, 0, &texels, 32);
        let read = || memory::read_from_subresource(&texture, 0, 256, 32);
        write().ok("8 by 8")?;
        require_eq("texels", read().ok("8 by 8")?, texels.clone())
    }),
    check("mapping/empty-boxes-of-texels", SUBRESOURCE, &[Need::Textures], |ctx| {
        let texture = cpu_texture(ctx, &rgba(8, 8))?;
        let texels: Vec<u8> = (0..=255).collect();
        memory::map_without_pointer(&texture, 0).ok("without a pointer")?;
        let written = memory::write_to_subresource(&texture, 0, &texels, 32);
        written.ok("8 by 8")?;
        for place in [0, 3, 8] {
            let (written, read, bytes) = memory::access_nothing(&texture, place);
            written.ok("an empty box")?;
            read.ok("an empty box")?;
            require(bytes.iter().all(|&byte| byte == 0xee), || {
                "the read of an empty box wrote to the destination".to_owned()
            })?;
        }
        let found = memory::read_from_subresource(&texture, 0, 256, 32);
        memory::unmap(&texture, 0);
        require_eq("texels", found.ok("8 by 8")?, texels)
    }),
    check("mapping/nests", "Learn, ID3D12Resource::Map, nesting", &[], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(256)).ok("256 bytes")?;
        let outer = ctx.map(&resource).ok("the first time")?;
        outer.write(0, b"outer");
        for _ in 0..8 {
            let inner = ctx.map(&resource).ok("while mapped")?;
            ensure!(inner.start() == outer.start(), "the mapped address differs");
            drop(inner);
        }
        require_eq("bytes after inner mappings", outer.read(0, 5), b"outer".to_vec())
    }),
    check("mapping/without-a-pointer", "Learn, ID3D12Resource::Map, ppData null", &[], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(256)).ok("256 bytes")?;
        memory::map_without_pointer(&resource, 0).ok("ppData null")?;
        memory::unmap(&resource, 0);
        Ok("S_OK".to_owned())
    }),
    check("mapping/empty-read-range", READ_RANGE, &[], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(256)).ok("256 bytes")?;
        for range in [D3D12_RANGE { Begin: 0, End: 0 }, D3D12_RANGE { Begin: 64, End: 64 }] {
            let mapping = Mapping::with_range(&resource, Some(range)).ok("an empty range")?;
            mapping.write(0, &[1]);
        }
        Ok("a pointer to the start of the buffer".to_owned())
    }),
    check("mapping/read-range-does-not-move-the-pointer", READ_RANGE, &[], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(256)).ok("256 bytes")?;
        let whole = ctx.map(&resource).ok("the whole heap")?;
        let range = D3D12_RANGE { Begin: 100, End: 200 };
        let part = Mapping::with_range(&resource, Some(range)).ok("bytes 100 to 200")?;
        ensure!(part.start() == whole.start(), "the mapped address differs");
        Ok("the start of the buffer".to_owned())
    }),
    check("mapping/bytes-stay-across-unmap", "Learn, ID3D12Resource::Unmap", &[], |ctx| {
        let resource = ctx.commit(UPLOAD, &buffer(4 * KIB)).ok("4 KiB")?;
        ctx.map(&resource).ok("a mapping to write")?.write(100, b"kept");
        require_eq("bytes", ctx.map(&resource).ok("a mapping to read")?.read(100, 4), b"kept".to_vec())
    }),
    check("mapping/bytes-stay-across-resources", HEAP_MEMORY, &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(UPLOAD, 64 * KIB)).ok("64 KiB")?;
        let first = placed(ctx, &heap, 0, 64 * KIB)?;
        ctx.map(&first).ok("a mapping to write")?.write(1234, b"heap's");
        drop(first);
        let second = placed(ctx, &heap, 0, 64 * KIB)?;
        require_eq("bytes", ctx.map(&second).ok("a mapping to read")?.read(1234, 6), b"heap's".to_vec())
    }),
    check("mapping/aliases-share-bytes", "ALIAS, Data Inheritance, buffers", &[], |ctx| {
        let heap = ctx.create_heap(&buffer_heap(UPLOAD, 128 * KIB)).ok("128 KiB")?;
        let whole = placed(ctx, &heap, 0, 128 * KIB)?;
        let half = placed(ctx, &heap, 64 * KIB, 64 * KIB)?;
        ctx.map(&half).ok("the second half")?.write(8, b"shared");
        let bytes = ctx.map(&whole).ok("the whole heap")?.read(64 * 1024 + 8, 6);
        require_eq("bytes", bytes, b"shared".to_vec())
    }),
    check("mapping/resources-have-bytes-of-their-own", MAP, &[], |ctx| {
        let mut held = Vec::new();
        for value in 1..=16_u8 {
            let resource = ctx.commit(UPLOAD, &buffer(1000)).ok("1000 bytes")?;
            ctx.map(&resource).ok("a mapping to write")?.write(0, &[value; 1000]);
            held.push(resource);
        }
        for (value, resource) in (1..=16_u8).zip(&held) {
            let bytes = ctx.map(resource).ok("a mapping to read")?.read(0, 1000);
            ensure!(bytes == [value; 1000], "buffer {value} contains the bytes of another buffer");
        }
        Ok("16 committed buffers".to_owned())
    }),
    check("mapping/large-buffer-to-its-end", MAP, &[], |ctx| {
        let len = 16 * 1024 * 1024_usize;
        let resource = ctx.commit(UPLOAD, &buffer(16 * MIB)).ok("16 MiB")?;
        let mapping = ctx.map(&resource).ok("16 MiB")?;
        for place in [0, len / 2, len - 8] {
            mapping.write(place, &place.to_le_bytes());
        }
        each([0, len / 2, len - 8], |place| {
            require_eq(format!("bytes at {place:#x}"), mapping.read(place, 8), place.to_le_bytes().to_vec())
        })
    }),
];

fn round_trip(ctx: &Context, heap_type: D3D12_HEAP_TYPE) -> Verdict {
    let resource = ctx.commit(heap_type, &buffer(1000)).ok(heap_type_name(heap_type))?;
    let mapping = ctx.map(&resource).ok(heap_type_name(heap_type))?;
    let bytes: Vec<u8> = (0..250).cycle().take(1000).collect();
    mapping.write(0, &bytes);
    require_eq("bytes", mapping.read(0, 1000), bytes)
}

/// Creates a CPU-accessible texture in system memory, or skips the check if the device has none.
fn cpu_texture(ctx: &Context, desc: &D3D12_RESOURCE_DESC) -> Result<ID3D12Resource, Stop> {
    let home = custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_MEMORY_POOL_L0);
    let made = ctx.commit_with(&home, D3D12_HEAP_FLAG_NONE, desc).implemented()?;
    made.or_else(|_| skipped("the device has no CPU-accessible textures in system memory"))
}

fn placed(ctx: &Context, heap: &ID3D12Heap, offset: u64, width: u64) -> Result<ID3D12Resource, Stop> {
    let state = state_of(UPLOAD);
    ctx.create_resource(Home::Placed(heap, offset), &buffer(width), state, None)
        .ok(format!("offset {offset:#x}"))
}
