//! The fields of the descriptions of allocators and pools as text, for recordings and command lines.

use std::str::FromStr;

use heapwright_core::{Alignment, ByteSize};

use super::{EmptyHeapPolicy, PoolDesc, ResourceAllocatorDesc, ResourceKind, SuballocationAlgorithm};
use crate::{Error, HeapType, NodeMasks};

/// An option of a description: its name, the text of its value, and the values that it may have.
type OptionText = (&'static str, String, &'static str);

const SIZE: &str = "a size such as 65536, 64KiB, 4MiB or 1GiB";
const SIZE_ALIGNMENT: &str = "a power of two, or a size such as 64KiB";
const OPTIONAL_SIZE: &str = "default, or a size such as 65536, 64KiB, 4MiB or 1GiB";
const OPTIONAL_NUMBER: &str = "default, or a number";

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

/// The last one is for pools only.
const ALGORITHMS: [(&str, SuballocationAlgorithm); 5] = [
    ("default", SuballocationAlgorithm::Default),
    ("slab", SuballocationAlgorithm::Slab),
    ("buddy-system", SuballocationAlgorithm::BuddySystem),
    ("dedicated", SuballocationAlgorithm::Dedicated),
    ("linear", SuballocationAlgorithm::Linear),
];

const POLICIES: [(&str, EmptyHeapPolicy); 6] = [
    ("default", EmptyHeapPolicy::Default),
    ("least-memory", EmptyHeapPolicy::LeastMemory),
    ("fewest-hitches", EmptyHeapPolicy::FewestHitches),
    ("fixed-pool", EmptyHeapPolicy::FixedPool),
    ("segmented-pool", EmptyHeapPolicy::SegmentedPool),
    ("until-next-free", EmptyHeapPolicy::UntilNextFree),
];

impl ResourceAllocatorDesc {
    fn texts(&self) -> Vec<OptionText> {
        let size = |size: Option<ByteSize>| optional(size.map(ByteSize::get));
        let mut flags = String::new();
        // Writing to a string cannot fail.
        let _ = bitflags::parser::to_writer(&self.flags, &mut flags);
        let algorithm = name_of(&ALGORITHMS, self.suballocation_algorithm);
        let policy = name_of(&POLICIES, self.empty_heap_policy);
        vec![
            ("flags", flags, "names of ResourceAllocatorFlags, separated by |"),
            ("resource_heap_tier", optional(self.resource_heap_tier), "default, 1 or 2"),
            ("suballocation_algorithm", algorithm, "default, slab, buddy-system or dedicated"),
            (
                "empty_heap_policy",
                policy,
                "default, least-memory, fewest-hitches, fixed-pool, segmented-pool or until-next-free",
            ),
            ("preferred_heap_size", size(self.preferred_heap_size), OPTIONAL_SIZE),
            ("max_heap_size", size(self.max_heap_size), OPTIONAL_SIZE),
            ("heap_fragmentation_limit", optional(self.heap_fragmentation_limit), OPTIONAL_NUMBER),
            ("heap_growth_factor", optional(self.heap_growth_factor), OPTIONAL_NUMBER),
            ("min_alignment", self.min_alignment.get().to_string(), SIZE_ALIGNMENT),
            ("release_size", self.release_size.get().to_string(), SIZE),
            ("limit_default", size(self.limits.default), OPTIONAL_SIZE),
            ("limit_upload", size(self.limits.upload), OPTIONAL_SIZE),
            ("limit_readback", size(self.limits.readback), OPTIONAL_SIZE),
            ("limit_gpu_upload", size(self.limits.gpu_upload), OPTIONAL_SIZE),
            ("limit_share_of_budget", optional(self.limits.share_of_budget), OPTIONAL_NUMBER),
        ]
    }

    #[inline]
    fn set(&mut self, name: &str, text: &str) -> Option<()> {
        let algorithms = ALGORITHMS.split_last().map_or(&[][..], |(_linear, others)| others);
        match name {
            "flags" => store(&mut self.flags, bitflags::parser::from_str_strict(text).ok()),
            "resource_heap_tier" => store(&mut self.resource_heap_tier, parse_optional(text, parse)),
            "suballocation_algorithm" => store(&mut self.suballocation_algorithm, named(algorithms, text)),
            "empty_heap_policy" => store(&mut self.empty_heap_policy, named(&POLICIES, text)),
            "preferred_heap_size" => store(&mut self.preferred_heap_size, parse_optional(text, parse)),
            "max_heap_size" => store(&mut self.max_heap_size, parse_optional(text, parse)),
            "heap_fragmentation_limit" => {
                store(&mut self.heap_fragmentation_limit, parse_optional(text, number))
            }
            "heap_growth_factor" => store(&mut self.heap_growth_factor, parse_optional(text, number)),
            "min_alignment" => store(&mut self.min_alignment, alignment(text)),
            "release_size" => store(&mut self.release_size, parse(text)),
            "limit_default" => store(&mut self.limits.default, parse_optional(text, parse)),
            "limit_upload" => store(&mut self.limits.upload, parse_optional(text, parse)),
            "limit_readback" => store(&mut self.limits.readback, parse_optional(text, parse)),
            "limit_gpu_upload" => store(&mut self.limits.gpu_upload, parse_optional(text, parse)),
            "limit_share_of_budget" => store(&mut self.limits.share_of_budget, parse_optional(text, number)),
            _ => None,
        }
    }

    /// Sets a field by its name, as recordings and `heapwright replay --set` do: `flags`, `resource_heap_tier`,
    /// `suballocation_algorithm`, `empty_heap_policy`, `preferred_heap_size`, `max_heap_size`,
    /// `heap_fragmentation_limit`, `heap_growth_factor`, `min_alignment`, `release_size`, and `limit_default`,
    /// `limit_upload`, `limit_readback`, `limit_gpu_upload` and `limit_share_of_budget`.
    ///
    /// Optional fields accept `default`. Names of algorithms and policies are lower case with hyphens. Flags have their
    /// own names, separated by `|`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such option, or if it cannot have the value. Whether a device accepts the value
    /// is checked when the allocator is created.
    #[inline]
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let set = self.set(name, value.trim());
        set.ok_or_else(|| wrong_option(&self.texts(), name, value))
    }

    /// Returns the names and values of the options that do not have their default value.
    #[must_use]
    pub fn options(&self) -> Vec<(&'static str, String)> {
        changed(self.texts(), &Self::default().texts())
    }
}

impl PoolDesc {
    fn texts(&self) -> Vec<OptionText> {
        let custom_heap = self.custom_heap.map(|(page, pool)| format!("{page},{pool}"));
        let heap_count = format!("{},{}", self.min_heap_count, self.max_heap_count.unwrap_or(0));
        let nodes = self.nodes.map(|nodes| format!("{},{}", nodes.creation, nodes.visible));
        vec![
            ("name", self.name.clone(), "text"),
            ("heap_type", name_of(&HEAP_TYPES, self.heap_type), "default, upload, readback or gpu-upload"),
            (
                "custom_heap",
                optional(custom_heap),
                "default, or a D3D12_CPU_PAGE_PROPERTY and a D3D12_MEMORY_POOL such as 2,1",
            ),
            (
                "resources",
                name_of(&RESOURCE_KINDS, self.resources),
                "buffers, textures, render-targets or any",
            ),
            ("extra_heap_flags", self.extra_heap_flags.to_string(), "D3D12_HEAP_FLAGS as a number"),
            (
                "algorithm",
                name_of(&ALGORITHMS, self.algorithm),
                "default, slab, buddy-system, dedicated or linear",
            ),
            ("heap_size", optional(self.heap_size.map(ByteSize::get)), OPTIONAL_SIZE),
            (
                "heap_count",
                heap_count,
                "the minimum and the maximum number of heaps, 0 for no maximum, such as 1,4",
            ),
            ("min_alignment", self.min_alignment.get().to_string(), SIZE_ALIGNMENT),
            (
                "residency_priority",
                optional(self.residency_priority),
                "default, or a D3D12_RESIDENCY_PRIORITY as a number",
            ),
            ("multisampled", self.multisampled.to_string(), "true or false"),
            ("nodes", optional(nodes), "default, or the masks of creation and visibility, such as 1,3"),
        ]
    }

    #[inline]
    fn set(&mut self, name: &str, text: &str) -> Option<()> {
        match name {
            "name" => store(&mut self.name, Some(text.to_owned())),
            "heap_type" => store(&mut self.heap_type, named(&HEAP_TYPES, text)),
            "custom_heap" => store(&mut self.custom_heap, parse_optional(text, two_numbers)),
            "resources" => store(&mut self.resources, named(&RESOURCE_KINDS, text)),
            "extra_heap_flags" => store(&mut self.extra_heap_flags, parse(text)),
            "algorithm" => store(&mut self.algorithm, named(&ALGORITHMS, text)),
            "heap_size" => store(&mut self.heap_size, parse_optional(text, parse)),
            "heap_count" => {
                let (least, most) = two_numbers(text)?;
                (self.min_heap_count, self.max_heap_count) = (least, (most != 0).then_some(most));
                Some(())
            }
            "min_alignment" => store(&mut self.min_alignment, alignment(text)),
            "residency_priority" => store(&mut self.residency_priority, parse_optional(text, parse)),
            "multisampled" => store(&mut self.multisampled, parse(text)),
            "nodes" => {
                let masks = |(creation, visible)| NodeMasks { creation, visible };
                store(&mut self.nodes, parse_optional(text, |text| two_numbers(text).map(masks)))
            }
            _ => None,
        }
    }

    /// Sets a field by its name, as recordings do: `name`, `heap_type`, `custom_heap`, `resources`, `extra_heap_flags`,
    /// `algorithm`, `heap_size`, `heap_count` (minimum and maximum), `min_alignment`, `residency_priority`,
    /// `multisampled` and `nodes`. Texts are as for [`ResourceAllocatorDesc::set_option`]. A protected session has no
    /// text.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such option, or if it cannot have the value. Whether a device accepts the value
    /// is checked when the pool is created.
    #[inline]
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let set = self.set(name, value.trim());
        set.ok_or_else(|| wrong_option(&self.texts(), name, value))
    }

    /// Returns the names and values of the options that do not have their default value.
    #[must_use]
    pub fn options(&self) -> Vec<(&'static str, String)> {
        changed(self.texts(), &Self::default().texts())
    }
}

#[inline]
fn wrong_option(options: &[OptionText], name: &str, value: &str) -> Error {
    let rule = match options.iter().find(|(known, ..)| *known == name) {
        Some((_, _, values)) => format!("{name} must be {values}, not {value:?}"),
        None => {
            let names: Vec<&str> = options.iter().map(|(name, ..)| *name).collect();
            format!("{name:?} is unknown; available: {}", names.join(", "))
        }
    };
    Error::invalid_argument("option", rule)
}

fn changed(options: Vec<OptionText>, default: &[OptionText]) -> Vec<(&'static str, String)> {
    let changed =
        options.into_iter().zip(default).filter(|((_, text, _), (_, of_default, _))| text != of_default);
    changed.map(|((name, text, _), _)| (name, text)).collect()
}

/// Sets a field to a value, if there is one.
fn store<T>(field: &mut T, value: Option<T>) -> Option<()> {
    *field = value?;
    Some(())
}

fn parse<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "default".to_owned(), |value| value.to_string())
}

fn parse_optional<T>(text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    if text == "default" { Some(None) } else { parse(text).map(Some) }
}

#[inline]
fn alignment(text: &str) -> Option<Alignment> {
    Alignment::new(parse::<ByteSize>(text)?.get())
}

#[inline]
fn number(text: &str) -> Option<f64> {
    parse(text).filter(|number: &f64| number.is_finite())
}

fn two_numbers<T: FromStr>(text: &str) -> Option<(T, T)> {
    let (first, second) = text.split_once(',')?;
    Some((parse(first.trim())?, parse(second.trim())?))
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
