//! Descriptions of functions for libffi. Calls that need more than registers use them, and so do all callbacks.
//!
//! An [`Interface`] owns a `ffi_cif` and all that it points to, and never moves them. libffi only reads a prepared
//! `ffi_cif`, so threads can share it.
//!
//! libffi knows structures as lists of scalars and structures. It has no arrays: an array becomes a list of its
//! elements. It has no unions: a type with a union inside is described by a structure that the platform passes in the
//! same registers, see [`like_union`].

use std::ffi::{c_uint, c_void};
use std::mem;
use std::ptr::{self, NonNull};

use libffi_sys as ffi;
use libffi_sys::{ffi_cif, ffi_type};

use crate::types::{Kind, Layout, Primitive, Record, Type};

/// The description of functions with one signature, for calls and callbacks.
pub(crate) struct Interface {
    cif: NonNull<ffi_cif>,
    /// The data that the `ffi_cif` points to.
    _parts: Parts,
}

// SAFETY: it is not changed after its creation.
unsafe impl Send for Interface {}
// SAFETY: likewise.
unsafe impl Sync for Interface {}

impl Interface {
    /// The interface of a function with this result and these arguments. If it is variadic, then
    /// `fixed` is the number of its parameters.
    pub(crate) fn new(result: &Type, arguments: &[Type], fixed: Option<usize>) -> Interface {
        let mut parts = Parts::default();
        let result = parts.described(result);
        let arguments = arguments.iter().map(|argument| parts.described(argument)).collect();
        let (arguments, count) = parts.keep_list(arguments);
        // SAFETY: zero is a value of all fields: integers and pointers. libffi fills them.
        let cif = NonNull::from(Box::leak(Box::new(unsafe { std::mem::zeroed::<ffi_cif>() })));
        let (pointer, abi) = (cif.as_ptr(), ffi::ffi_abi_FFI_DEFAULT_ABI);
        // SAFETY: the types are complete, and live as long as the interface.
        let status = unsafe {
            match fixed.map(|fixed| fixed as c_uint) {
                None => ffi::ffi_prep_cif(pointer, abi, count, result, arguments),
                Some(fixed) => ffi::ffi_prep_cif_var(pointer, abi, fixed, count, result, arguments),
            }
        };
        assert_eq!(status, ffi::ffi_status_FFI_OK, "the types are ones that libffi knows");
        Interface { cif, _parts: parts }
    }

    pub(crate) fn as_ptr(&self) -> *mut ffi_cif {
        self.cif.as_ptr()
    }

    /// Calls a function.
    ///
    /// # Safety
    /// The address is that of a function with this signature. `arguments` has a pointer to the aligned bytes of each
    /// argument; `result` has room for the result, and for at least one word.
    pub(crate) unsafe fn call(
        &self,
        address: usize,
        result: *mut c_void,
        arguments: *mut *mut c_void,
    ) {
        let function = ptr::with_exposed_provenance::<()>(address);
        // SAFETY: pointers to functions are addresses here; libffi gives it the right type again.
        let function = unsafe { mem::transmute::<*const (), unsafe extern "C" fn()>(function) };
        // SAFETY: the caller's.
        unsafe { ffi::ffi_call(self.as_ptr(), Some(function), result, arguments) };
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `new`, and goes with its only owner.
        drop(unsafe { Box::from_raw(self.cif.as_ptr()) });
    }
}

/// The data that an interface points to.
#[derive(Default)]
struct Parts {
    /// The lists' elements are pointed to, and stay in place when the lists move.
    lists: Vec<Vec<*mut ffi_type>>,
    /// Leaked, so that moving them moves no pointer.
    structures: Vec<NonNull<ffi_type>>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        for structure in &self.structures {
            // SAFETY: it was leaked when it was put here, and goes with its only owner.
            drop(unsafe { Box::from_raw(structure.as_ptr()) });
        }
    }
}

impl Parts {
    fn described(&mut self, c_type: &Type) -> *mut ffi_type {
        match (c_type.primitive(), c_type.kind()) {
            (Some(primitive), _) => described_primitive(primitive),
            (None, Kind::Record(record)) => self.described_record(record),
            _ => &raw mut ffi::ffi_type_void,
        }
    }

    fn described_record(&mut self, record: &Record) -> *mut ffi_type {
        let mut elements = Vec::new();
        if record.has_union() {
            like_union(record, &mut elements);
        } else {
            for field in record.fields() {
                self.add_elements(&field.c_type, &mut elements);
            }
        }
        self.structure(record.layout(), elements)
    }

    fn add_elements(&mut self, c_type: &Type, elements: &mut Vec<*mut ffi_type>) {
        match c_type.kind() {
            Kind::Array(array) => {
                let start = elements.len();
                self.add_elements(&array.element, elements);
                let one = elements[start..].to_vec();
                elements.truncate(start);
                (0..array.length.unwrap_or(0)).for_each(|_| elements.extend_from_slice(&one));
            }
            _ => elements.push(self.described(c_type)),
        }
    }

    fn structure(&mut self, layout: Layout, mut elements: Vec<*mut ffi_type>) -> *mut ffi_type {
        elements.push(ptr::null_mut());
        let (elements, _) = self.keep_list(elements);
        let structure = ffi_type {
            size: layout.size,
            alignment: layout.alignment as u16,
            type_: ffi::FFI_TYPE_STRUCT,
            elements,
        };
        let structure = NonNull::from(Box::leak(Box::new(structure)));
        self.structures.push(structure);
        structure.as_ptr()
    }

    /// Keeps a list; answers its address and its length.
    fn keep_list(&mut self, mut list: Vec<*mut ffi_type>) -> (*mut *mut ffi_type, c_uint) {
        let (start, length) = (list.as_mut_ptr(), list.len() as c_uint);
        self.lists.push(list);
        (start, length)
    }
}

fn described_primitive(primitive: Primitive) -> *mut ffi_type {
    match primitive {
        Primitive::Bool | Primitive::U8 => &raw mut ffi::ffi_type_uint8,
        Primitive::I8 => &raw mut ffi::ffi_type_sint8,
        Primitive::I16 => &raw mut ffi::ffi_type_sint16,
        Primitive::U16 => &raw mut ffi::ffi_type_uint16,
        Primitive::I32 => &raw mut ffi::ffi_type_sint32,
        Primitive::U32 => &raw mut ffi::ffi_type_uint32,
        Primitive::I64 => &raw mut ffi::ffi_type_sint64,
        Primitive::U64 => &raw mut ffi::ffi_type_uint64,
        Primitive::F32 => &raw mut ffi::ffi_type_float,
        Primitive::F64 => &raw mut ffi::ffi_type_double,
        Primitive::Pointer => &raw mut ffi::ffi_type_pointer,
    }
}

/// Adds elements that are passed in the same way as a record with a union inside.
///
/// - x86-64 (System V, section 3.2.3): each eight bytes of a record of at most sixteen go in a register for
///   floating-point numbers if only such numbers may be in them, else in one for integers.
/// - AArch64 (AAPCS64, section 5.9.5): a record of up to four floating-point numbers of one type goes in as
///   many registers for these, any other as integers.
/// - Elsewhere: as integers.
fn like_union(record: &Record, elements: &mut Vec<*mut ffi_type>) {
    let layout = record.layout();
    let mut scalars = Vec::new();
    if layout.size <= 32 {
        add_scalars(record, 0, &mut scalars);
    }
    let float = only_float(&scalars, layout.size).filter(|_| cfg!(target_arch = "aarch64"));
    if let Some(float) = float {
        let count = layout.size / float.size();
        return elements.extend(std::iter::repeat_n(described_primitive(float), count));
    }
    for start in (0..layout.size).step_by(8) {
        let length = (layout.size - start).min(8);
        let inside = |(offset, _): &&(usize, Primitive)| (start..start + length).contains(offset);
        let mut there = scalars.iter().filter(inside).peekable();
        let is_small = cfg!(target_arch = "x86_64") && layout.size <= 16;
        if is_small && there.peek().is_some() && there.all(|(_, primitive)| primitive.is_floating())
        {
            let float = if length == 4 { Primitive::F32 } else { Primitive::F64 };
            elements.push(described_primitive(float));
        } else {
            let unit = layout.alignment.min(8);
            let integer = described_primitive(Primitive::integer(unit, false));
            elements.extend(std::iter::repeat_n(integer, length / unit));
        }
    }
}

/// The floating-point type that at most four numbers share; `None` if there is none.
fn only_float(scalars: &[(usize, Primitive)], size: usize) -> Option<Primitive> {
    let (_, first) = *scalars.first()?;
    let is_same = scalars.iter().all(|(_, primitive)| *primitive == first);
    (first.is_floating() && is_same && size <= 4 * first.size()).then_some(first)
}

/// Adds the scalars of a small record with their offsets; those of unions overlap.
fn add_scalars(record: &Record, base: usize, scalars: &mut Vec<(usize, Primitive)>) {
    for field in record.fields() {
        add_scalars_of(&field.c_type, base + field.offset, scalars);
    }
}

fn add_scalars_of(c_type: &Type, offset: usize, scalars: &mut Vec<(usize, Primitive)>) {
    match (c_type.primitive(), c_type.kind()) {
        (Some(primitive), _) => scalars.push((offset, primitive)),
        (None, Kind::Record(record)) => add_scalars(record, offset, scalars),
        (None, Kind::Array(array)) => {
            let size = array.element.layout().map_or(0, |layout| layout.size);
            for index in 0..array.length.unwrap_or(0) {
                add_scalars_of(&array.element, offset + index * size, scalars);
            }
        }
        _ => {}
    }
}
