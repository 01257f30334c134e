//! The fields of an allocator's description as text, for recordings and command lines.

use heapwright_core::ByteSize;

use super::{EmptyHeapPolicy, ResourceAllocatorDesc, ResourceAllocatorFlags, SuballocationAlgorithm};
use crate::Error;

/// An option: its name, its text unless it has the default value, and its parser.
struct AllocatorOption {
    name: &'static str,
    text: fn(&ResourceAllocatorDesc) -> String,
    set: fn(&mut ResourceAllocatorDesc, &str) -> Option<()>,
    values: &'static str,
}

const SIZE: &str = "a size such as 65536, 64KiB, 4MiB or 1GiB";
const OPTIONAL_SIZE: &str = "default, or a size such as 65536, 64KiB, 4MiB or 1GiB";
const OPTIONAL_NUMBER: &str = "default, or a number";

const OPTIONS: [AllocatorOption; 13] = [
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
    AllocatorOption {
        name: "preferred_heap_size",
        text: |desc| optional(desc.preferred_heap_size.map(ByteSize::get)),
        set: |desc, text| store(&mut desc.preferred_heap_size, parse_optional(text, size)),
        values: OPTIONAL_SIZE,
    },
    AllocatorOption {
        name: "max_heap_size",
        text: |desc| optional(desc.max_heap_size.map(ByteSize::get)),
        set: |desc, text| store(&mut desc.max_heap_size, parse_optional(text, size)),
        values: OPTIONAL_SIZE,
    },
    AllocatorOption {
        name: "heap_fragmentation_limit",
        text: |desc| optional(desc.heap_fragmentation_limit),
        set: |desc, text| store(&mut desc.heap_fragmentation_limit, parse_optional(text, number)),
        values: OPTIONAL_NUMBER,
    },
    AllocatorOption {
        name: "heap_growth_factor",
        text: |desc| optional(desc.heap_growth_factor),
        set: |desc, text| store(&mut desc.heap_growth_factor, parse_optional(text, number)),
        values: OPTIONAL_NUMBER,
    },
    AllocatorOption {
        name: "release_size",
        text: |desc| desc.release_size.get().to_string(),
        set: |desc, text| store(&mut desc.release_size, size(text)),
        values: SIZE,
    },
    AllocatorOption {
        name: "limit_default",
        text: |desc| optional(desc.limits.default.map(ByteSize::get)),
        set: |desc, text| store(&mut desc.limits.default, parse_optional(text, size)),
        values: OPTIONAL_SIZE,
    },
    AllocatorOption {
        name: "limit_upload",
        text: |desc| optional(desc.limits.upload.map(ByteSize::get)),
        set: |desc, text| store(&mut desc.limits.upload, parse_optional(text, size)),
        values: OPTIONAL_SIZE,
    },
    AllocatorOption {
        name: "limit_readback",
        text: |desc| optional(desc.limits.readback.map(ByteSize::get)),
        set: |desc, text| store(&mut desc.limits.readback, parse_optional(text, size)),
        values: OPTIONAL_SIZE,
    },
    AllocatorOption {
        name: "limit_gpu_upload",
        text: |desc| optional(desc.limits.gpu_upload.map(ByteSize::get)),
        set: |desc, text| store(&mut desc.limits.gpu_upload, parse_optional(text, size)),
        values: OPTIONAL_SIZE,
    },
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
    /// `heap_growth_factor`, `release_size`, and `limit_default`, `limit_upload`, `limit_readback` and `limit_gpu_upload`.
    ///
    /// Optional fields accept `default`. Names of algorithms and policies are lower case with hyphens. Flags have their own names,
    /// separated by `|`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such option, or if it cannot have the value. Whether a device accepts the value is checked
    /// when the allocator is created.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let Some(option) = OPTIONS.iter().find(|option| option.name == name) else {
            let names: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
            let rule = format!("{name:?} is unknown; available: {}", names.join(", "));
            return Err(Error::invalid_argument("option", rule));
        };
        (option.set)(self, value.trim()).ok_or_else(|| {
            Error::invalid_argument("option", format!("{name} must be {}, not {value:?}", option.values))
        })
    }

    /// Returns the names and values of the options that do not have their default value.
    #[must_use]
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let default = Self::default();
        OPTIONS
            .iter()
            .map(|option| (option.name, (option.text)(self), (option.text)(&default)))
            .filter(|(_, text, of_default)| text != of_default)
            .map(|(name, text, _)| (name, text))
            .collect()
    }
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

fn size(text: &str) -> Option<ByteSize> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (digits, shift) = units
        .iter()
        .find_map(|&(unit, shift)| Some((text.strip_suffix(unit)?.trim_end(), shift)))
        .unwrap_or((text, 0));
    let count: u64 = digits.parse().ok()?;
    count.checked_mul(1 << shift).map(ByteSize::new)
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
