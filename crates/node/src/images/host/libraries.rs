//! Where the dynamic linker finds libraries in the built-in image: the machine's own cache, without what the image does
//! not show. Its format is that of glibc since 2.2; systems without it have no such file.

use super::HostError;
use super::skeleton::Skeleton;

const CACHE: &str = "etc/ld.so.cache";
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

pub(super) fn add(skeleton: &mut Skeleton) -> Result<(), HostError> {
    let folders = folders(skeleton)?;
    skeleton.file("etc/ld.so.conf", folders)?;
    match skeleton.read(CACHE)?.as_deref().and_then(filtered) {
        Some(cache) => skeleton.file(CACHE, cache),
        // The linker then looks in the usual directories.
        None => Ok(()),
    }
}

fn folders(skeleton: &Skeleton) -> Result<String, HostError> {
    let mut text = skeleton.read_text("etc/ld.so.conf")?;
    for name in skeleton.names("etc/ld.so.conf.d") {
        text.push('\n');
        text.push_str(&skeleton.read_text(&format!("etc/ld.so.conf.d/{name}"))?);
    }
    let shown = text.lines().map(str::trim).filter(|line| is_shown(line));
    Ok(shown.flat_map(|line| [line, "\n"]).collect())
}

fn is_shown(path: &str) -> bool {
    let ours = ["/usr/lib", "/lib"].iter().any(|prefix| path.starts_with(prefix));
    ours && !path.starts_with("/usr/local/")
}

/// The same cache without libraries that are not shown. Entries keep their order, by which they are searched; those for
/// special processors are left out, since a table that we do not write says which.
fn filtered(cache: &[u8]) -> Option<Vec<u8>> {
    let cache = cache.get(cache.windows(MAGIC.len()).position(|window| window == MAGIC)?..)?;
    let count = usize::try_from(number(cache, 20)?).ok()?;
    let mut entries = Vec::new();
    for index in 0..count {
        let entry = cache.get(HEADER + index * ENTRY..HEADER + (index + 1) * ENTRY)?;
        let (name, path) = (string(cache, number(entry, 4)?)?, string(cache, number(entry, 8)?)?);
        let is_plain = entry[16..24] == [0; 8];
        if is_plain && is_shown(std::str::from_utf8(path).ok()?) {
            entries.push((&entry[..4], name, path, &entry[12..16]));
        }
    }
    write(&cache[28..32], &entries)
}

type Entry<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a [u8]);

fn write(flags: &[u8], entries: &[Entry<'_>]) -> Option<Vec<u8>> {
    let mut strings: Vec<u8> = Vec::new();
    let mut table: Vec<u8> = Vec::new();
    let start = HEADER + entries.len() * ENTRY;
    for (kind, name, path, version) in entries {
        let mut place = |text: &[u8]| {
            let at = u32::try_from(start + strings.len()).ok()?;
            strings.extend(text);
            strings.push(0);
            Some(at.to_le_bytes())
        };
        let (name, path) = (place(name)?, place(path)?);
        table.extend([kind, &name[..], &path, version, &[0; 8]].concat());
    }
    let (count, length) = (u32::try_from(entries.len()).ok()?, u32::try_from(strings.len()).ok()?);
    let header = [MAGIC, &count.to_le_bytes(), &length.to_le_bytes(), flags, &[0; 16]].concat();
    Some([header, table, strings].concat())
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn string(bytes: &[u8], at: u32) -> Option<&[u8]> {
    let rest = bytes.get(usize::try_from(at).ok()?..)?;
    rest.get(..rest.iter().position(|byte| *byte == 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(paths: &[&str]) -> Vec<u8> {
        let entry = |path: &&'static str| -> Entry<'static> {
            (&[3, 3, 0, 0], path.rsplit('/').next().unwrap().as_bytes(), path.as_bytes(), &[0; 4])
        };
        let paths: Vec<&'static str> = paths.iter().map(|path| &*String::leak((*path).to_owned())).collect();
        write(&[2, 0, 0, 0], &paths.iter().map(entry).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn libraries_that_are_not_shown_are_left_out() {
        let all =
            cache(&["/usr/local/lib/liba.so", "/opt/b/libb.so", "/lib/libc.so.6", "/home/user/lib/d.so"]);
        assert_eq!(filtered(&all).unwrap(), cache(&["/lib/libc.so.6"]));
    }

    #[test]
    fn the_cache_of_this_machine_reads_as_the_linker_reads_it() {
        let Ok(own) = std::fs::read("/etc/ld.so.cache") else { return };
        let filtered = filtered(&own).expect("a cache that reads");
        assert!(string(&filtered, number(&filtered, HEADER + 4).unwrap()).unwrap().starts_with(b"l"));
        assert_eq!(super::filtered(&filtered).unwrap(), filtered);
    }

    #[test]
    fn nonsense_is_no_cache_and_no_crash() {
        let good = cache(&["/lib/libc.so.6"]);
        for length in 0..good.len() {
            let _ = filtered(&good[..length]);
        }
        assert_eq!(filtered(b"nonsense"), None);
        let mut wild = good;
        wild[20..24].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(filtered(&wild), None);
    }
}
