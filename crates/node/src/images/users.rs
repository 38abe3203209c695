//! Who a process is that an image, or a Pod, says to run as `app:staff`: looked up in the image's own lists.

use std::io;
use std::path::{Path, PathBuf};

use super::merged::Merged;

/// More than a list of users has; a larger one is an attack.
const LARGEST: u64 = 4 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
    /// Groups that list the user as a member.
    pub groups: Vec<u32>,
    /// As the image's list says; `/` where it does not.
    pub home: String,
    pub name: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum UserError {
    #[error("the image has no user `{0}`")]
    Unknown(String),
    #[error("the image has no group `{0}`")]
    UnknownGroup(String),
    #[error("`{0}` is no user id: those go up to 4294967294")]
    Id(String),
    #[error("reading the image's users")]
    Read(#[source] io::Error),
}

/// A line of `/etc/passwd`.
struct Account {
    name: String,
    uid: u32,
    gid: u32,
    home: String,
}

/// A line of `/etc/group`.
struct Group {
    name: String,
    gid: u32,
    members: Vec<String>,
}

/// Looks up `user`, `user:group` or nothing, each by name or number, in layers given lowest first. A number need not be
/// listed, a name must be.
pub fn look_up(layers: &[PathBuf], text: &str) -> Result<User, UserError> {
    let image = Merged::of(layers).map_err(UserError::Read)?;
    let (user, group) = text.split_once(':').unwrap_or((text, ""));
    let accounts = accounts(&read(&image, "etc/passwd")?);
    let groups = groups(&read(&image, "etc/group")?);
    let mut found = user_of(&accounts, user)?;
    if group.is_empty() {
        found.groups = memberships(&groups, &found);
    } else {
        found.gid = group_of(&groups, group)?;
    }
    Ok(found)
}

/// A name that looks like a number is a name first, as in `chown`.
fn user_of(accounts: &[Account], user: &str) -> Result<User, UserError> {
    let user = if user.is_empty() { "0" } else { user };
    let number = number(user)?;
    let account = accounts
        .iter()
        .find(|account| account.name == user)
        .or_else(|| accounts.iter().find(|account| Some(account.uid) == number));
    match (account, number) {
        (Some(account), _) => Ok(User {
            uid: account.uid,
            gid: account.gid,
            groups: vec![],
            home: if account.home.is_empty() { "/".to_owned() } else { account.home.clone() },
            name: Some(account.name.clone()),
        }),
        (None, Some(uid)) => Ok(User { uid, home: "/".to_owned(), ..User::default() }),
        (None, None) => Err(UserError::Unknown(user.to_owned())),
    }
}

fn group_of(groups: &[Group], group: &str) -> Result<u32, UserError> {
    let named = groups.iter().find(|known| known.name == group).map(|known| known.gid);
    match named {
        Some(gid) => Ok(gid),
        None => number(group)?.ok_or_else(|| UserError::UnknownGroup(group.to_owned())),
    }
}

fn memberships(groups: &[Group], user: &User) -> Vec<u32> {
    let Some(name) = &user.name else { return vec![] };
    let mut ids: Vec<u32> = groups
        .iter()
        .filter(|group| group.gid != user.gid && group.members.contains(name))
        .map(|group| group.gid)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn number(text: &str) -> Result<Option<u32>, UserError> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let id = text.parse::<u32>().ok().filter(|id| *id != u32::MAX);
    id.map(Some).ok_or_else(|| UserError::Id(text.to_owned()))
}

fn read(image: &Merged, path: &str) -> Result<String, UserError> {
    let bytes = image.read(Path::new(path), LARGEST).map_err(UserError::Read)?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Lines that do not read as one are passed over, as the C library does.
fn accounts(text: &str) -> Vec<Account> {
    let account = |line: &str| {
        let fields: Vec<&str> = line.trim().split(':').collect();
        let [name, _, uid, gid, _, home, ..] = fields.as_slice() else { return None };
        let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
        Some(Account { name: (*name).to_owned(), uid, gid, home: (*home).to_owned() })
    };
    text.lines().filter_map(account).collect()
}

fn groups(text: &str) -> Vec<Group> {
    let group = |line: &str| {
        let fields: Vec<&str> = line.trim().split(':').collect();
        let [name, _, gid, rest @ ..] = fields.as_slice() else { return None };
        let members = rest.first().map_or("", |members| *members).split(',').map(str::to_owned).collect();
        Some(Group { name: (*name).to_owned(), gid: gid.parse().ok()?, members })
    };
    text.lines().filter_map(group).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    const USERS: &str =
        "root:x:0:0:root:/root:/bin/sh\nbroken\napp:x:1000:1001:An app:/srv/app:/bin/sh\n77:x:5:6::/:\n";
    const GROUPS: &str = "root:x:0:\nstaff:x:50:app,other\nvideo:x:44:app\napp:x:1001:app\n";

    fn image(users: &str, groups: &str) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("etc")).unwrap();
        fs::write(folder.path().join("etc/passwd"), users).unwrap();
        fs::write(folder.path().join("etc/group"), groups).unwrap();
        folder
    }

    fn found(text: &str) -> Result<(u32, u32, Vec<u32>, String), UserError> {
        let image = image(USERS, GROUPS);
        look_up(&[image.path().to_owned()], text).map(|user| (user.uid, user.gid, user.groups, user.home))
    }

    #[test]
    fn names_are_looked_up_with_their_groups_and_homes() {
        assert_eq!(found("app").unwrap(), (1000, 1001, vec![44, 50], "/srv/app".into()));
        assert_eq!(found("app:staff").unwrap(), (1000, 50, vec![], "/srv/app".into()));
        assert_eq!(found("app:7").unwrap(), (1000, 7, vec![], "/srv/app".into()));
    }

    #[test]
    fn numbers_need_not_be_listed() {
        assert_eq!(found("1000").unwrap(), (1000, 1001, vec![44, 50], "/srv/app".into()));
        assert_eq!(found("4242").unwrap(), (4242, 0, vec![], "/".into()));
        assert_eq!(found("4242:4343").unwrap(), (4242, 4343, vec![], "/".into()));
        assert_eq!(found("77").unwrap(), (5, 6, vec![], "/".into()));
    }

    #[test]
    fn nobody_in_particular_is_root() {
        assert_eq!(found("").unwrap(), (0, 0, vec![], "/root".into()));
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(look_up(&[nothing.path().to_owned()], "").unwrap().uid, 0);
    }

    #[test]
    fn unknown_names_and_impossible_numbers_are_refused() {
        assert_eq!(found("mallory").unwrap_err().to_string(), "the image has no user `mallory`");
        assert_eq!(found("app:wheel").unwrap_err().to_string(), "the image has no group `wheel`");
        assert!(matches!(found("4294967295"), Err(UserError::Id(_))));
        assert!(matches!(found("0:99999999999"), Err(UserError::Id(_))));
        assert!(matches!(found("-1"), Err(UserError::Unknown(_))));
    }

    #[test]
    fn the_lists_of_this_machine_are_never_read() {
        let image = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc", image.path().join("etc")).unwrap();
        assert!(matches!(look_up(&[image.path().to_owned()], "root"), Err(UserError::Read(_))));
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let image = image(&"x".repeat(usize::try_from(LARGEST).unwrap() + 1), "");
        assert!(matches!(look_up(&[image.path().to_owned()], "root"), Err(UserError::Read(_))));
    }
}
