//! What was written into a sandbox, and how much of it must be there.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// The command that wrote it ended well, and we heard of it.
    acknowledged: BTreeSet<String>,
    /// Nobody told what became of it.
    doubtful: BTreeSet<String>,
}

impl Words {
    pub(crate) fn note(&mut self, word: String, acknowledged: bool) {
        let list = if acknowledged { &mut self.acknowledged } else { &mut self.doubtful };
        list.insert(word);
    }

    /// Compares it with what is there: nothing lost, nothing written twice, nothing that nobody wrote.
    pub(crate) fn check(&self, there: &str) -> Result<()> {
        let mut seen = BTreeSet::new();
        for word in there.lines() {
            let known = self.acknowledged.contains(word) || self.doubtful.contains(word);
            ensure!(known, "nobody wrote {word:?}");
            ensure!(seen.insert(word.to_owned()), "{word:?} is there twice");
        }
        let lost: Vec<_> = self.acknowledged.difference(&seen).collect();
        ensure!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let mut words = Words::default();
        words.note("kept".to_owned(), true);
        words.note("perhaps".to_owned(), false);
        words
    }

    #[test]
    fn what_was_acknowledged_must_be_there_and_what_was_not_may() {
        assert!(words().check("kept\n").is_ok());
        assert!(words().check("perhaps\nkept\n").is_ok());
        assert!(words().check("perhaps\n").is_err());
    }

    #[test]
    fn what_is_there_twice_or_from_nowhere_is_noticed() {
        assert!(words().check("kept\nkept\n").is_err());
        assert!(words().check("kept\nother\n").is_err());
    }
}
