//! Reads of a program what decides whether it runs in an empty image: whether it asks for an interpreter.

/// The kind of program header that names the dynamic linker.
const INTERPRETER: u32 = 3;

/// Whether these are the bytes of a 64-bit little-endian ELF program that needs no dynamic linker.
pub(super) fn is_static(program: &[u8]) -> bool {
    let is_elf = program.starts_with(b"\x7fELF\x02\x01");
    is_elf && headers(program).is_some_and(|kinds| !kinds.is_empty() && !kinds.contains(&INTERPRETER))
}

/// The kinds of all program headers; nothing where they lie outside the file.
fn headers(program: &[u8]) -> Option<Vec<u32>> {
    let start = usize::try_from(number(program, 32, 8)?).ok()?;
    let size = usize::try_from(number(program, 54, 2)?).ok()?;
    let count = usize::try_from(number(program, 56, 2)?).ok()?;
    (0..count).map(|index| u32::try_from(number(program, start + index * size, 4)?).ok()).collect()
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(64, 0);
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.resize(bytes.len() + 52, 0);
        }
        bytes
    }

    #[test]
    fn a_program_with_an_interpreter_is_not_static() {
        assert!(is_static(&program(&[1, 4])));
        assert!(!is_static(&program(&[6, INTERPRETER, 1])));
    }

    #[test]
    fn what_is_cut_off_or_no_program_is_not_static() {
        assert!(!is_static(b"#!/bin/sh\n"));
        assert!(!is_static(&program(&[1, 4])[..70]));
        assert!(!is_static(b"\x7fELF\x02\x01"));
    }

    #[test]
    fn this_test_is_linked_as_usual() {
        assert!(!is_static(&std::fs::read("/proc/self/exe").unwrap()));
    }
}
