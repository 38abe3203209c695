//! A file in `scratch` for what is too large for memory and needed only for a while.

use std::fs::File;

use super::scratch::Scratch;
use super::{Store, StoreError, failed};

pub struct Spool {
    scratch: Scratch,
    file: File,
}

impl Store {
    pub fn spool(&self) -> Result<Spool, StoreError> {
        let scratch = self.scratch();
        let file = File::create_new(scratch.path()).map_err(failed("make", scratch.path()))?;
        Ok(Spool { scratch, file })
    }
}

impl Spool {
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    pub fn reopen(&self) -> Result<File, StoreError> {
        File::open(self.scratch.path()).map_err(failed("open", self.scratch.path()))
    }
}
