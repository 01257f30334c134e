//! The device that the process's factories enumerate: chosen by a call or by the environment, once.

use std::sync::{Arc, OnceLock};

use heapwright_d3d12::*;

use crate::aliasing::{AliasingTracking, Strictness};
use crate::drivers::driver::Driver;
use crate::drivers::host;
use crate::drivers::host::profile::HostProfile;
#[cfg(feature = "vulkan")]
use crate::drivers::vulkan::{self, VulkanGpu};
use crate::rules::{Options, Refusal};

/// The environment variables that choose the process's device, equivalent to `HeapwrightChooseDevice`.
const ENVIRONMENT: [&str; 2] = ["HEAPWRIGHT_PROFILE", "HEAPWRIGHT_OPTIONS"];

/// The valid options, for messages.
const OPTIONS: &str = "sdk=VERSION, aliasing=advanced, aliasing=simple, strictness=documented, strictness=mild, \
                       strictness=strict, strictness=pedantic, scramble=SEED and scramble=off are allowed";

/// The process's adapter, and the options of the devices created on it.
pub(crate) struct ProcessDevice {
    pub(crate) adapters: Vec<Arc<Driver>>,
    pub(super) options: Options,
    pub(super) aliasing: Option<AliasingTracking>,
}

impl ProcessDevice {
    /// Parses a profile name and comma-separated options. Empty strings select the defaults.
    fn new(profile: &str, options: &str) -> Result<Self, Refusal> {
        let adapter = adapter(profile)?;
        let mut chosen = Options::default();
        let mut aliasing: Option<AliasingTracking> = None;
        let (mut strictness, mut scramble_seed) = (None, None);
        for name in options.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.split_once('=') {
                Some(("sdk", version)) => {
                    chosen.sdk =
                        version.parse().map_err(|error| Refusal::invalid(format!("{name}: {error}")))?;
                }
                Some(("aliasing", "advanced")) => aliasing = Some(AliasingTracking::ADVANCED),
                Some(("aliasing", "simple")) => aliasing = Some(AliasingTracking::SIMPLE),
                Some(("strictness", "documented")) => strictness = Some(Strictness::Documented),
                Some(("strictness", "mild")) => strictness = Some(Strictness::Mild),
                Some(("strictness", "strict")) => strictness = Some(Strictness::Strict),
                Some(("strictness", "pedantic")) => strictness = Some(Strictness::Pedantic),
                Some(("scramble", "off")) => scramble_seed = Some(None),
                Some(("scramble", seed)) => {
                    let seed = seed.parse().map_err(|_| {
                        Refusal::invalid(format!("{name}: the seed must be a 64-bit number or off"))
                    })?;
                    scramble_seed = Some(Some(seed));
                }
                _ => return Err(Refusal::invalid(format!("'{name}' is not a device option; {OPTIONS}"))),
            }
        }
        match &mut aliasing {
            Some(tracking) => {
                tracking.strictness = strictness.unwrap_or(tracking.strictness);
                tracking.scramble_seed = scramble_seed.unwrap_or(tracking.scramble_seed);
            }
            None if strictness.is_none() && scramble_seed.is_none() => {}
            None => {
                let rule = "strictness= and scramble= require aliasing=";
                return Err(Refusal::invalid(rule));
            }
        }
        Ok(Self { adapters: vec![adapter], options: chosen, aliasing })
    }
}

/// Opens the GPU with a name: a profile, or `vulkan` or `vulkan:INDEX` with the feature `vulkan`. The empty name is the
/// default profile's.
fn adapter(name: &str) -> Result<Arc<Driver>, Refusal> {
    let profile = match name {
        "" => Some(HostProfile::default_profile()),
        name => HostProfile::find(name),
    };
    if let Some(profile) = profile {
        return Ok(Arc::new(host::driver(profile)));
    }
    #[cfg(feature = "vulkan")]
    if let Some(index) = VulkanGpu::parse_name(name) {
        let opened = vulkan::driver(index);
        return Ok(Arc::new(opened.map_err(|error| Refusal::new(E_FAIL, error.to_string()))?));
    }
    Err(Refusal::invalid(format!("'{name}' is not a profile")))
}

/// The process's choice. It is fixed once it has been read.
static CHOICE: OnceLock<Result<ProcessDevice, Refusal>> = OnceLock::new();

/// Returns the process's choice, which is the same for every factory. Without an earlier choice, reads the environment.
pub(crate) fn get() -> Result<&'static ProcessDevice, Refusal> {
    let chosen = CHOICE.get_or_init(|| {
        let [profile, options] = ENVIRONMENT.map(|name| std::env::var(name).unwrap_or_default());
        ProcessDevice::new(&profile, &options)
    });
    chosen.as_ref().map_err(Clone::clone)
}

/// Makes the choice of the process.
///
/// # Errors
///
/// Returns E_INVALIDARG for an unknown profile or option, and E_FAIL if the choice was made before.
pub(crate) fn choose(profile: &str, options: &str) -> Result<(), Refusal> {
    let choice = ProcessDevice::new(profile, options)?;
    let is_late = |_| Refusal::new(E_FAIL, "the process has already chosen its device");
    CHOICE.set(Ok(choice)).map_err(is_late)
}
