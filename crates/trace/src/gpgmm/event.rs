//! Events of a capture, as JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Number, from_str};

use super::json::invalid_json;
use crate::error::Fault;

/// Phase, name and arguments of an event. Arguments are parsed for known names only.
#[derive(Debug, Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) ph: Cow<'a, str>,
    ts: Option<Number>,
    tid: Option<Number>,
    pub(super) id: Option<Id>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

impl Event<'_> {
    /// Returns the time in microseconds.
    pub(super) fn time_us(&self) -> u64 {
        let Some(time) = &self.ts else { return 0 };
        // Chrome's format allows fractions.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        time.as_u64().unwrap_or_else(|| time.as_f64().map_or(0, |time| time as u64))
    }

    pub(super) fn thread(&self) -> u64 {
        self.tid.as_ref().and_then(Number::as_u64).unwrap_or_default()
    }

    /// Returns the snapshot of an object.
    pub(super) fn snapshot<'a, T: Deserialize<'a>>(&'a self) -> Result<Option<T>, Fault> {
        #[derive(Deserialize)]
        #[serde(bound(deserialize = "T: Deserialize<'de>"))]
        struct Args<T> {
            snapshot: Option<T>,
        }
        Ok(self.args::<Args<T>>()?.and_then(|args| args.snapshot))
    }

    /// Returns the arguments of a call.
    pub(super) fn args<'a, T: Deserialize<'a>>(&'a self) -> Result<Option<T>, Fault> {
        self.args.map(|args| from_str(args.get()).map_err(|error| invalid_json(&error))).transpose()
    }
}

/// Id of an object: its address, as hexadecimal text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(pub(super) u64);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form<'a> {
            Number(u64),
            #[serde(borrow)]
            Text(Cow<'a, str>),
        }
        match Form::deserialize(deserializer)? {
            Form::Number(id) => Ok(Self(id)),
            Form::Text(text) => text
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .map(Self)
                .ok_or_else(|| D::Error::custom("an id must be a hexadecimal number of at most 64 bits")),
        }
    }
}

/// Arguments of `CreateResource`. A message with the same name has neither descriptor, and a call that failed has a
/// description.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreateResource {
    #[serde(rename = "Description")]
    pub(super) description: Option<IgnoredAny>,
    pub(super) allocation_descriptor: Option<AllocationDescriptor>,
    pub(super) resource_descriptor: Option<ResourceDescriptor>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AllocationDescriptor {
    #[serde(default)]
    pub(super) heap_type: u8,
}

/// `D3D12_RESOURCE_DESC`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ResourceDescriptor {
    pub(super) dimension: u32,
    pub(super) width: u64,
    #[serde(default)]
    pub(super) height: u32,
    #[serde(default)]
    pub(super) depth_or_array_size: u16,
    #[serde(default)]
    pub(super) mip_levels: u16,
    #[serde(default)]
    pub(super) format: u32,
    pub(super) sample_desc: Option<SampleDesc>,
    #[serde(default)]
    pub(super) flags: u32,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SampleDesc {
    pub(super) count: u32,
}

/// Snapshot of an allocator. Fields that a version does not have are missing.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AllocatorSnapshot {
    pub(super) sub_allocation_algorithm: Option<u32>,
    pub(super) pool_algorithm: Option<u32>,
    pub(super) preferred_resource_heap_size: Option<u64>,
    pub(super) max_resource_heap_size: Option<u64>,
    #[serde(alias = "MemoryFragmentationLimit", alias = "ResourceFragmentationLimit")]
    pub(super) resource_heap_fragmentation_limit: Option<f64>,
    pub(super) resource_heap_growth_factor: Option<f64>,
    /// All options of an allocator of heapwright, as text.
    #[serde(rename = "heapwright")]
    pub(super) heapwright: Option<BTreeMap<String, String>>,
}

/// Snapshot of an allocation.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct AllocationSnapshot {
    #[serde(default)]
    pub(super) size_in_bytes: u64,
    pub(super) heap_offset: Option<u64>,
    pub(super) resource_heap: Option<Reference>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reference {
    pub(super) id_ref: Id,
}

/// Snapshot of a heap.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HeapSnapshot {
    #[serde(default)]
    pub(super) size_in_bytes: u64,
    #[serde(default)]
    pub(super) alignment: u64,
    pub(super) debug_name: Option<String>,
    /// `D3D12_HEAP_DESC`, in captures until 2022.
    pub(super) heap: Option<HeapDesc>,
}

/// Arguments of `CreateHeap` and `CreateResidencyHeap`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CreateHeap {
    pub(super) heap: Option<HeapDesc>,
}

/// `D3D12_HEAP_DESC`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HeapDesc {
    #[serde(default)]
    pub(super) alignment: u64,
    #[serde(default)]
    pub(super) flags: u32,
    pub(super) properties: Option<HeapProperties>,
}

/// `D3D12_HEAP_PROPERTIES`.
#[derive(Debug, Deserialize)]
pub(super) struct HeapProperties {
    /// Captures until 2022 call the type SizeInBytes.
    #[serde(rename = "Type", alias = "SizeInBytes", default)]
    pub(super) heap_type: u8,
}

/// Arguments of `ExecuteCommandLists`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ExecuteCommandLists {
    #[serde(default)]
    pub(super) residency_lists: Vec<ResidencyList>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ResidencyList {
    #[serde(default)]
    pub(super) heaps: Vec<Reference>,
}
