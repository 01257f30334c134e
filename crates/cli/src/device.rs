//! Which device `--device` names, and opening it.

use heapwright_runtime::{HostProfile, Instance};

/// A device that the program can open. So far these are the simulated GPUs of the runtime's host driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceChoice {
    profile: &'static HostProfile,
}

/// `--device` names nothing that exists.
#[derive(Debug, thiserror::Error)]
#[error("no device {:?}; there are {}", .asked, list_of_names())]
pub(crate) struct UnknownDevice {
    asked: String,
}

const HOST: &str = "host";

impl DeviceChoice {
    /// Every device, the default one first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        HostProfile::all().iter().map(|profile| Self { profile })
    }

    /// The device of that name: `host` for the default profile, or `host:PROFILE`.
    pub(crate) fn find(name: &str) -> Result<Self, UnknownDevice> {
        let profile = match name.split_once(':') {
            None if name == HOST => Some(HostProfile::default_profile()),
            Some((HOST, profile)) => HostProfile::find(profile),
            _ => None,
        };
        profile.map(|profile| Self { profile }).ok_or_else(|| UnknownDevice { asked: name.to_owned() })
    }

    /// The name in full, as [`find`](Self::find) takes it.
    pub(crate) fn name(self) -> String {
        format!("{HOST}:{}", self.profile.name)
    }

    /// Whether plain `host` means it.
    pub(crate) fn is_default(self) -> bool {
        self.profile.name == HostProfile::default_profile().name
    }

    /// One line for people.
    pub(crate) fn description(self) -> &'static str {
        self.profile.description
    }

    /// Opens it afresh: nothing is shared with a device opened before.
    pub(crate) fn open(self) -> Result<Instance, CannotOpen> {
        Instance::open(self.profile)
            .map_err(|error| CannotOpen { name: self.name(), reason: error.to_string() })
    }
}

/// The device exists and does not open.
#[derive(Debug, thiserror::Error)]
#[error("cannot open device {name}: {reason}")]
pub(crate) struct CannotOpen {
    name: String,
    reason: String,
}

fn list_of_names() -> String {
    let mut names =
        format!("{HOST} (which is {})", DeviceChoice { profile: HostProfile::default_profile() }.name());
    for choice in DeviceChoice::all() {
        names.push_str(", ");
        names.push_str(&choice.name());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_is_found_by_its_name() {
        for choice in DeviceChoice::all() {
            assert_eq!(DeviceChoice::find(&choice.name()).unwrap().profile.name, choice.profile.name);
        }
        assert!(DeviceChoice::find("host").unwrap().is_default());
        assert_eq!(DeviceChoice::all().filter(|choice| choice.is_default()).count(), 1);
    }

    #[test]
    fn an_unknown_device_is_told_what_exists() {
        for name in ["", "vulkan", "host:", "host:nothing", "hosts", "vulkan:0", "HOST"] {
            let message = DeviceChoice::find(name).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("no device {name:?}; there are host (which is host:")),
                "{message}"
            );
            for choice in DeviceChoice::all() {
                assert!(message.contains(&choice.name()), "{message}");
            }
            assert_eq!(message.lines().count(), 1);
        }
    }
}
