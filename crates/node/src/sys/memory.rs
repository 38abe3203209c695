//! The memory of this process.

#![expect(unsafe_code, reason = "the C library offers it as a plain function")]

/// Gives back what the C library keeps from busy moments for the next one.
#[cfg(target_env = "gnu")]
pub fn give_back() {
    // SAFETY: it takes no pointer, and may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Other C libraries keep nothing that they could give back.
#[cfg(not(target_env = "gnu"))]
pub fn give_back() {}
