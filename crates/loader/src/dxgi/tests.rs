//! Tests with a DXGI implementation whose behaviour is configurable.

use std::cell::RefCell;

use windows_core::{BOOL, ComObject, GUID, IUnknown, OutRef, Ref, Result, implement};

use super::*;

/// Behaviour of a factory.
#[derive(Clone, Debug)]
struct Script {
    adapters: Vec<ScriptedAdapter>,
    /// Result of `EnumAdapters1` after the last adapter. With S_OK, the last adapter comes again and again.
    end: HRESULT,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScriptedAdapter {
    number: u32,
    is_software: bool,
    /// Whether the adapter implements `IDXGIAdapter3`.
    has_budgets: bool,
    /// Result of `GetDesc1`.
    desc: HRESULT,
}

const fn adapter(number: u32) -> ScriptedAdapter {
    ScriptedAdapter { number, is_software: false, has_budgets: true, desc: S_OK }
}

thread_local! {
    static SCRIPT: RefCell<Option<Script>> = const { RefCell::new(None) };
}

/// Returns the numbers of the enumerated adapters.
fn enumerate(script: Script) -> std::result::Result<Vec<u32>, LoadError> {
    SCRIPT.set(Some(script));
    let dxgi = Dxgi { library: "scripted".into(), create: CreateFactory::One(create_factory) };
    let numbers = dxgi.adapters()?.into_iter().map(|adapter| {
        let mut desc = DXGI_ADAPTER_DESC1::default();
        // SAFETY: the adapter is a live COM object, and the description is writable.
        unsafe { adapter.GetDesc1(&mut desc) }.ok().expect("the call succeeded before");
        desc.DeviceId
    });
    Ok(numbers.collect())
}

unsafe extern "system" fn create_factory(riid: *const GUID, ppfactory: *mut *mut c_void) -> HRESULT {
    let Some(script) = SCRIPT.take() else { return E_FAIL };
    let factory: IUnknown = ComObject::new(Factory { script }).to_interface();
    // SAFETY: the caller passes valid pointers.
    unsafe { factory.query(riid, ppfactory) }
}

#[test]
fn software_adapters_are_last_and_adapters_without_budget_omitted() {
    let software = |number| ScriptedAdapter { is_software: true, ..adapter(number) };
    let old = ScriptedAdapter { has_budgets: false, ..adapter(3) };
    let adapters = vec![software(0), adapter(1), software(2), old, adapter(4)];
    assert_eq!(enumerate(Script { adapters, end: DXGI_ERROR_NOT_FOUND }), Ok(vec![1, 4, 0, 2]));
    assert_eq!(enumerate(Script { adapters: vec![], end: DXGI_ERROR_NOT_FOUND }), Ok(vec![]));
}

#[test]
fn an_enumeration_that_fails_is_an_error() {
    let failed = |call| Err(LoadError::Call { library: "scripted".into(), call, hresult: E_OUTOFMEMORY });
    let script = Script { adapters: vec![adapter(0)], end: E_OUTOFMEMORY };
    assert_eq!(enumerate(script), failed("IDXGIFactory1::EnumAdapters1"));
    let silent = ScriptedAdapter { desc: E_OUTOFMEMORY, ..adapter(0) };
    let script = Script { adapters: vec![silent], end: DXGI_ERROR_NOT_FOUND };
    assert_eq!(enumerate(script), failed("IDXGIAdapter1::GetDesc1"));
}

/// The test ends, although the factory has 2^32 adapters.
#[test]
fn an_enumeration_without_end_is_an_error() {
    let script = Script { adapters: vec![adapter(7)], end: S_OK };
    let endless = LoadError::EndlessAdapters { library: "scripted".into(), count: MOST_ADAPTERS };
    assert_eq!(enumerate(script), Err(endless));
    let most = (0..MOST_ADAPTERS).map(adapter).collect();
    let found = enumerate(Script { adapters: most, end: DXGI_ERROR_NOT_FOUND });
    assert_eq!(found.map(|found| found.len()), Ok(1024));
}

/// A factory without `IDXGIFactory4` cannot find adapters by LUID.
#[test]
fn an_old_factory_finds_no_luid() {
    SCRIPT.set(Some(Script { adapters: vec![adapter(0)], end: DXGI_ERROR_NOT_FOUND }));
    let dxgi = Dxgi { library: "scripted".into(), create: CreateFactory::One(create_factory) };
    assert_eq!(dxgi.adapter_by_luid(LUID::default()), None);
    // The factory cannot be created, because the script has been taken.
    assert_eq!(dxgi.adapter_by_luid(LUID::default()), None);
}

#[implement(IDXGIFactory1)]
struct Factory {
    script: Script,
}

#[implement(IDXGIAdapter1)]
struct OldAdapter(ScriptedAdapter);

#[implement(IDXGIAdapter3)]
struct NewAdapter(ScriptedAdapter);

/// Methods that are not called.
macro_rules! not_implemented {
    ($(fn $method:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $method(&self, $(_: $argument),*) -> Result<$result> {
            Err(E_NOTIMPL.into())
        })*
    };
}

macro_rules! impl_object {
    ($($object:ident),*) => {
        $(
            impl IDXGIObject_Impl for $object {
                not_implemented! {
                    fn SetPrivateData(*const GUID, u32, *const c_void) -> ();
                    fn SetPrivateDataInterface(*const GUID, Ref<'_, IUnknown>) -> ();
                    fn GetPrivateData(*const GUID, *mut u32, *mut c_void) -> ();
                    fn GetParent(*const GUID, *mut *mut c_void) -> ();
                }
            }
        )*
    };
}

impl_object!(Factory_Impl, OldAdapter_Impl, NewAdapter_Impl);

macro_rules! impl_adapter {
    ($($object:ident),*) => {
        $(
            impl IDXGIAdapter_Impl for $object {
                not_implemented! {
                    fn EnumOutputs(u32, OutRef<'_, IDXGIOutput>) -> ();
                    fn GetDesc(*mut DXGI_ADAPTER_DESC) -> ();
                    fn CheckInterfaceSupport(*const GUID) -> i64;
                }
            }
            impl IDXGIAdapter1_Impl for $object {
                fn GetDesc1(&self, pdesc: *mut DXGI_ADAPTER_DESC1) -> Result<()> {
                    let flags = if self.0.is_software { DXGI_ADAPTER_FLAG_SOFTWARE } else { 0 };
                    // SAFETY: the caller passes a valid pointer.
                    unsafe {
                        (*pdesc).DeviceId = self.0.number;
                        (*pdesc).Flags = flags.cast_unsigned();
                    }
                    self.0.desc.ok()
                }
            }
        )*
    };
}

impl_adapter!(OldAdapter_Impl, NewAdapter_Impl);

impl IDXGIAdapter2_Impl for NewAdapter_Impl {
    not_implemented! {
        fn GetDesc2(*mut DXGI_ADAPTER_DESC2) -> ();
    }
}

impl IDXGIAdapter3_Impl for NewAdapter_Impl {
    not_implemented! {
        fn RegisterHardwareContentProtectionTeardownStatusEvent(HANDLE) -> u32;
    }
    fn UnregisterHardwareContentProtectionTeardownStatus(&self, _: u32) {}
    not_implemented! {
        fn QueryVideoMemoryInfo(u32, DXGI_MEMORY_SEGMENT_GROUP, *mut DXGI_QUERY_VIDEO_MEMORY_INFO) -> ();
        fn SetVideoMemoryReservation(u32, DXGI_MEMORY_SEGMENT_GROUP, u64) -> ();
        fn RegisterVideoMemoryBudgetChangeNotificationEvent(HANDLE) -> u32;
    }
    fn UnregisterVideoMemoryBudgetChangeNotification(&self, _: u32) {}
}

impl IDXGIFactory_Impl for Factory_Impl {
    not_implemented! {
        fn EnumAdapters(u32) -> IDXGIAdapter;
        fn MakeWindowAssociation(HWND, u32) -> ();
        fn GetWindowAssociation() -> HWND;
        fn CreateSwapChain(Ref<'_, IUnknown>, *const DXGI_SWAP_CHAIN_DESC) -> IDXGISwapChain;
        fn CreateSoftwareAdapter(HMODULE) -> IDXGIAdapter;
    }
}

impl IDXGIFactory1_Impl for Factory_Impl {
    fn EnumAdapters1(&self, adapter: u32) -> Result<IDXGIAdapter1> {
        let index = usize::try_from(adapter).unwrap_or(usize::MAX);
        let adapters = &self.script.adapters;
        let again = adapters.last().filter(|_| self.script.end.is_ok());
        match adapters.get(index).or(again) {
            None => Err(self.script.end.into()),
            Some(&adapter) if adapter.has_budgets => {
                ComObject::new(NewAdapter(adapter)).to_interface::<IDXGIAdapter3>().cast()
            }
            Some(&adapter) => Ok(ComObject::new(OldAdapter(adapter)).to_interface()),
        }
    }
    fn IsCurrent(&self) -> BOOL {
        true.into()
    }
}
