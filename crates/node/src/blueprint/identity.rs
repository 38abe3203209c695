//! As whom a container runs: user, group, further groups; and whether it may be root.

use k8s_openapi::api::core::v1::{Container, PodSecurityContext, PodSpec};

use super::{Account, Error, Image, Resolved};
use crate::shim::plan::User;

/// What to look up in the image's lists: the user alone where the Pod names one or a group, else what the image says.
pub fn question(spec: &PodSpec, container: &Container, image_user: &str) -> String {
    let wishes = Wishes::of(spec, container);
    match wishes.user {
        Some(uid) => uid.to_string(),
        None if wishes.group.is_some() => user_part(image_user).to_owned(),
        None => image_user.to_owned(),
    }
}

pub(super) fn user(
    resolved: &Resolved<'_>,
    container: &Container,
    image: &Image,
    account: &Account,
) -> Result<User, Error> {
    let spec = resolved.spec()?;
    let wishes = Wishes::of(spec, container);
    if wishes.non_root {
        check_non_root(resolved, container, &wishes, &image.user)?;
    }
    let within = |what, id: i64| {
        let count = resolved.ids.count;
        let valid = u32::try_from(id).ok().filter(|id| *id < count);
        valid.ok_or(Error::Id { what, id, count })
    };
    let uid = within("user", wishes.user.unwrap_or(account.uid.into()))?;
    let gid = within("group", wishes.group.unwrap_or(account.gid.into()))?;
    let groups = groups(spec.security_context.as_ref(), account);
    let groups = groups.into_iter().map(|id| within("group", id)).collect::<Result<Vec<_>, _>>()?;
    Ok(User { uid, gid, groups })
}

struct Wishes {
    user: Option<i64>,
    group: Option<i64>,
    non_root: bool,
}

impl Wishes {
    /// The container's before the Pod's.
    fn of(spec: &PodSpec, container: &Container) -> Self {
        let (pod, own) = (spec.security_context.as_ref(), container.security_context.as_ref());
        Self {
            user: own.and_then(|own| own.run_as_user).or(pod.and_then(|pod| pod.run_as_user)),
            group: own.and_then(|own| own.run_as_group).or(pod.and_then(|pod| pod.run_as_group)),
            non_root: own
                .and_then(|own| own.run_as_non_root)
                .or(pod.and_then(|pod| pod.run_as_non_root))
                .unwrap_or_default(),
        }
    }
}

/// A name is no proof of not being root, whatever the image's list says of it now.
fn check_non_root(
    resolved: &Resolved<'_>,
    container: &Container,
    wishes: &Wishes,
    image_user: &str,
) -> Result<(), Error> {
    let metadata = &resolved.pod.metadata;
    let [name, uid] = [&metadata.name, &metadata.uid].map(|text| text.as_deref().unwrap_or_default());
    let pod = format!("{name}_{}({uid})", resolved.namespace());
    let container = container.name.clone();
    if let Some(user) = wishes.user {
        return if user == 0 { Err(Error::RunsAsRoot { pod, container }) } else { Ok(()) };
    }
    let user = user_part(image_user);
    match user.parse::<u32>() {
        Ok(0) => Err(Error::ImageRunsAsRoot { pod, container }),
        Ok(_) => Ok(()),
        Err(_) if user.is_empty() => Err(Error::ImageRunsAsRoot { pod, container }),
        Err(_) => Err(Error::UnknownUser { user: user.to_owned(), pod, container }),
    }
}

/// Those of the volumes, those that are asked for, and unless the Pod is strict those of the image.
fn groups(context: Option<&PodSecurityContext>, account: &Account) -> Vec<i64> {
    let is_strict =
        context.and_then(|context| context.supplemental_groups_policy.as_deref()) == Some("Strict");
    let image = account.groups.iter().filter(|_| !is_strict).map(|id| i64::from(*id));
    let asked = context.and_then(|context| context.supplemental_groups.as_deref()).unwrap_or_default();
    let volumes = context.and_then(|context| context.fs_group);
    let mut groups: Vec<i64> = image.chain(volumes).chain(asked.iter().copied()).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

fn user_part(user: &str) -> &str {
    user.split_once(':').map_or(user, |(user, _)| user)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::fixtures::Case;

    fn who(pod: Value, container: Value, image_user: &str) -> Result<(u32, u32, Vec<u32>), Error> {
        let case = Case::with(json!({"securityContext": container})).spec("securityContext", pod);
        let image = Image { user: image_user.into(), ..Image::default() };
        let account = Account { uid: 7, gid: 8, groups: vec![50, 44], home: "/".into() };
        user(&case.resolved(), case.container(), &image, &account)
            .map(|user| (user.uid, user.gid, user.groups))
    }

    fn asked(pod: Value, image_user: &str) -> String {
        let case = Case::with(json!({})).spec("securityContext", pod);
        question(case.resolved().spec().unwrap(), case.container(), image_user)
    }

    #[test]
    fn the_container_goes_before_the_pod_and_the_pod_before_the_image() {
        assert_eq!(who(json!({}), json!({}), "app").unwrap(), (7, 8, vec![44, 50]));
        let pod = json!({"runAsUser": 1000, "runAsGroup": 2000});
        assert_eq!(who(pod.clone(), json!({}), "").unwrap(), (1000, 2000, vec![44, 50]));
        assert_eq!(who(pod, json!({"runAsUser": 5}), "").unwrap(), (5, 2000, vec![44, 50]));
    }

    #[test]
    fn groups_of_volumes_and_of_the_pod_are_added() {
        let pod = json!({"fsGroup": 60, "supplementalGroups": [70, 60]});
        assert_eq!(who(pod, json!({}), "").unwrap().2, [44, 50, 60, 70]);
        let strict = json!({"supplementalGroups": [70], "supplementalGroupsPolicy": "Strict"});
        assert_eq!(who(strict, json!({}), "").unwrap().2, [70]);
    }

    #[test]
    fn the_images_group_counts_only_where_the_pod_says_nothing() {
        assert_eq!(asked(json!({}), "app:staff"), "app:staff");
        assert_eq!(asked(json!({"runAsGroup": 5}), "app:staff"), "app");
        assert_eq!(asked(json!({"runAsUser": 1000}), "app:staff"), "1000");
    }

    #[test]
    fn who_must_not_be_root_is_not_started_as_root() {
        let message = |pod: Value, user: &str| who(pod, json!({}), user).unwrap_err().to_string();
        let non_root = json!({"runAsNonRoot": true});
        insta::assert_snapshot!(
            [
                message(json!({"runAsNonRoot": true, "runAsUser": 0}), ""),
                message(non_root.clone(), ""),
                message(non_root.clone(), "0:5"),
                message(non_root.clone(), "app"),
            ]
            .join("\n")
        );
        assert!(who(non_root.clone(), json!({}), "1000").is_ok());
        assert!(who(non_root.clone(), json!({"runAsUser": 3}), "app").is_ok());
        assert!(who(non_root, json!({"runAsNonRoot": false}), "").is_ok());
    }

    #[test]
    fn an_id_beyond_the_pods_range_is_named() {
        let error = who(json!({"runAsUser": 65536}), json!({}), "").unwrap_err();
        assert_eq!(error.to_string(), "user 65536 is not one of the 65536 ids of a Pod");
        assert_eq!(error.reason(), "CreateContainerError");
        assert!(who(json!({"fsGroup": -1}), json!({}), "").is_err());
    }
}
