//! The fields of the descriptions of allocators and pools as text, for recordings and command lines.

use heapwright_core::{Alignment, ByteSize};

use super::allocator::ResourceAllocatorDesc;
use super::flags::{EmptyHeapPolicy, ResourceAllocatorFlags, SuballocationAlgorithm};
use super::{PoolDesc, ResourceKind};
use crate::{Error, HeapType, NodeMasks};

/// An option of a description: its name, its text, and its parser.
struct DescOption<D> {
    name: &'static str,
    text: fn(&D) -> String,
    set: fn(&mut D, &str) -> Option<()>,
    values: &'static str,
}

type AllocatorOption = DescOption<ResourceAllocatorDesc>;
type PoolOption = DescOption<PoolDesc>;

const SIZE: &str = "a size such as 65536, 64KiB, 4MiB or 1GiB";
const OPTIONAL_SIZE: &str = "default, or a size such as 65536, 64KiB, 4MiB or 1GiB";
const OPTIONAL_NUMBER: &str = "default, or a number";

/// An option with an optional size.
macro_rules! optional_size {
    ($name:literal, $($field:ident).+) => {
        DescOption {
            name: $name,
            text: |desc| optional(desc.$($field).+.map(ByteSize::get)),
            set: |desc, text| store(&mut desc.$($field).+, parse_optional(text, |text| text.parse().ok())),
            values: OPTIONAL_SIZE,
        }
    };
}

/// An option with an optional number, which is finite.
macro_rules! optional_number {
    ($name:literal, $($field:ident).+) => {
        DescOption {
            name: $name,
            text: |desc| optional(desc.$($field).+),
            set: |desc, text| store(&mut desc.$($field).+, parse_optional(text, number)),
            values: OPTIONAL_NUMBER,
        }
    };
}

const OPTIONS: [AllocatorOption; 14] = [
    AllocatorOption {
        name: "flags",
        text: |desc| bitflags_text(desc.flags),
        set: |desc, text| store(&mut desc.flags, bitflags::parser::from_str_strict(text).ok()),
        values: "names of ResourceAllocatorFlags, separated by |",
    },
    AllocatorOption {
        name: "resource_heap_tier",
        text: |desc| optional(desc.resource_heap_tier),
        set: |desc, text| store(&mut desc.resource_heap_tier, parse_optional(text, |text| text.parse().ok())),
        values: "default, 1 or 2",
    },
    AllocatorOption {
        name: "suballocation_algorithm",
        text: |desc| name_of(&ALGORITHMS, desc.suballocation_algorithm),
        set: |desc, text| store(&mut desc.suballocation_algorithm, named(&ALGORITHMS, text)),
        values: "default, slab, buddy-system or dedicated",
    },
    AllocatorOption {
        name: "empty_heap_policy",
        text: |desc| name_of(&POLICIES, desc.empty_heap_policy),
        set: |desc, text| store(&mut desc.empty_heap_policy, named(&POLICIES, text)),
        values: "default, least-memory, fewest-hitches, fixed-pool or segmented-pool",
    },
    optional_size!("preferred_heap_size", preferred_heap_size),
    optional_size!("max_heap_size", max_heap_size),
    optional_number!("heap_fragmentation_limit", heap_fragmentation_limit),
    optional_number!("heap_growth_factor", heap_growth_factor),
    AllocatorOption {
        name: "release_size",
        text: |desc| desc.release_size.get().to_string(),
        set: |desc, text| store(&mut desc.release_size, text.parse().ok()),
        values: SIZE,
    },
    optional_size!("limit_default", limits.default),
    optional_size!("limit_upload", limits.upload),
    optional_size!("limit_readback", limits.readback),
    optional_size!("limit_gpu_upload", limits.gpu_upload),
    optional_number!("limit_share_of_budget", limits.share_of_budget),
];

const POOL_OPTIONS: [PoolOption; 12] = [
    PoolOption {
        name: "name",
        text: |desc| desc.name.clone(),
        set: |desc, text| store(&mut desc.name, Some(text.to_owned())),
        values: "text",
    },
    PoolOption {
        name: "heap_type",
        text: |desc| name_of(&HEAP_TYPES, desc.heap_type),
        set: |desc, text| store(&mut desc.heap_type, named(&HEAP_TYPES, text)),
        values: "default, upload, readback or gpu-upload",
    },
    PoolOption {
        name: "custom_heap",
        text: |desc| optional(desc.custom_heap.map(|(page, pool)| format!("{page},{pool}"))),
        set: |desc, text| store(&mut desc.custom_heap, parse_optional(text, two_numbers)),
        values: "default, or a D3D12_CPU_PAGE_PROPERTY and a D3D12_MEMORY_POOL such as 2,1",
    },
    PoolOption {
        name: "resources",
        text: |desc| name_of(&RESOURCE_KINDS, desc.resources),
        set: |desc, text| store(&mut desc.resources, named(&RESOURCE_KINDS, text)),
        values: "buffers, textures, render-targets or any",
    },
    PoolOption {
        name: "extra_heap_flags",
        text: |desc| desc.extra_heap_flags.to_string(),
        set: |desc, text| store(&mut desc.extra_heap_flags, text.parse().ok()),
        values: "D3D12_HEAP_FLAGS as a number",
    },
    PoolOption {
        name: "algorithm",
        text: |desc| name_of(&POOL_ALGORITHMS, desc.algorithm),
        set: |desc, text| store(&mut desc.algorithm, named(&POOL_ALGORITHMS, text)),
        values: "default, slab, buddy-system, dedicated or linear",
    },
    optional_size!("heap_size", heap_size),
    PoolOption {
        name: "heap_count",
        text: |desc| format!("{},{}", desc.min_heap_count, desc.max_heap_count.unwrap_or(0)),
        set: |desc, text| {
            let (least, most) = two_numbers(text)?;
            (desc.min_heap_count, desc.max_heap_count) = (least, (most != 0).then_some(most));
            Some(())
        },
        values: "the minimum and the maximum number of heaps, 0 for no maximum, such as 1,4",
    },
    PoolOption {
        name: "min_alignment",
        text: |desc| desc.min_alignment.get().to_string(),
        set: |desc, text| {
            let size = text.parse().ok().map(ByteSize::get);
            store(&mut desc.min_alignment, size.and_then(Alignment::new))
        },
        values: "a power of two, or a size such as 64KiB",
    },
    PoolOption {
        name: "residency_priority",
        text: |desc| optional(desc.residency_priority),
        set: |desc, text| store(&mut desc.residency_priority, parse_optional(text, |text| text.parse().ok())),
        values: "default, or a D3D12_RESIDENCY_PRIORITY as a number",
    },
    PoolOption {
        name: "multisampled",
        text: |desc| desc.multisampled.to_string(),
        set: |desc, text| store(&mut desc.multisampled, text.parse().ok()),
        values: "true or false",
    },
    PoolOption {
        name: "nodes",
        text: |desc| optional(desc.nodes.map(|nodes| format!("{},{}", nodes.creation, nodes.visible))),
        set: |desc, text| {
            let nodes =
                |text: &str| two_numbers(text).map(|(creation, visible)| NodeMasks { creation, visible });
            store(&mut desc.nodes, parse_optional(text, nodes))
        },
        values: "default, or the masks of creation and visibility, such as 1,3",
    },
];

const HEAP_TYPES: [(&str, HeapType); 4] = [
    ("default", HeapType::Default),
    ("upload", HeapType::Upload),
    ("readback", HeapType::Readback),
    ("gpu-upload", HeapType::GpuUpload),
];

const RESOURCE_KINDS: [(&str, ResourceKind); 4] = [
    ("buffers", ResourceKind::Buffers),
    ("textures", ResourceKind::Textures),
    ("render-targets", ResourceKind::RenderTargets),
    ("any", ResourceKind::Any),
];

const POOL_ALGORITHMS: [(&str, SuballocationAlgorithm); 5] = [
    ("default", SuballocationAlgorithm::Default),
    ("slab", SuballocationAlgorithm::Slab),
    ("buddy-system", SuballocationAlgorithm::BuddySystem),
    ("dedicated", SuballocationAlgorithm::Dedicated),
    ("linear", SuballocationAlgorithm::Linear),
];

const ALGORITHMS: [(&str, SuballocationAlgorithm); 4] = [
    ("default", SuballocationAlgorithm::Default),
    ("slab", SuballocationAlgorithm::Slab),
    ("buddy-system", SuballocationAlgorithm::BuddySystem),
    ("dedicated", SuballocationAlgorithm::Dedicated),
];

const POLICIES: [(&str, EmptyHeapPolicy); 5] = [
    ("default", EmptyHeapPolicy::Default),
    ("least-memory", EmptyHeapPolicy::LeastMemory),
    ("fewest-hitches", EmptyHeapPolicy::FewestHitches),
    ("fixed-pool", EmptyHeapPolicy::FixedPool),
    ("segmented-pool", EmptyHeapPolicy::SegmentedPool),
];

impl ResourceAllocatorDesc {
    /// Sets a field by its name, as recordings and `heapwright replay --set` do: `flags`, `resource_heap_tier`,
    /// `suballocation_algorithm`, `empty_heap_policy`, `preferred_heap_size`, `max_heap_size`, `heap_fragmentation_limit`,
    /// `heap_growth_factor`, `release_size`, and `limit_default`, `limit_upload`, `limit_readback`, `limit_gpu_upload` and
    /// `limit_share_of_budget`.
    ///
    /// Optional fields accept `default`. Names of algorithms and policies are lower case with hyphens. Flags have their own names,
    /// separated by `|`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such option, or if it cannot have the value. Whether a device accepts the value is checked
    /// when the allocator is created.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), Error> {
        set_option(&OPTIONS, self, name, value)
    }

    /// Returns the names and values of the options that do not have their default value.
    #[must_use]
    pub fn options(&self) -> Vec<(&'static str, String)> {
        changed_options(&OPTIONS, self)
    }
}

impl PoolDesc {
    /// Sets a field by its name, as recordings do: `name`, `heap_type`, `custom_heap`, `resources`, `extra_heap_flags`, `algorithm`,
    /// `heap_size`, `heap_count` (minimum and maximum), `min_alignment`, `residency_priority`, `multisampled` and `nodes`. Texts are
    /// as for [`ResourceAllocatorDesc::set_option`]. A protected session has no text.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such option, or if it cannot have the value. Whether a device accepts the value is checked
    /// when the pool is created.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), Error> {
        set_option(&POOL_OPTIONS, self, name, value)
    }

    /// Returns the names and values of the options that do not have their default value.
    #[must_use]
    pub fn options(&self) -> Vec<(&'static str, String)> {
        changed_options(&POOL_OPTIONS, self)
    }
}

fn set_option<D>(options: &[DescOption<D>], desc: &mut D, name: &str, value: &str) -> Result<(), Error> {
    let Some(option) = options.iter().find(|option| option.name == name) else {
        let names: Vec<&str> = options.iter().map(|option| option.name).collect();
        let rule = format!("{name:?} is unknown; available: {}", names.join(", "));
        return Err(Error::invalid_argument("option", rule));
    };
    (option.set)(desc, value.trim()).ok_or_else(|| {
        Error::invalid_argument("option", format!("{name} must be {}, not {value:?}", option.values))
    })
}

fn changed_options<D: Default>(options: &[DescOption<D>], desc: &D) -> Vec<(&'static str, String)> {
    let default = D::default();
    options
        .iter()
        .map(|option| (option.name, (option.text)(desc), (option.text)(&default)))
        .filter(|(_, text, of_default)| text != of_default)
        .map(|(name, text, _)| (name, text))
        .collect()
}

/// Sets a field to a value, if there is one.
fn store<T>(field: &mut T, value: Option<T>) -> Option<()> {
    *field = value?;
    Some(())
}

fn bitflags_text(flags: ResourceAllocatorFlags) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = bitflags::parser::to_writer(&flags, &mut text);
    text
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "default".to_owned(), |value| value.to_string())
}

fn parse_optional<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "default" { Some(None) } else { parse(text).map(Some) }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

fn two_numbers<T: std::str::FromStr>(text: &str) -> Option<(T, T)> {
    let (first, second) = text.split_once(',')?;
    Some((first.trim().parse().ok()?, second.trim().parse().ok()?))
}

fn name_of<T: Copy + PartialEq>(names: &[(&str, T)], value: T) -> String {
    names.iter().find(|(_, named)| *named == value).map_or("default", |(name, _)| name).to_owned()
}

fn named<T: Copy>(names: &[(&str, T)], text: &str) -> Option<T> {
    names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_from_their_text() {
        let mut desc = ResourceAllocatorDesc::default();
        assert_eq!(desc.options(), []);
        for (name, value, text) in [
            ("flags", "NEVER_LEAK | CREATE_NOT_ZEROED", "NEVER_LEAK | CREATE_NOT_ZEROED"),
            ("resource_heap_tier", "1", "1"),
            ("suballocation_algorithm", "buddy-system", "buddy-system"),
            ("empty_heap_policy", "least-memory", "least-memory"),
            ("preferred_heap_size", "64 KiB", "65536"),
            ("max_heap_size", "1GiB", "1073741824"),
            ("heap_fragmentation_limit", "0.5", "0.5"),
            ("heap_growth_factor", "2", "2"),
            ("release_size", "3MiB", "3145728"),
            ("limit_upload", "17", "17"),
            ("limit_share_of_budget", "0.75", "0.75"),
        ] {
            desc.set_option(name, value).unwrap();
            assert!(desc.options().contains(&(name, text.to_owned())), "{name}: {:?}", desc.options());
        }
        let mut copy = ResourceAllocatorDesc::default();
        desc.options().iter().for_each(|(name, value)| copy.set_option(name, value).unwrap());
        assert_eq!(copy, desc);
        copy.set_option("max_heap_size", "default").unwrap();
        assert_eq!(copy.max_heap_size, None);
    }

    #[test]
    fn options_of_pools_are_set_from_their_text() {
        let mut desc = PoolDesc::default();
        assert_eq!(desc.options(), []);
        let texts = [
            ("name", "vertices"),
            ("heap_type", "gpu-upload"),
            ("custom_heap", "2,1"),
            ("resources", "render-targets"),
            ("extra_heap_flags", "4096"),
            ("algorithm", "linear"),
            ("heap_size", "65536"),
            ("heap_count", "1,4"),
            ("min_alignment", "512"),
            ("residency_priority", "-1879048192"),
            ("multisampled", "true"),
            ("nodes", "1,3"),
        ];
        for (name, value) in texts {
            desc.set_option(name, value).unwrap();
        }
        // Each is read back, and all differ from the default.
        assert_eq!(desc.options(), texts.map(|(name, value)| (name, value.to_owned())));
        assert_eq!((desc.min_heap_count, desc.max_heap_count), (1, Some(4)));
        for (name, value, expected) in [
            ("heap_count", "1", "heap_count must be the minimum and the maximum number of heaps"),
            ("min_alignment", "3", "min_alignment must be a power of two"),
            ("colour", "red", "\"colour\" is unknown; available: name, heap_type, "),
        ] {
            let error = desc.set_option(name, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn wrong_options_are_named() {
        let mut desc = ResourceAllocatorDesc::default();
        for (name, value, expected) in [
            ("colour", "red", "\"colour\" is unknown; available: flags, "),
            ("flags", "NEVER_SLEEP", "flags must be names of ResourceAllocatorFlags"),
            ("release_size", "-1", "release_size must be a size such as"),
            ("release_size", "20000000000GiB", "release_size must be a size such as"),
            ("release_size", "default", "release_size must be a size such as"),
            ("heap_growth_factor", "NaN", "heap_growth_factor must be default, or a number, not \"NaN\""),
            ("suballocation_algorithm", "linear", "must be default, slab, buddy-system or dedicated"),
        ] {
            let error = desc.set_option(name, value).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(desc, ResourceAllocatorDesc::default());
    }
}
