//! Builds programs from the Go modules pinned in `xtask/parts`, once per pin, into the cache.
//! A program appears in the cache by a rename, so a killed build leaves no half program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::Programs;
use super::catalogue::{MODULES, Module, Program};
use crate::{terminal, workspace};

/// The named programs, built now if no earlier run built them.
pub(super) fn obtain(names: &[&str]) -> Result<Programs> {
    if let Some(unknown) = names.iter().find(|name| !MODULES.iter().any(|module| module.makes(name))) {
        bail!("no module in xtask/parts makes `{unknown}`");
    }
    let mut programs = Programs::new();
    for module in MODULES {
        let wanted: Vec<&Program> = module.programs.iter().filter(|it| names.contains(&it.name)).collect();
        if !wanted.is_empty() {
            let folder = module.provide(&wanted)?;
            programs.extend(wanted.iter().map(|it| (it.name.to_owned(), folder.join(it.name))));
        }
    }
    Ok(programs)
}

impl Module {
    pub(super) fn source(&self) -> PathBuf {
        workspace::root().join("xtask/parts").join(self.name)
    }

    /// The cache folder of this pin, after building what of `wanted` is missing in it.
    fn provide(&self, wanted: &[&Program]) -> Result<PathBuf> {
        let pin = read(&self.source().join("go.mod"))? + &read(&self.source().join("go.sum"))?;
        let version = pinned_version(&pin, self.path)?;
        let flags = self.flags(&version);
        let name = format!(
            "{}-{version}-{}",
            self.name,
            super::fingerprint(&[&pin, &flags.join(" "), self.edit.as_ref().map_or("", |edit| edit.to)])
        );
        let folder = super::folder()?.join(&name);
        if missing(&folder, wanted).is_empty() {
            return Ok(folder);
        }
        let _lock = super::lock(&name)?;
        let missing = missing(&folder, wanted);
        if !missing.is_empty() {
            self.build(&flags, &version, &folder, &missing)?;
        }
        Ok(folder)
    }

    fn flags(&self, version: &str) -> Vec<String> {
        let number = version.trim_start_matches('v');
        let mut parts = number.split('.');
        let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let mut linker = "-s -w".to_owned();
        for stamp in self.stamps {
            let stamp = stamp.replace("VERSION", version).replace("MAJOR", major).replace("MINOR", minor);
            linker.extend([" -X ", &stamp]);
        }
        let mut flags = vec!["-trimpath".to_owned(), "-ldflags".to_owned(), linker];
        if !self.tags.is_empty() {
            flags.extend(["-tags".to_owned(), self.tags.to_owned()]);
        }
        flags
    }

    fn build(&self, flags: &[String], version: &str, folder: &Path, wanted: &[&Program]) -> Result<()> {
        let names = wanted.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
        terminal::step(&format!("build {} {version}: {names} (once; minutes)", self.name), || {
            let scratch = folder.with_extension(format!("building-{}", std::process::id()));
            fs::create_dir_all(&scratch).with_context(|| format!("create {}", scratch.display()))?;
            let built = self.compile(flags, &scratch, wanted).and_then(|()| adopt(&scratch, folder, wanted));
            fs::remove_dir_all(&scratch).with_context(|| format!("remove {}", scratch.display()))?;
            built
        })
    }

    fn compile(&self, flags: &[String], scratch: &Path, wanted: &[&Program]) -> Result<()> {
        let (folder, mode) = match &self.edit {
            None => (self.source(), "-mod=readonly"),
            Some(edit) => {
                edit.vendor(&self.source(), scratch)?;
                (scratch.to_owned(), "-mod=vendor")
            }
        };
        let mut go = Command::new("go");
        go.current_dir(folder)
            .env("CGO_ENABLED", "0")
            .args(["build", "-v", mode, "-buildvcs=false"])
            .args(flags)
            .arg("-o")
            .arg(scratch.join("")) // With a trailing slash: a folder to put programs into.
            .args(wanted.iter().map(|it| it.package));
        terminal::watched(&mut go).context(
            "building needs Go 1.26 or newer on PATH and the Go module registry; \
             or set KUBEBUILDER_ASSETS to a folder that has the programs, or ASB_KUBECONFIG to a cluster that runs",
        )
    }
}

fn missing<'a>(folder: &Path, wanted: &[&'a Program]) -> Vec<&'a Program> {
    wanted.iter().filter(|it| !folder.join(it.name).is_file()).copied().collect()
}

fn adopt(scratch: &Path, folder: &Path, wanted: &[&Program]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("create {}", folder.display()))?;
    for program in wanted {
        let built = scratch.join(program.built_as);
        ensure!(built.is_file(), "go build made no {}", program.built_as);
        fs::rename(&built, folder.join(program.name)).with_context(|| format!("keep {}", program.name))?;
    }
    Ok(())
}

fn pinned_version(module_file: &str, path: &str) -> Result<String> {
    module_file
        .lines()
        .map(|line| line.trim().trim_start_matches("require "))
        .find_map(|line| line.strip_prefix(path)?.strip_prefix(' ')?.split_whitespace().next())
        .map(str::to_owned)
        .with_context(|| format!("go.mod pins no {path}"))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_pins_the_version_it_is_named_by() {
        for module in MODULES {
            let pin = read(&module.source().join("go.mod")).unwrap();
            assert!(pinned_version(&pin, module.path).unwrap().starts_with('v'), "{}", module.name);
        }
    }

    #[test]
    fn kubernetes_knows_its_own_version() {
        let flags = MODULES[0].flags("v1.36.3").join(" ");
        assert!(flags.contains("gitVersion=v1.36.3"), "{flags}");
        assert!(flags.contains("gitMajor=1 ") && flags.contains("gitMinor=36"), "{flags}");
    }
}
