//! The interface of `gdb` for code that is made while a program runs ("JIT Compilation Interface" in its manual): a list
//! of object files in memory, and a function in which the debugger has a breakpoint.
//!
//! Each piece of code gets an object file in ELF with one symbol and a description of its native frames, so that
//! `backtrace` names activations and goes on to the Rust code that has entered machine code. The files stay.
//!
//! # Native frames
//!
//! | code | what it saves | where the caller's frame begins |
//! |---|---|---|
//! | base code | `rbx`, below the return address | 16 bytes above the stack pointer |
//! | a unit | the frame pointer, below the return address; other registers somewhere | 16 bytes above the frame pointer |
//! | the entry from Rust | the registers that callees keep | its size above the stack pointer |
//!
//! | shared code that calls Rust | nothing | 16 bytes above the stack pointer |
//!
//! Other shared code, such as sends, has no description: the debugger guesses.
//!
//! Protocol: one thread at a time changes the list, under the lock of the observers. The debugger reads it while all
//! threads stand.

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, DebugFrame, EndianVec,
    FrameDescriptionEntry, FrameTable,
};
use gimli::{Encoding, Format, LittleEndian, Register, X86_64};
use object::elf;
use object::write::elf::{FileHeader, SectionHeader, Sym, Writer};

use crate::observers::{Frame, Observer, Piece};

/// An object file in memory, as the debugger reads it.
#[repr(C)]
struct Entry {
    next: AtomicPtr<Entry>,
    previous: AtomicPtr<Entry>,
    file: *const u8,
    size: u64,
}

/// The beginning of the list, as the debugger reads it.
#[repr(C)]
pub struct Descriptor {
    version: u32,
    action: AtomicU32,
    relevant: AtomicPtr<Entry>,
    first: AtomicPtr<Entry>,
}

/// The action that adds the relevant entry.
const REGISTER: u32 = 1;

/// The list. The debugger knows it by this name.
#[unsafe(no_mangle)]
#[used]
#[allow(non_upper_case_globals, reason = "the debugger defines the name")]
pub static __jit_debug_descriptor: Descriptor = Descriptor {
    version: 1,
    action: AtomicU32::new(0),
    relevant: AtomicPtr::new(ptr::null_mut()),
    first: AtomicPtr::new(ptr::null_mut()),
};

/// Where the debugger stops to read the list. It knows it by this name.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __jit_debug_register_code() {
    // A function without an effect could vanish.
    black_box(&__jit_debug_descriptor);
}

/// Tells debuggers about code.
pub struct Debugger;

impl Observer for Debugger {
    fn added(&mut self, piece: &Piece<'_>) {
        // Without its file, the code has no name in the debugger.
        let Some(file) = object_file(piece) else { return };
        let file: &'static [u8] = file.leak();
        let list = &__jit_debug_descriptor;
        let first = list.first.load(Ordering::Relaxed);
        let entry = Box::into_raw(Box::new(Entry {
            next: AtomicPtr::new(first),
            previous: AtomicPtr::default(),
            file: file.as_ptr(),
            size: file.len() as u64,
        }));
        // SAFETY: entries are immortal, and in the list.
        if let Some(first) = unsafe { first.as_ref() } {
            first.previous.store(entry, Ordering::Relaxed);
        }
        list.first.store(entry, Ordering::Relaxed);
        list.relevant.store(entry, Ordering::Relaxed);
        list.action.store(REGISTER, Ordering::Relaxed);
        __jit_debug_register_code();
    }
}

/// An object file that describes a piece: the text itself is where it runs.
fn object_file(piece: &Piece<'_>) -> Option<Vec<u8>> {
    let frames = frames(piece)?;
    let mut file = Vec::new();
    let mut writer = Writer::new(object::Endianness::Little, true, &mut file);
    writer.reserve_file_header();
    let text_name = writer.add_section_name(b".text");
    let frames_name = writer.add_section_name(b".debug_frame");
    let symbol_name = writer.add_string(piece.name.as_bytes());
    let text = writer.reserve_section_index();
    writer.reserve_section_index();
    writer.reserve_symtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_shstrtab_section_index();
    writer.reserve_symbol_index(Some(text));
    let frames_place = writer.reserve(frames.len() as u64, 8);
    writer.reserve_symtab();
    writer.reserve_strtab().ok()?;
    writer.reserve_shstrtab().ok()?;
    writer.reserve_section_headers();

    writer.write_file_header(&header()).ok()?;
    writer.pad_until(frames_place);
    writer.write(&frames);
    writer.write_null_symbol();
    writer.write_symbol(&Sym {
        section: Some(text.0),
        st_name: writer.string_offset(Some(symbol_name)),
        st_info: elf::SymbolInfo::new(elf::STB_GLOBAL, elf::STT_FUNC),
        st_other: Default::default(),
        st_shndx: Default::default(),
        st_value: piece.address as u64,
        st_size: piece.bytes.len() as u64,
    });
    writer.write_strtab();
    writer.write_shstrtab();
    writer.write_null_section_header();
    writer.write_section_header(&SectionHeader {
        sh_name: writer.section_name_offset(Some(text_name)),
        sh_type: elf::SHT_NOBITS,
        sh_flags: elf::SHF_ALLOC | elf::SHF_EXECINSTR,
        sh_addr: piece.address as u64,
        sh_size: piece.bytes.len() as u64,
        sh_addralign: 16,
        ..section(frames_place)
    });
    writer.write_section_header(&SectionHeader {
        sh_name: writer.section_name_offset(Some(frames_name)),
        sh_size: frames.len() as u64,
        ..section(frames_place)
    });
    writer.write_symtab_section_header(1);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    Some(file)
}

/// A section at this place of the file.
fn section(place: u64) -> SectionHeader {
    SectionHeader {
        sh_name: 0,
        sh_type: elf::SHT_PROGBITS,
        sh_flags: Default::default(),
        sh_addr: 0,
        sh_offset: place,
        sh_size: 0,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 8,
        sh_entsize: 0,
    }
}

fn header() -> FileHeader {
    FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_EXEC,
        e_machine: elf::EM_X86_64,
        e_entry: 0,
        e_flags: Default::default(),
    }
}

/// The bytes of a call.
const CALL_BYTES: u32 = 5;

/// The description of a piece's native frames, as `.debug_frame`; nothing in it if they are not known.
fn frames(piece: &Piece<'_>) -> Option<Vec<u8>> {
    let mut table = FrameTable::default();
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
    let mut common = CommonInformationEntry::new(encoding, 1, -8, X86_64::RA);
    common.add_instruction(CallFrameInstruction::Cfa(X86_64::RSP, 8));
    common.add_instruction(CallFrameInstruction::Offset(X86_64::RA, -8));
    let common = table.add_cie(common);
    let address = Address::Constant(piece.address as u64);
    let mut entry = FrameDescriptionEntry::new(address, piece.bytes.len() as u32);
    let mut at = |offset, what| entry.add_instruction(offset, what);
    match piece.frame {
        Frame::Unknown => return Some(Vec::new()),
        Frame::Base { from } => {
            at(from, CallFrameInstruction::CfaOffset(16));
            at(from, CallFrameInstruction::Offset(X86_64::RBX, -16));
        }
        Frame::Call { from } => at(from, CallFrameInstruction::CfaOffset(16)),
        Frame::Unit => {
            // After `push rbp`, and after `mov rbp, rsp`.
            at(1, CallFrameInstruction::CfaOffset(16));
            at(1, CallFrameInstruction::Offset(X86_64::RBP, -16));
            at(4, CallFrameInstruction::CfaRegister(X86_64::RBP));
        }
        Frame::Entry { from, calls, bytes } => {
            at(from, CallFrameInstruction::CfaOffset(bytes));
            let kept: [Register; 6] =
                [X86_64::RBP, X86_64::RBX, X86_64::R12, X86_64::R13, X86_64::R14, X86_64::R15];
            for (register, place) in kept.into_iter().zip(2..) {
                at(from, CallFrameInstruction::Offset(register, -8 * place));
            }
            at(calls, CallFrameInstruction::RememberState);
            at(calls, CallFrameInstruction::CfaOffset(16));
            at(calls, CallFrameInstruction::Offset(X86_64::RA, -16));
            for register in kept {
                at(calls, CallFrameInstruction::SameValue(register));
            }
            at(calls + CALL_BYTES, CallFrameInstruction::RestoreState);
        }
    }
    table.add_fde(common, entry);
    let mut output = DebugFrame::from(EndianVec::new(LittleEndian));
    table.write_debug_frame(&mut output).ok()?;
    Some(output.slice().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debugger_finds_each_piece_with_its_name() {
        for name in ["first", "second"] {
            let frame = Frame::Base { from: 7 };
            let bytes = &[0xC3; 8];
            Debugger.added(&Piece { address: 0x7000, bytes, name, lines: &[], frame });
        }
        // SAFETY: entries are immortal.
        let last = unsafe { &*__jit_debug_descriptor.relevant.load(Ordering::Relaxed) };
        // SAFETY: the file is immortal, and has that size.
        let file = unsafe { std::slice::from_raw_parts(last.file, last.size as usize) };
        assert!(file.starts_with(b"\x7FELF"));
        let has = |text: &[u8]| file.windows(text.len()).any(|window| window == text);
        assert!(has(b"second\0") && has(b".debug_frame\0") && !has(b"first"));
        // SAFETY: as above.
        let before = unsafe { &*last.next.load(Ordering::Relaxed) };
        assert!(ptr::eq(before.previous.load(Ordering::Relaxed), last));
    }
}
