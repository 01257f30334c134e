//! Replacements for barriers and discards of command lists.

use heapwright_d3d12::*;
use heapwright_intercept::{Methods, method};

use crate::lies::{Command, Lies};

pub(crate) unsafe fn replace(methods: &Methods<Lies>) {
    // SAFETY: the methods are those of a list; the replacements pass on what their callers promise. Type tells
    // which member of the union of a barrier group the caller wrote.
    unsafe {
        let list = methods.of::<ID3D12GraphicsCommandList>();
        let seventh = methods.of::<ID3D12GraphicsCommandList7>();
        list.replace(method!(ResourceBarrier), |call, (barrier_count, barriers)| {
            let Some(lie) = call.data.barriers else {
                return (call.original.ResourceBarrier)(call.this, barrier_count, barriers);
            };
            let mut changed = elements(barrier_count, barriers);
            lie(&mut changed);
            if !changed.is_empty() {
                (call.original.ResourceBarrier)(call.this, count(&changed), changed.as_ptr());
            }
        });
        list.replace(method!(DiscardResource), |call, (resource, region)| {
            if call.data.records(Command::DiscardResource) {
                (call.original.DiscardResource)(call.this, resource, region);
            }
        });
        seventh.replace(method!(Barrier), |call, (group_count, groups)| {
            let lies = call.data;
            if !lies.records(Command::Barrier) {
                return;
            }
            let mut textures = Vec::new();
            let mut changed = elements(group_count, groups);
            for group in changed.iter_mut().filter(|group| group.Type == D3D12_BARRIER_TYPE_TEXTURE) {
                let mut list = elements(group.NumBarriers, group.Anonymous.pTextureBarriers);
                if let Some(lie) = lies.texture_barrier {
                    list.iter_mut().for_each(lie);
                }
                group.Anonymous.pTextureBarriers = list.as_ptr();
                textures.push(list);
            }
            (call.original.Barrier)(call.this, count(&changed), changed.as_ptr());
        });
    }
}

/// Copies an array of the caller.
unsafe fn elements<T>(count: u32, array: *const T) -> Vec<T> {
    if array.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller passes an array of count elements. They hold their resources in ManuallyDrop: a copy takes no
    // reference and gives none back.
    unsafe { (0..usize::try_from(count).unwrap_or(0)).map(|index| array.add(index).read()).collect() }
}

fn count<T>(elements: &[T]) -> u32 {
    u32::try_from(elements.len()).expect("few")
}
