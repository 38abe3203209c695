//! Users and groups of the built-in image: those that every system of this kind has, by the numbers they have here, and
//! nobody's real name, home or shell.

use super::HostError;
use super::skeleton::Skeleton;

/// Below this, numbers are given once for all systems of a kind; above are services and people of this machine.
const OWN: u32 = 100;
const NOBODY: [&str; 3] = ["nobody", "nogroup", "nfsnobody"];

pub(super) fn add(skeleton: &mut Skeleton) -> Result<(), HostError> {
    let passwd = users(&skeleton.read_text("etc/passwd")?, super::system::shell(skeleton));
    let group = groups(&skeleton.read_text("etc/group")?);
    skeleton.file("etc/passwd", passwd)?;
    skeleton.file("etc/group", group)
}

fn users(text: &str, shell: &str) -> String {
    let mut lines = vec![format!("root:x:0:0:root:/root:{shell}")];
    let others = entries(text).filter(|(name, id, _)| *name != "root" && *id != 0);
    lines.extend(others.map(|(name, id, fields)| {
        let group = fields.first().and_then(|group| group.parse::<u32>().ok()).unwrap_or(65_534);
        format!("{name}:x:{id}:{group}:{name}:/nonexistent:/usr/sbin/nologin")
    }));
    complete(lines, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin")
}

/// Without members: those would be people.
fn groups(text: &str) -> String {
    let mut lines = vec!["root:x:0:".to_owned()];
    let others = entries(text).filter(|(name, id, _)| *name != "root" && *id != 0);
    lines.extend(others.map(|(name, id, _)| format!("{name}:x:{id}:")));
    complete(lines, "nogroup:x:65534:")
}

/// The name, the number and what follows of every line that is the system's own.
fn entries(text: &str) -> impl Iterator<Item = (&str, u32, Vec<&str>)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?.parse().ok()?);
        let is_name = !name.is_empty() && !name.starts_with(['+', '-']);
        (is_name && (id < OWN || NOBODY.contains(&name))).then(|| (name, id, fields.collect()))
    })
}

fn complete(mut lines: Vec<String>, last: &str) -> String {
    let id = |line: &str| line.split(':').nth(2).map(str::to_owned);
    if !lines.iter().any(|line| id(line) == id(last)) {
        lines.push(last.to_owned());
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_services_of_the_machine_are_left_out() {
        let text = "root:x:0:0:Alice Root:/root:/bin/zsh\ntoor:x:0:0::/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/sh\n\
                    postgres:x:113:120:DB:/var/lib/postgresql:/bin/bash\nalice:x:1000:1000:Alice:/home/user:/bin/zsh\n\
                    nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n+nis::::::\n";
        assert_eq!(
            users(text, "/bin/bash"),
            "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/nonexistent:/usr/sbin/nologin\n\
             nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        );
    }

    #[test]
    fn groups_lose_their_members() {
        let text = "root:x:0:\nsudo:x:27:alice,bob\ndocker:x:999:alice\nnogroup:x:65534:\n";
        assert_eq!(groups(text), "root:x:0:\nsudo:x:27:\nnogroup:x:65534:\n");
    }

    #[test]
    fn a_machine_without_lists_has_root_and_nobody() {
        assert_eq!(groups(""), "root:x:0:\nnogroup:x:65534:\n");
        assert_eq!(users("", "/bin/sh").lines().count(), 2);
    }
}
