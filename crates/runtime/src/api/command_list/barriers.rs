//! `ResourceBarrier` and `Barrier`: reads the barriers, checks each, and notes it for the aliasing tracker.

use heapwright_d3d12::*;

use super::{CommandList, Recording, read_array};
use crate::api::device::Device;
use crate::api::resource::operand;
use crate::rules::Refusal;
use crate::rules::commands::barriers::{enhanced, legacy};
use crate::rules::operand::Operand;

impl CommandList {
    /// Records `ResourceBarrier`.
    ///
    /// # Safety
    ///
    /// In each barrier, the union member selected by `Type` is initialised.
    pub(super) unsafe fn record_barriers(
        &self,
        device: &Device,
        recording: &mut Recording,
        barriers: &[D3D12_RESOURCE_BARRIER],
    ) -> Result<(), Refusal> {
        for (index, barrier) in barriers.iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            let checked = unsafe { read_barrier(device, barrier) }.and_then(|barrier| {
                legacy::check(&barrier, self.list_type, &mut recording.notices)?;
                if let Some(pass) = &recording.render_pass {
                    pass.check_barrier(&barrier)?;
                }
                recording.note_barrier(&barrier);
                Ok(())
            });
            checked.map_err(|refusal| at("pBarriers", index, &refusal))?;
        }
        Ok(())
    }

    /// Records `Barrier`.
    ///
    /// # Safety
    ///
    /// Each group points to `NumBarriers` barriers of its type.
    pub(super) unsafe fn record_barrier_groups(
        &self,
        device: &Device,
        recording: &mut Recording,
        groups: &[D3D12_BARRIER_GROUP],
    ) -> Result<(), Refusal> {
        let mut noted = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let each = |barrier: &enhanced::Barrier<'_>| {
                enhanced::check(barrier, self.list_type, &mut recording.notices)?;
                if let Some(pass) = &recording.render_pass {
                    pass.check_enhanced_barrier(barrier)?;
                }
                if recording.is_noted() {
                    noted.push(super::aliasing_notes::enhanced_barrier(barrier));
                }
                Ok(())
            };
            // SAFETY: guaranteed by the caller.
            unsafe { read_group(device, group, each) }
                .map_err(|refusal| at("pBarrierGroups", index, &refusal))?;
        }
        recording.note_barriers(noted);
        Ok(())
    }
}

/// # Safety
///
/// The union member selected by `Type` is initialised.
unsafe fn read_barrier<'a>(
    device: &Device,
    barrier: &'a D3D12_RESOURCE_BARRIER,
) -> Result<legacy::Barrier<'a>, Refusal> {
    let any = |resource: Option<&'a ID3D12Resource>, name| match resource {
        None => Ok(None),
        resource => named(device, resource, name).map(Some),
    };
    // SAFETY: Type determines which member of the union the application wrote.
    let kind = unsafe {
        match barrier.Type {
            D3D12_RESOURCE_BARRIER_TYPE_TRANSITION => {
                let transition = &barrier.Anonymous.Transition;
                legacy::BarrierKind::Transition {
                    resource: named(device, transition.pResource.as_ref(), "pResource")?,
                    subresource: transition.Subresource,
                    before: transition.StateBefore,
                    after: transition.StateAfter,
                }
            }
            D3D12_RESOURCE_BARRIER_TYPE_ALIASING => {
                let aliasing = &barrier.Anonymous.Aliasing;
                let before = any(aliasing.pResourceBefore.as_ref(), "pResourceBefore")?;
                legacy::BarrierKind::Aliasing {
                    before,
                    after: any(aliasing.pResourceAfter.as_ref(), "pResourceAfter")?,
                }
            }
            D3D12_RESOURCE_BARRIER_TYPE_UAV => {
                let resource = barrier.Anonymous.UAV.pResource.as_ref();
                legacy::BarrierKind::UnorderedAccess(any(resource, "pResource")?)
            }
            other => {
                let message = format!("Type {other} is not a valid D3D12_RESOURCE_BARRIER_TYPE");
                return Err(Refusal::invalid(message).with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_INVALID_TYPE));
            }
        }
    };
    Ok(legacy::Barrier { flags: barrier.Flags, kind })
}

/// Calls `each` for every barrier of a group.
///
/// # Safety
///
/// The group points to `NumBarriers` barriers of its type.
unsafe fn read_group(
    device: &Device,
    group: &D3D12_BARRIER_GROUP,
    mut each: impl FnMut(&enhanced::Barrier<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let count = group.NumBarriers;
    // SAFETY: Type determines which member of the union the application wrote; by the COM contract, it has NumBarriers
    // elements.
    unsafe {
        match group.Type {
            D3D12_BARRIER_TYPE_GLOBAL => {
                read_array(count, group.Anonymous.pGlobalBarriers, "pGlobalBarriers")?.iter().try_for_each(
                    |b| {
                        each(&enhanced::Barrier {
                            target: enhanced::Target::Global,
                            sync: [b.SyncBefore, b.SyncAfter],
                            access: [b.AccessBefore, b.AccessAfter],
                        })
                    },
                )
            }
            D3D12_BARRIER_TYPE_TEXTURE => {
                read_array(count, group.Anonymous.pTextureBarriers, "pTextureBarriers")?.iter().try_for_each(
                    |b| {
                        let target = enhanced::Target::Texture {
                            resource: named(device, b.pResource.as_ref(), "pResource")?,
                            layout: [b.LayoutBefore, b.LayoutAfter],
                            subresources: &b.Subresources,
                            flags: b.Flags,
                        };
                        let (sync, access) = ([b.SyncBefore, b.SyncAfter], [b.AccessBefore, b.AccessAfter]);
                        each(&enhanced::Barrier { target, sync, access })
                    },
                )
            }
            D3D12_BARRIER_TYPE_BUFFER => {
                read_array(count, group.Anonymous.pBufferBarriers, "pBufferBarriers")?.iter().try_for_each(
                    |b| {
                        let resource = named(device, b.pResource.as_ref(), "pResource")?;
                        let target = enhanced::Target::Buffer { resource, offset: b.Offset, size: b.Size };
                        let (sync, access) = ([b.SyncBefore, b.SyncAfter], [b.AccessBefore, b.AccessAfter]);
                        each(&enhanced::Barrier { target, sync, access })
                    },
                )
            }
            other => Err(Refusal::invalid(format!("Type {other} is not a valid D3D12_BARRIER_TYPE"))
                .with_id(D3D12_MESSAGE_ID_INCOMPATIBLE_BARRIER_TYPE)),
        }
    }
}

fn named<'a>(
    device: &Device,
    resource: Option<&'a ID3D12Resource>,
    name: &str,
) -> Result<Operand<'a>, Refusal> {
    operand(device, resource, name)
        .map_err(|refusal| refusal.with_id(D3D12_MESSAGE_ID_RESOURCE_BARRIER_NULL_POINTER))
}

/// Prefixes a refusal with the index of the array element that it is about.
fn at(array: &str, index: usize, refusal: &Refusal) -> Refusal {
    Refusal::new(refusal.hresult(), format!("{array}[{index}]: {refusal}")).with_id(refusal.id())
}
