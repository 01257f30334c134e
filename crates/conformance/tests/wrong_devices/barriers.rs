//! Replacements for barriers and discards of command lists.

use std::ffi::c_void;

use heapwright_d3d12::*;

use crate::commands::{NewestListTable, first, first_mut, recorded};
use crate::intercept::behind;
use crate::lies::Command;

pub(crate) fn replace(table: &mut NewestListTable) {
    let first = first_mut(table);
    first.ResourceBarrier = resource_barrier;
    first.DiscardResource = discard;
    seventh_mut(table).Barrier = barrier;
}

/// Returns the part of the newest interface's table that belongs to the seventh command list interface.
fn seventh(table: &NewestListTable) -> &ID3D12GraphicsCommandList7_Vtbl {
    &table.base__.base__.base__
}

fn seventh_mut(table: &mut NewestListTable) -> &mut ID3D12GraphicsCommandList7_Vtbl {
    &mut table.base__.base__.base__
}

// The methods below are only in the tables of intercepted lists. They pass their arguments on unchanged or
// as a lie changed them.

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

unsafe extern "system" fn resource_barrier(
    this: *mut c_void,
    barrier_count: u32,
    barriers: *const D3D12_RESOURCE_BARRIER,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        let Some(lie) = lies.barriers else {
            return (first(table).ResourceBarrier)(this, barrier_count, barriers);
        };
        let mut changed = elements(barrier_count, barriers);
        lie(&mut changed);
        if !changed.is_empty() {
            (first(table).ResourceBarrier)(this, count(&changed), changed.as_ptr());
        }
    }
}

unsafe extern "system" fn discard(
    this: *mut c_void,
    resource: *mut c_void,
    region: *const D3D12_DISCARD_REGION,
) {
    // SAFETY: the caller upholds the contract of the original method.
    unsafe {
        let (lies, _) = behind::<NewestListTable>(this);
        let region = if lies.ignores_discard_region { std::ptr::null() } else { region };
        if let Some(table) = recorded(this, Command::DiscardResource) {
            (table.DiscardResource)(this, resource, region);
        }
    }
}

unsafe extern "system" fn barrier(this: *mut c_void, group_count: u32, groups: *const D3D12_BARRIER_GROUP) {
    // SAFETY: the contract of the original method; Type tells which member of the union the caller wrote.
    unsafe {
        let (lies, table) = behind::<NewestListTable>(this);
        if recorded(this, Command::Barrier).is_none() {
            return;
        }
        let (mut textures, mut buffers) = (Vec::new(), Vec::new());
        let mut changed = elements(group_count, groups);
        for group in &mut changed {
            match group.Type {
                D3D12_BARRIER_TYPE_TEXTURE => {
                    let mut list = elements(group.NumBarriers, group.Anonymous.pTextureBarriers);
                    if let Some(lie) = lies.texture_barrier {
                        list.iter_mut().for_each(lie);
                    }
                    group.Anonymous.pTextureBarriers = list.as_ptr();
                    textures.push(list);
                }
                D3D12_BARRIER_TYPE_BUFFER => {
                    let mut list = elements(group.NumBarriers, group.Anonymous.pBufferBarriers);
                    if let Some(lie) = lies.buffer_barrier {
                        list.iter_mut().for_each(lie);
                    }
                    group.Anonymous.pBufferBarriers = list.as_ptr();
                    buffers.push(list);
                }
                _ => {}
            }
        }
        if !lies.splits_barriers {
            return (seventh(table).Barrier)(this, count(&changed), changed.as_ptr());
        }
        for group in &changed {
            for index in 0..group.NumBarriers {
                let mut one = std::ptr::read(group);
                let place = usize::try_from(index).unwrap_or(0);
                one.NumBarriers = 1;
                match group.Type {
                    D3D12_BARRIER_TYPE_TEXTURE => {
                        one.Anonymous.pTextureBarriers = group.Anonymous.pTextureBarriers.add(place);
                    }
                    D3D12_BARRIER_TYPE_BUFFER => {
                        one.Anonymous.pBufferBarriers = group.Anonymous.pBufferBarriers.add(place);
                    }
                    _ => one.Anonymous.pGlobalBarriers = group.Anonymous.pGlobalBarriers.add(place),
                }
                (seventh(table).Barrier)(this, 1, &raw const one);
            }
        }
    }
}
