//! Installation of required packages.

use std::path::Path;
use std::process::{Command, Stdio};

use super::TARGET;

/// A Debian package, and a sign by which to detect that its content is installed.
struct Package {
    name: &'static str,
    sign: Sign,
}

enum Sign {
    /// A program in PATH.
    Program(&'static str),
    /// One of these files.
    File(&'static [&'static str]),
}

const PACKAGES: &[Package] = &[
    Package { name: "gcc", sign: Sign::Program("cc") },
    Package { name: "libc6-dev", sign: Sign::File(&["/usr/include/stdio.h"]) },
    Package { name: "gcc-mingw-w64-x86-64", sign: Sign::Program("x86_64-w64-mingw32-gcc") },
    Package { name: "g++-mingw-w64-x86-64", sign: Sign::Program("x86_64-w64-mingw32-g++") },
    Package { name: "clang", sign: Sign::Program("clang++") },
    Package { name: "directx-headers-dev", sign: Sign::File(&["/usr/include/directx/d3d12.h"]) },
    Package { name: "wine", sign: Sign::Program("wine") },
    Package { name: "wine64", sign: Sign::File(&["/usr/lib/wine/wine64", "/usr/bin/wine64"]) },
    Package { name: "xvfb", sign: Sign::Program("Xvfb") },
    // Only recommended by Wine.
    Package {
        name: "libvulkan1",
        sign: Sign::File(&["/usr/lib/x86_64-linux-gnu/libvulkan.so.1", "/usr/lib/libvulkan.so.1"]),
    },
    // Lavapipe: Vulkan on the CPU.
    Package {
        name: "mesa-vulkan-drivers",
        sign: Sign::File(&[
            "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
            "/usr/share/vulkan/icd.d/lvp_icd.json",
        ]),
    },
];

impl Sign {
    fn is_there(&self) -> bool {
        match self {
            Self::Program(name) => std::env::var_os("PATH")
                .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(name).is_file())),
            Self::File(paths) => paths.iter().any(|path| Path::new(path).exists()),
        }
    }
}

/// Installs missing Debian packages, without recommended ones, and Rust's target.
pub(super) fn install() -> Result<(), String> {
    let missing = || {
        let missing = PACKAGES.iter().filter(|package| !package.sign.is_there());
        missing.map(|package| package.name).collect::<Vec<_>>()
    };
    let wanted = missing();
    if !wanted.is_empty() {
        let list = wanted.join(" ");
        if !is_root()? {
            return Err(format!(
                "missing packages: {list}; run test-wine as root to install them, or run apt-get install \
                 --no-install-recommends {list}"
            ));
        }
        eprintln!("installing {list}");
        apt_get(&["update", "-qq"], &[])?;
        apt_get(&["install", "-y", "-qq", "--no-install-recommends"], &wanted)?;
        let left = missing();
        if !left.is_empty() {
            return Err(format!("files of installed packages not found: {}", left.join(" ")));
        }
    }
    add_target()
}

fn is_root() -> Result<bool, String> {
    let output = Command::new("id").arg("-u").output().map_err(|error| format!("starting id: {error}"))?;
    Ok(output.stdout.trim_ascii() == b"0")
}

fn apt_get(command: &[&str], packages: &[&str]) -> Result<(), String> {
    let status = Command::new("apt-get")
        .args(command)
        .args(packages)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("starting apt-get: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("apt-get {} failed", command[0])) }
}

fn add_target() -> Result<(), String> {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    if installed
        .is_ok_and(|output| output.stdout.split(|&byte| byte == b'\n').any(|line| line == TARGET.as_bytes()))
    {
        return Ok(());
    }
    eprintln!("installing Rust's target {TARGET}");
    let status = Command::new("rustup")
        .args(["target", "add", TARGET])
        .status()
        .map_err(|error| format!("starting rustup: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("rustup could not add {TARGET}")) }
}
