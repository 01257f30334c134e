//! What the ledger of residency shows.

use std::fmt;

use heapwright_core::ByteSize;

/// What can be made resident and evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageableKind {
    /// An `ID3D12Heap`.
    Heap,
    /// An `ID3D12Resource` with a heap of its own.
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

/// The calls of one method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PagingCalls {
    /// How often it was called, with or without success.
    pub calls: u64,
    /// Calls among those that were refused and changed nothing.
    pub refused: u64,
    /// Objects of the other calls in sum; one that a call names twice is two.
    pub objects: u64,
}

/// Objects that went the same way, in sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PagedObjects {
    /// How many.
    pub objects: u64,
    /// The video memory that they take. Descriptor heaps and query heaps take none of the simulated GPU's.
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

/// An object whose count is, or was when it was released, above one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedObject {
    /// What it is.
    pub kind: PageableKind,
    /// The name that `SetName` gave.
    pub name: Option<String>,
    /// The video memory that it takes; zero for a descriptor heap or query heap.
    pub size: ByteSize,
    /// How often `Evict` would have to come until it is evicted.
    pub count: u32,
}

impl fmt::Display for CountedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} '{name}'", self.kind)?,
            None => write!(f, "an unnamed {}", self.kind)?,
        }
        write!(f, " ({}) with a count of {}", self.size, self.count)
    }
}

/// All that happened to the residency of a GPU's objects since it was opened, as of one moment.
///
/// An object is memory (or a heap of descriptors or queries): it is released when the last that refers to it is, be that a COM
/// object, one opened from a shared handle, a resource in a heap, or work that a queue has not done yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResidencyReport {
    /// `ID3D12Device::MakeResident`.
    pub make_resident: PagingCalls,
    /// `ID3D12Device3::EnqueueMakeResident`.
    pub enqueue_make_resident: PagingCalls,
    /// `ID3D12Device::Evict`.
    pub evict: PagingCalls,
    /// Objects that came from a count of zero to one: what was paged in.
    pub paged_in: PagedObjects,
    /// Objects that went from a count of one to zero: what was paged out.
    pub paged_out: PagedObjects,
    /// Objects that were created resident.
    pub created_resident: PagedObjects,
    /// Objects that were released with a count above zero.
    pub released_resident: PagedObjects,
    /// Objects that are alive and have a count above zero.
    pub resident: PagedObjects,
    /// Objects that are alive and have a count of zero.
    pub alive_with_zero: u64,
    /// Objects that are alive and have a count of one.
    pub alive_with_one: u64,
    /// Objects that are alive and have a count above one, in the order of their creation.
    pub above_one: Vec<CountedObject>,
    /// Objects that were released with a count above one, in the order of their release: the first
    /// [`RELEASED_ABOVE_ONE_LISTED`](Self::RELEASED_ABOVE_ONE_LISTED) of them.
    pub released_above_one: Vec<CountedObject>,
    /// How many objects were released with a count above one.
    pub released_above_one_count: u64,
}

impl ResidencyReport {
    /// How many of the objects that were released with a count above one are listed.
    pub const RELEASED_ABOVE_ONE_LISTED: usize = 256;

    /// Checks that no object is, or was when it was released, counted more than once, and that no `Evict` was refused.
    ///
    /// # Errors
    ///
    /// Names each object with a count above one, and counts the calls of `Evict` that were refused: an object evicted more often
    /// than it was made resident is the same mistake in the other direction. O(objects with a count above one).
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
    /// gpu.residency().check_balance().expect("it was created resident: a count of one");
    ///
    /// // SAFETY: device and heap are live COM objects.
    /// unsafe { gpu.device.MakeResident(&objects) }.ok()?;
    /// let imbalance = gpu.residency().check_balance().expect_err("one Evict does not page it out any more");
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

/// Why [`ResidencyReport::check_balance`] says no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResidencyImbalance {
    /// Objects that are alive and have a count above one.
    pub above_one: Vec<CountedObject>,
    /// Objects that were released with a count above one, as far as they are listed.
    pub released_above_one: Vec<CountedObject>,
    /// How many objects were released with a count above one.
    pub released_above_one_count: u64,
    /// Calls of `Evict` that were refused.
    pub refused_evicts: u64,
}

impl fmt::Display for ResidencyImbalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeResident and Evict do not balance")?;
        let mut separator = ":";
        for object in &self.above_one {
            write!(f, "{separator} {object}")?;
            separator = ",";
        }
        for object in &self.released_above_one {
            write!(f, "{separator} {object} when it was released")?;
            separator = ",";
        }
        let unlisted = self.released_above_one_count.saturating_sub(self.released_above_one.len() as u64);
        if unlisted > 0 {
            write!(f, "{separator} {unlisted} more objects that were released with a count above one")?;
            separator = ",";
        }
        if self.refused_evicts > 0 {
            write!(f, "{separator} {} refused calls of Evict", self.refused_evicts)?;
        }
        Ok(())
    }
}

impl std::error::Error for ResidencyImbalance {}
