//! The report of the residency ledger.

use std::fmt;

use heapwright_core::ByteSize;

/// The kinds of objects that can be made resident and evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageableKind {
    /// An `ID3D12Heap`.
    Heap,
    /// An `ID3D12Resource` with an implicit heap.
    CommittedResource,
    /// An `ID3D12DescriptorHeap`.
    DescriptorHeap,
    /// An `ID3D12QueryHeap`.
    QueryHeap,
}

impl fmt::Display for PageableKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Heap => "heap",
            Self::CommittedResource => "committed resource",
            Self::DescriptorHeap => "descriptor heap",
            Self::QueryHeap => "query heap",
        })
    }
}

/// Statistics of the calls of one method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PagingCalls {
    /// Number of calls, successful or not.
    pub calls: u64,
    /// Number of calls that were refused and changed nothing.
    pub refused: u64,
    /// Total number of objects in the successful calls. An object that a call lists twice counts twice.
    pub objects: u64,
}

/// Number and total size of a set of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PagedObjects {
    /// Number of objects.
    pub objects: u64,
    /// Video memory of the objects. Descriptor heaps and query heaps take none on the simulated GPU.
    pub bytes: ByteSize,
}

impl PagedObjects {
    pub(super) fn add(&mut self, bytes: ByteSize) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn remove(&mut self, bytes: ByteSize) {
        self.objects = self.objects.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// An object whose count is above one, or was when it was released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedObject {
    /// The kind of the object.
    pub kind: PageableKind,
    /// The name set with `SetName`.
    pub name: Option<String>,
    /// Video memory of the object; zero for a descriptor heap or query heap.
    pub size: ByteSize,
    /// The residency count: the number of `Evict` calls required to evict the object.
    pub count: u32,
}

impl fmt::Display for CountedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} '{name}'", self.kind)?,
            None => write!(f, "an unnamed {}", self.kind)?,
        }
        write!(f, " ({}) with residency count {}", self.size, self.count)
    }
}

/// Everything that happened to the residency of a GPU's objects since it was opened, as of one moment.
///
/// Objects are counted by their memory (or by their heap of descriptors or queries). It is released with the last
/// reference to it: a COM object, an object opened from a shared handle, an open shared handle, a resource in a heap,
/// or pending work of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResidencyReport {
    /// Calls of `ID3D12Device::MakeResident`.
    pub make_resident: PagingCalls,
    /// Calls of `ID3D12Device3::EnqueueMakeResident`.
    pub enqueue_make_resident: PagingCalls,
    /// Calls of `ID3D12Device::Evict`.
    pub evict: PagingCalls,
    /// Changes of a count from zero to one: objects paged in.
    pub paged_in: PagedObjects,
    /// Changes of a count from one to zero: objects paged out.
    pub paged_out: PagedObjects,
    /// Objects that were created resident.
    pub created_resident: PagedObjects,
    /// Objects that were released with a count above zero.
    pub released_resident: PagedObjects,
    /// Live objects with a count above zero.
    pub resident: PagedObjects,
    /// Number of live objects with a count of zero.
    pub alive_with_zero: u64,
    /// Number of live objects with a count of one.
    pub alive_with_one: u64,
    /// Live objects with a count above one, in order of creation.
    pub above_one: Vec<CountedObject>,
    /// Objects that were released with a count above one, in order of release. At most
    /// [`RELEASED_ABOVE_ONE_LISTED`](Self::RELEASED_ABOVE_ONE_LISTED).
    pub released_above_one: Vec<CountedObject>,
    /// Number of objects that were released with a count above one.
    pub released_above_one_count: u64,
}

impl ResidencyReport {
    /// Maximum length of `released_above_one`.
    pub const RELEASED_ABOVE_ONE_LISTED: usize = 256;

    /// Checks that no object has a count above one or was released with one, and that no `Evict` was refused.
    ///
    /// # Errors
    ///
    /// Returns the objects with a count above one and the number of refused `Evict` calls: evicting an object more
    /// often than it was made resident is an imbalance as well. Cost: O(objects with a count above one).
    ///
    /// ```
    /// use heapwright_d3d12::{D3D12_DESCRIPTOR_HEAP_DESC, ID3D12DescriptorHeap, ID3D12Pageable};
    /// use heapwright_runtime::{HostProfile, Instance};
    /// use windows_core::Interface as _;
    ///
    /// let gpu = Instance::open(HostProfile::default_profile())?;
    /// let desc = D3D12_DESCRIPTOR_HEAP_DESC { NumDescriptors: 8, ..Default::default() };
    /// // SAFETY: the device is a live COM object, and the description is readable.
    /// let heap: ID3D12DescriptorHeap = unsafe { gpu.device.CreateDescriptorHeap(&desc) }?;
    /// let objects = [Some(heap.cast::<ID3D12Pageable>()?)];
    /// gpu.residency().check_balance().expect("a heap is created with residency count 1");
    ///
    /// // SAFETY: device and heap are live COM objects.
    /// unsafe { gpu.device.MakeResident(&objects) }.ok()?;
    /// let imbalance = gpu.residency().check_balance().expect_err("residency count 2");
    /// assert!(imbalance.to_string().contains("descriptor heap"));
    /// # Ok::<(), windows_core::Error>(())
    /// ```
    pub fn check_balance(&self) -> Result<(), ResidencyImbalance> {
        if self.above_one.is_empty() && self.released_above_one_count == 0 && self.evict.refused == 0 {
            return Ok(());
        }
        Err(ResidencyImbalance {
            above_one: self.above_one.clone(),
            released_above_one: self.released_above_one.clone(),
            released_above_one_count: self.released_above_one_count,
            refused_evicts: self.evict.refused,
        })
    }
}

/// The error of [`ResidencyReport::check_balance`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidencyImbalance {
    /// Live objects with a count above one.
    pub above_one: Vec<CountedObject>,
    /// Objects that were released with a count above one, as far as they are listed.
    pub released_above_one: Vec<CountedObject>,
    /// Number of objects that were released with a count above one.
    pub released_above_one_count: u64,
    /// Number of refused `Evict` calls.
    pub refused_evicts: u64,
}

impl fmt::Display for ResidencyImbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeResident and Evict calls are not balanced")?;
        let mut separator = ":";
        for object in &self.above_one {
            write!(f, "{separator} {object}")?;
            separator = ",";
        }
        for object in &self.released_above_one {
            write!(f, "{separator} {object} when released")?;
            separator = ",";
        }
        let unlisted = self.released_above_one_count.saturating_sub(self.released_above_one.len() as u64);
        if unlisted > 0 {
            write!(f, "{separator} {unlisted} more objects released with a residency count above one")?;
            separator = ",";
        }
        if self.refused_evicts > 0 {
            write!(f, "{separator} {} refused Evict calls", self.refused_evicts)?;
        }
        Ok(())
    }
}

impl std::error::Error for ResidencyImbalance {}
