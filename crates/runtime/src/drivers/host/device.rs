//! A device of the simulated GPU: the addresses that it reserves.

use std::sync::Arc;

use heapwright_core::ByteSize;

use super::address_space::{AddressRange, AddressSpace};
use crate::ddi::{DeviceArgs, DriverDevice, DriverError, GpuVirtualAddressRange};

/// What the simulated GPU holds for a device.
#[derive(Debug)]
pub(super) struct HostDevice {
    _reserved: Vec<AddressRange>,
}

impl HostDevice {
    /// Reserves what `args` names; nothing is left reserved when that fails.
    pub(super) fn create(args: &DeviceArgs<'_>, space: &Arc<AddressSpace>) -> Result<Self, DriverError> {
        let merged = merge(args.reserve_ranges)?;
        let reserved = merged.into_iter().map(|range| AddressRange::at(space, range));
        Ok(Self { _reserved: reserved.collect::<Result<_, _>>()? })
    }
}

impl DriverDevice for HostDevice {}

/// The same addresses in ranges that do not overlap.
fn merge(ranges: &[GpuVirtualAddressRange]) -> Result<Vec<GpuVirtualAddressRange>, DriverError> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut merged: Vec<GpuVirtualAddressRange> = Vec::with_capacity(sorted.len());
    for range in sorted {
        let invalid = DriverError::AddressesInvalid { range };
        if range.size.is_zero() {
            return Err(invalid);
        }
        let end = range.start.checked_add(range.size).ok_or(invalid)?.get();
        match merged.last_mut() {
            Some(last) if range.start.get() - last.start.get() < last.size.get() => {
                last.size = last.size.max(ByteSize::new(end - last.start.get()));
            }
            _ => merged.push(range),
        }
    }
    Ok(merged)
}
