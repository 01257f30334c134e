# Downloads the Agility SDK and WARP from NuGet, puts them beside the programs, and sets RUSTFLAGS for the steps that follow, so that
# their programs choose it. docs/windows.md explains it.
$ErrorActionPreference = 'Stop'
# .ci/renew changes these versions.
$versions = @{
    'microsoft.direct3d.d3d12' = '1.618.3'
    'microsoft.direct3d.warp'  = '1.0.20'
}
$folder = Join-Path $PWD 'target/agility'
New-Item -ItemType Directory -Force $folder | Out-Null

# Downloads a package, and returns its folder and version.
function Get-Package([string]$name) {
    $version = $versions[$name]
    $archive = Join-Path $folder "$name.zip"
    Invoke-WebRequest "https://api.nuget.org/v3-flatcontainer/$name/$version/$name.$version.nupkg" -OutFile $archive
    $content = Join-Path $folder $name
    Expand-Archive -Force $archive $content
    Write-Host "$name $version"
    return @{ Folder = $content; Version = $version }
}
$sdk = Get-Package 'microsoft.direct3d.d3d12'
$warp = Get-Package 'microsoft.direct3d.warp'
# The package 1.618.1 has the SDK version 618.
$number = [int]($sdk.Version -split '\.')[1]

$built = Join-Path $PWD "target/$env:CARGO_BUILD_TARGET/debug"
foreach ($programs in $built, "$built/deps", "$built/examples") {
    New-Item -ItemType Directory -Force "$programs/D3D12" | Out-Null
    Copy-Item "$($sdk.Folder)/build/native/bin/x64/*" "$programs/D3D12/"
    Copy-Item "$($warp.Folder)/build/native/bin/x64/d3d10warp.dll" $programs
}

# Some features of the Agility SDK require the developer mode.
reg add 'HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\AppModelUnlock' /t REG_DWORD /f /v AllowDevelopmentWithoutDevLicense /d 1 | Out-Null

$visualStudio = & "${env:ProgramFiles(x86)}\Microsoft Visual Studio\Installer\vswhere.exe" -latest -property installationPath
$object = Join-Path $folder 'agility.obj'
cmd /c "`"$visualStudio\VC\Auxiliary\Build\vcvars64.bat`" && cl /nologo /c /DAGILITY_VERSION=$number /Fo`"$object`" .github\windows\agility.c"
if ($LASTEXITCODE -ne 0) { throw 'agility.c was not compiled' }
# With CARGO_BUILD_TARGET set, these flags do not apply to build scripts and procedural macros.
"RUSTFLAGS=-C link-arg=$($object -replace '\\', '/')" | Out-File -Append $env:GITHUB_ENV
