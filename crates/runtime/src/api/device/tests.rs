//! Tests of the arguments of device creation.

use heapwright_core::{ByteSize, GpuVirtualAddress};

use super::*;
use crate::api::call;
use crate::ddi::{GpuVirtualAddressRange, HeapArgs, MemoryPool};
use crate::drivers::host::HostDriver;
use crate::drivers::host::profile::HostProfile;
use crate::residency::PageableKind;

fn create(
    driver: &Arc<dyn Driver>,
    range: GpuVirtualAddressRange,
) -> windows_core::Result<ComObject<Device>> {
    let args = DeviceArgs { reserve_ranges: &[range] };
    call::run(MessageLog::unattached(), "CreateDevice", || {
        Ok(Device::create(Arc::clone(driver), &args, DebugSettings::ON, Options::default())?)
    })
}

fn first_heap_address(driver: &dyn Driver) -> GpuVirtualAddress {
    let args = HeapArgs {
        size: ByteSize::from_kib(64),
        alignment: heapwright_core::Alignment::new(65_536).expect("a power of two"),
        cpu_page_property: crate::ddi::CpuPageProperty::NotAvailable,
        memory_pool: MemoryPool::L1,
        implicit: false,
        zeroed: true,
        not_resident: false,
        pageable: PageableKind::Heap,
        create_at: None,
    };
    let device = driver.create_device(&DeviceArgs::default()).expect("no ranges to reserve");
    driver.create_heap(&*device, &args).expect("there is room").gpu_virtual_address()
}

/// *Recreate At GPUVA*: the ranges are passed to the driver when the device is created, and stay reserved until it is
/// destroyed.
#[test]
fn a_device_keeps_its_reserved_ranges_until_it_is_destroyed() {
    let driver: Arc<dyn Driver> =
        Arc::new(HostDriver::new(&HostProfile { address_seed: Some(0), ..*HostProfile::default_profile() }));
    let start = first_heap_address(&*driver);
    let range = GpuVirtualAddressRange { start, size: ByteSize::new(1) };
    let device = create(&driver, range).expect("free");
    assert_ne!(first_heap_address(&*driver), start);
    let again = create(&driver, range).err().map(|error| error.code());
    assert_eq!(again, Some(E_INVALIDARG), "the range is already reserved");
    let empty = GpuVirtualAddressRange { start, size: ByteSize::ZERO };
    create(&driver, empty).expect("an empty range is accepted");
    drop(device);
    assert_eq!(first_heap_address(&*driver), start);
}
