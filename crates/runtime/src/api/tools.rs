//! `ID3D12Tools1`: settings that tools make before devices are created (DirectX-Specs, *Recreate At GPUVA*).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heapwright_core::{ByteSize, GpuVirtualAddress};
use heapwright_d3d12::*;
use windows_core::{BOOL, ComObject, Result, implement};

use super::call;
use super::command_list::read_array;
use crate::ddi::GpuVirtualAddressRange;
use crate::debug::MessageLog;
use crate::rules::{Notice, Notices, Refusal};

/// The tool settings of one `ID3D12DeviceFactory`, which apply to the devices that it creates.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolSettings(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// In the order of the calls.
    reserve_ranges: Mutex<Vec<GpuVirtualAddressRange>>,
    is_instrumentation_enabled: AtomicBool,
}

impl ToolSettings {
    /// Returns the ranges that devices created from now on reserve. Cost: O(ranges).
    pub(super) fn reserve_ranges(&self) -> Vec<GpuVirtualAddressRange> {
        self.ranges().clone()
    }

    fn ranges(&self) -> MutexGuard<'_, Vec<GpuVirtualAddressRange>> {
        self.0.reserve_ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The COM object that changes the settings of its factory.
#[implement(ID3D12Tools1)]
pub(super) struct Tools {
    settings: ToolSettings,
}

impl Tools {
    /// Creates tools that change `settings`.
    pub(super) fn create(settings: ToolSettings) -> ComObject<Self> {
        ComObject::new(Self { settings })
    }
}

impl ID3D12Tools_Impl for Tools_Impl {
    fn EnableShaderInstrumentation(&self, benable: BOOL) {
        self.settings.0.is_instrumentation_enabled.store(benable.as_bool(), Ordering::Relaxed);
        if benable.as_bool() {
            let mut notices = Notices::default();
            let text = "the setting is stored but has no effect; this runtime does not execute shaders";
            notices.push(Notice::info(D3D12_MESSAGE_ID_UNKNOWN, text));
            MessageLog::unattached().notices("ID3D12Tools::EnableShaderInstrumentation", &notices);
        }
    }

    fn ShaderInstrumentationEnabled(&self) -> BOOL {
        self.settings.0.is_instrumentation_enabled.load(Ordering::Relaxed).into()
    }
}

/// `ReserveGPUVARangesAtCreate` returns an HRESULT, as in the header; *Recreate At GPUVA* declares it as `void`. It
/// only fails if the ranges cannot be read. The ranges are not validated here: the driver reports errors in them when a
/// device is created.
impl ID3D12Tools1_Impl for Tools_Impl {
    fn ReserveGPUVARangesAtCreate(
        &self,
        pranges: *const D3D12_GPU_VIRTUAL_ADDRESS_RANGE,
        uinumranges: u32,
    ) -> Result<()> {
        call::run(MessageLog::unattached(), "ID3D12Tools1::ReserveGPUVARangesAtCreate", || {
            // SAFETY: by the COM contract, pRanges is null or points to uiNumRanges ranges.
            let ranges = unsafe { read_ranges(pranges, uinumranges) }?;
            self.settings.ranges().extend(ranges);
            Ok(())
        })
    }

    fn ClearReservedGPUVARangesList(&self) {
        self.settings.ranges().clear();
    }
}

/// Reads the ranges, except for those that begin at address zero. `GetAllocation` returns zero for objects without an
/// address, so there is nothing to reserve.
///
/// # Errors
///
/// Returns E_INVALIDARG for a null pointer with a non-zero count.
///
/// # Safety
///
/// `pointer` is null or points to `count` readable ranges.
unsafe fn read_ranges(
    pointer: *const D3D12_GPU_VIRTUAL_ADDRESS_RANGE,
    count: u32,
) -> std::result::Result<Vec<GpuVirtualAddressRange>, Refusal> {
    // SAFETY: guaranteed by the caller.
    let ranges = unsafe { read_array(count, pointer, "pRanges") }?;
    let with_address = ranges.iter().filter_map(|range| {
        let start = GpuVirtualAddress::new(range.StartAddress.0)?;
        Some(GpuVirtualAddressRange { start, size: ByteSize::new(range.SizeInBytes) })
    });
    Ok(with_address.collect())
}
