// Linked into every program that is tested on the newest Direct3D 12: d3d12.dll reads these exported variables of the executable.
__declspec(dllexport) const unsigned int D3D12SDKVersion = AGILITY_VERSION;
__declspec(dllexport) const char *const D3D12SDKPath = ".\\D3D12\\";
