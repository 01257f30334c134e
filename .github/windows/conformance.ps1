# Runs the conformance suite on WARP, writes target/windows-warp.json, and compares it with the recorded baseline, if there is one.
$ErrorActionPreference = 'Stop'
cargo build -p heapwright-cli
if ($LASTEXITCODE -ne 0) { exit 1 }
$program = "target/$env:CARGO_BUILD_TARGET/debug/heapwright.exe"
& $program devices
& $program conformance --device d3d12 --json | Out-File -Encoding utf8 target/windows-warp.json
# A failed check is no error of this step by itself: the baseline says what is expected.
if ($LASTEXITCODE -gt 1) { exit $LASTEXITCODE }

function Get-Outcomes([string]$file) {
    $outcomes = @{}
    foreach ($check in (Get-Content $file | ConvertFrom-Json).checks) { $outcomes[$check.id] = $check.result }
    return $outcomes
}
$baseline = 'crates/conformance/results/windows-warp.json'
if (-not (Test-Path $baseline)) {
    Write-Host "There is no $baseline yet. Look through the uploaded result, and commit it as the baseline."
    exit 0
}
$expected = Get-Outcomes $baseline
$found = Get-Outcomes 'target/windows-warp.json'
$differences = @($expected.Keys + $found.Keys | Sort-Object -Unique | Where-Object { $expected[$_] -ne $found[$_] })
foreach ($id in $differences) { Write-Host "${id}: expected '$($expected[$id])', found '$($found[$id])'" }
if ($differences.Count -gt 0) { exit 1 }
