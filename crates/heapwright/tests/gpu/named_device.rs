//! The device that the environment names.
//!
//! `HEAPWRIGHT_TEST_DEVICE` is `host` or `host:PROFILE` for a simulated GPU, `vulkan` or `vulkan:INDEX`, or `d3d12`,
//! `d3d12:N` or `d3d12:PATH`, as for the program's option `--device`. By default the tests run on the default simulated
//! GPU.
//!
//! `HEAPWRIGHT_TEST_LOG` names a file that receives a line for each completed test: `<binary>::<test>`, a
//! tab, and the device. A skipped test is not in the file; it prints its reason to standard error, even
//! where the test harness captures output.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{env, thread};

use heapwright::d3d12::*;
use heapwright::{DeviceCaps, HeapType};
use heapwright_loader::{DeviceName, LoadError};
use heapwright_runtime::{DeviceOptions, HostProfile, Instance, VulkanGpu, vulkan_validation_messages};

/// A device, and our runtime's GPU that counts its memory, if it is one.
pub(crate) trait Opened {
    fn device(&self) -> &ID3D12Device;

    /// The adapter, if the device is to be used with one.
    fn adapter(&self) -> Option<&IDXGIAdapter3>;

    /// Our runtime's GPU, whose count this test alone changes. Other devices count the memory of other tests
    /// as well, or none.
    fn own(&self) -> Option<&Instance>;
}

impl Opened for Instance {
    fn device(&self) -> &ID3D12Device {
        &self.device
    }

    fn adapter(&self) -> Option<&IDXGIAdapter3> {
        Some(&self.adapter)
    }

    fn own(&self) -> Option<&Instance> {
        Some(self)
    }
}

/// A GPU of our runtime, which tests can look into.
///
/// At the end of a test, there must be no message of the Vulkan validation layer.
pub(crate) struct OwnGpu {
    instance: Instance,
    is_vulkan: bool,
}

impl OwnGpu {
    /// Opens a simulated GPU, or instead of `discrete` the Vulkan device that the environment names.
    pub(crate) fn open(profile: &str, options: DeviceOptions) -> Self {
        let name = named();
        let index = VulkanGpu::parse_name(&name).filter(|_| profile == "discrete");
        let Some(index) = index else {
            let profile = HostProfile::find(profile).expect("a profile of that name");
            return Instance::open_with(profile, options).expect("a fresh instance").into();
        };
        let opened = Instance::open_vulkan(index, options, &[]);
        let instance = opened.unwrap_or_else(|error| panic!("HEAPWRIGHT_TEST_DEVICE={name}: {error}"));
        Self { instance, is_vulkan: true }
    }

    /// Returns whether the GPU is simulated.
    pub(crate) fn is_simulated(&self) -> bool {
        !self.is_vulkan
    }
}

impl From<Instance> for OwnGpu {
    fn from(instance: Instance) -> Self {
        Self { instance, is_vulkan: false }
    }
}

impl Deref for OwnGpu {
    type Target = Instance;

    fn deref(&self) -> &Instance {
        &self.instance
    }
}

impl Drop for OwnGpu {
    fn drop(&mut self) {
        if self.is_vulkan && !thread::panicking() {
            assert_eq!(vulkan_validation_messages(), Vec::<String>::new());
        }
    }
}

/// The device that the environment names.
#[derive(Debug)]
pub(crate) struct Gpu {
    pub(crate) device: ID3D12Device,
    pub(crate) adapter: Option<IDXGIAdapter3>,
    name: String,
    own: Option<Instance>,
    is_skipped: bool,
}

impl Opened for Gpu {
    fn device(&self) -> &ID3D12Device {
        &self.device
    }

    fn adapter(&self) -> Option<&IDXGIAdapter3> {
        self.adapter.as_ref()
    }

    fn own(&self) -> Option<&Instance> {
        self.own.as_ref()
    }
}

/// Opens the device that the environment names; one of our runtime is new for each call.
pub(crate) fn any_device() -> Gpu {
    let name = named();
    open(&name).unwrap_or_else(|error| panic!("HEAPWRIGHT_TEST_DEVICE={name}: {error}"))
}

fn named() -> String {
    env::var("HEAPWRIGHT_TEST_DEVICE").unwrap_or_else(|_| "host".to_owned())
}

fn open(name: &str) -> Result<Gpu, String> {
    let (kind, rest) = name.split_once(':').map_or((name, None), |(kind, rest)| (kind, Some(rest)));
    match (kind, rest) {
        ("host", profile) => {
            let profile = match profile {
                None => HostProfile::default_profile(),
                Some(profile) => HostProfile::find(profile).ok_or("there is no such profile")?,
            };
            let instance = Instance::open(profile).map_err(|error| error.to_string())?;
            Ok(Gpu {
                device: instance.device.clone(),
                adapter: profile.has_adapter.then(|| instance.adapter.clone()),
                name: format!("host:{}", profile.name),
                own: Some(instance),
                is_skipped: false,
            })
        }
        ("vulkan", _) => {
            let index = VulkanGpu::parse_name(name).ok_or("the index is not a number")?;
            let opened = Instance::open_vulkan(index, DeviceOptions::default(), &[]);
            let instance = opened.map_err(|error| error.to_string())?;
            Ok(Gpu {
                device: instance.device.clone(),
                adapter: Some(instance.adapter.clone()),
                name: name.to_owned(),
                own: Some(instance),
                is_skipped: false,
            })
        }
        _ => loaded(name)
            .ok_or("it is none of host, host:PROFILE, vulkan, vulkan:INDEX, d3d12, d3d12:N and d3d12:PATH")?
            .map_err(|error| error.to_string()),
    }
}

fn loaded(name: &str) -> Option<Result<Gpu, LoadError>> {
    let name_of_device = DeviceName::parse(name)?;
    // SAFETY: whoever sets the variable names a D3D12.
    let opened = unsafe { name_of_device.open() };
    Some(opened.map(|heapwright_loader::Gpu { device, adapter }| Gpu {
        device,
        adapter,
        name: name.to_owned(),
        own: None,
        is_skipped: false,
    }))
}

impl Gpu {
    /// Returns whether the device lacks what a test needs. If so, marks the test as skipped and prints the
    /// reason.
    pub(crate) fn lacks(&mut self, what: &str, has: impl FnOnce(&DeviceCaps) -> bool) -> bool {
        let caps = DeviceCaps::query(&self.device).expect("a sound device");
        if has(&caps) {
            return false;
        }
        self.is_skipped = true;
        self.say(&format!("skipped: {} has no {what}", self.name));
        true
    }

    /// Returns the heap types that the device has, and prints those that it lacks.
    pub(crate) fn heap_types(&self) -> Vec<HeapType> {
        let caps = DeviceCaps::query(&self.device).expect("a sound device");
        let has_gpu_upload = caps.gpu_upload_heaps;
        if !has_gpu_upload {
            self.say(&format!("without GPU_UPLOAD, which {} does not have", self.name));
        }
        let has = |heap_type: &HeapType| *heap_type != HeapType::GpuUpload || has_gpu_upload;
        HeapType::ALL.into_iter().filter(has).collect()
    }

    pub(crate) fn say(&self, what: &str) {
        say(what);
    }
}

/// Prints one line to standard error directly, because the test harness shows captured output of failed
/// tests only.
fn say(what: &str) {
    let line = format!("{}: {what}\n", test_name());
    std::io::stderr().write_all(line.as_bytes()).expect("standard error takes a line");
}

/// The name of the test on this thread, with its binary.
fn test_name() -> String {
    let binary = env::current_exe().expect("the system knows it");
    let stem = binary.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo appends a hash.
    let binary = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
    format!("{binary}::{}", thread::current().name().unwrap_or("unnamed"))
}

/// The lines that are already in the file.
static LOGGED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

impl Drop for Gpu {
    fn drop(&mut self) {
        let Some(path) = env::var_os("HEAPWRIGHT_TEST_LOG") else { return };
        if self.is_skipped || thread::panicking() {
            return;
        }
        let line = format!("{}\t{}\n", test_name(), self.name);
        // Held while the line is written, because not every system appends concurrent writes atomically.
        let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
        // Some tests open the device more than once.
        if !logged.insert(line.clone()) {
            return;
        }
        let written = OpenOptions::new().append(true).create(true).open(Path::new(&path));
        written
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("HEAPWRIGHT_TEST_LOG can be written");
    }
}
