//! The caller must ensure that nobody else maps the bytes.
use heapwright::ResourceAllocator;
use heapwright::d3d12::ID3D12Resource;

fn import(allocator: &ResourceAllocator, resource: &ID3D12Resource) {
    let _ = allocator.import(&Default::default(), resource);
}

fn main() {}
