//! What to do about an error: one line below it, where there is something to say.

use anyhow::Error;
use asb_client::Error as Trouble;

use crate::plugin;

/// The next thing to try.
pub(crate) fn of(error: &Error) -> Option<String> {
    let asb = plugin::called();
    let trouble = error.chain().find_map(|cause| cause.downcast_ref::<Trouble>())?;
    match trouble {
        Trouble::NoKubeconfig { .. } if !plugin::is_this() => Some(
            "start Agent Sandbox on this machine with `asb up`, or name a cluster with --context or KUBECONFIG"
                .to_owned(),
        ),
        Trouble::NotFound { what: "pool", .. } => Some(format!("`{asb} ls pools` lists what is there")),
        Trouble::NotFound { what: "template", .. } => {
            Some(format!("`{asb} ls templates` lists what is there"))
        }
        Trouble::NotFound { .. } => {
            Some(format!("`{asb} ls` lists what is there, and `{asb} ls -A` that of all namespaces"))
        }
        Trouble::Ambiguous { .. } => Some("say which with sandbox/NAME or claim/NAME".to_owned()),
        Trouble::Unclaimed { claim } => Some(format!("`{asb} describe claim/{claim}` says why")),
        Trouble::Suspended { name } => Some(format!("`{asb} resume {name}` starts it")),
        Trouble::NotRunning { name, .. } | Trouble::Ended { name } => {
            Some(format!("`{asb} describe {name}` and `{asb} logs {name}` say more"))
        }
        Trouble::Stuck { obstacle } if is_about_images(&obstacle.reason) => Some(
            "check the name of the image, and whether the nodes may fetch it".to_owned(),
        ),
        other => by_status(other).or_else(|| unreachable(other)),
    }
}

fn is_about_images(reason: &str) -> bool {
    matches!(reason, "ImagePullBackOff" | "ErrImagePull" | "InvalidImageName" | "ErrImageNeverPull")
}

fn by_status(trouble: &Trouble) -> Option<String> {
    let status = trouble.status()?;
    let asb = plugin::called();
    match status.code {
        409 if status.reason == "AlreadyExists" => {
            Some(format!("choose another name, or remove that one with `{asb} rm`"))
        }
        401 => Some("the kubeconfig's credentials are not accepted; log in again".to_owned()),
        403 => Some(
            "ask whoever runs the cluster for that right, or choose another namespace with -n".to_owned(),
        ),
        404 if is_unknown_kind(&status.message) => {
            Some("Agent Sandbox is not installed there: docs/installing.md says how".to_owned())
        }
        _ => None,
    }
}

/// The words of an API server that does not serve a kind.
fn is_unknown_kind(message: &str) -> bool {
    message.contains("could not find the requested resource") || message.contains("page not found")
}

fn unreachable(trouble: &Trouble) -> Option<String> {
    trouble.is_unreachable().then(|| {
        "nobody answers there; `asb status` tells about this machine's, --context and KUBECONFIG choose another"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(trouble: Trouble) -> Option<String> {
        of(&Error::new(trouble).context("outer"))
    }

    #[test]
    fn what_is_missing_can_be_listed() {
        let missing = |what| Trouble::NotFound { what, name: "x".to_owned(), namespace: "y".to_owned() };
        insta::assert_debug_snapshot!([hint(missing("Sandbox")), hint(missing("pool"))]);
    }

    #[test]
    fn a_suspended_sandbox_can_be_resumed() {
        let name = "box".to_owned();
        assert_eq!(hint(Trouble::Suspended { name }).as_deref(), Some("`asb resume box` starts it"));
    }

    #[test]
    fn refusals_of_the_api_server_have_a_remedy() {
        let refused = |code: u16, reason: &str, message: &str| {
            let status = kube::core::Status::failure(message, reason).with_code(code);
            hint(Trouble::Api { doing: "x".to_owned(), cause: Box::new(kube::Error::Api(Box::new(status))) })
        };
        insta::assert_debug_snapshot!([
            refused(409, "AlreadyExists", "there"),
            refused(403, "Forbidden", "no"),
            refused(404, "NotFound", "the server could not find the requested resource"),
            refused(422, "Invalid", "bad"),
        ]);
    }

    #[test]
    fn an_error_that_is_none_of_ours_has_no_hint() {
        assert_eq!(of(&anyhow::anyhow!("other")), None);
    }
}
