//! What only pods on Windows have: accounts, and containers that are processes of the host.

use super::super::at::At;
use super::containers;
use crate::names;

const MOST_OF_CREDENTIALS: usize = 64 * 1024;
const MOST_OF_DOMAIN: usize = 256;
const MOST_OF_USER: usize = 104;

pub(super) fn options(options: &At) {
    if let Some(name) = options.field("gmsaCredentialSpecName").given() {
        name.must(names::dns_subdomain);
    }
    if let Some(credentials) = options.field("gmsaCredentialSpec").given() {
        match credentials.text().len() {
            0 => credentials.invalid("", "gmsaCredentialSpec cannot be an empty string"),
            1..=MOST_OF_CREDENTIALS => {}
            _ => credentials.invalid(credentials.text(), "gmsaCredentialSpec size must be under 64 KiB"),
        }
    }
    if let Some(user) = options.field("runAsUserName").given() {
        user_name(&user);
    }
}

fn user_name(name: &At) {
    let refuse = |detail: &str| name.invalid(name.text(), format!("runAsUserName{detail}"));
    let parts: Vec<&str> = name.text().split('\\').collect();
    if name.text().is_empty() {
        return refuse(" cannot be an empty string");
    }
    if name.text().chars().any(|it| it.is_ascii_control()) {
        return refuse(" cannot contain control characters");
    }
    let (domain, user) = match parts[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return refuse(" cannot contain more than one backslash"),
    };
    if domain.is_some_and(|domain| domain.len() >= MOST_OF_DOMAIN) {
        refuse("'s Domain length must be under 256 characters");
    }
    if domain.is_some_and(|domain| !is_net_bios(domain) && !is_domain(domain)) {
        refuse("'s Domain doesn't match the NetBios nor the DNS format");
    }
    if user.is_empty() {
        refuse("'s User cannot be empty");
    } else if user.len() > MOST_OF_USER {
        refuse("'s User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|it| it == '.' || it == ' ') {
        refuse("'s User cannot contain only periods or spaces");
    }
    if user.contains(|it: char| "\"/\\:;|=,+*?<>@[]".contains(it)) {
        refuse("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
}

fn is_net_bios(domain: &str) -> bool {
    let illegal = |it: char| "\\/:*?\"<>|".contains(it);
    (1..=15).contains(&domain.chars().count()) && !domain.starts_with('.') && !domain.contains(illegal)
}

fn is_domain(domain: &str) -> bool {
    domain.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

/// Either all containers of a pod are processes of the host, or none.
pub(super) fn host_processes(spec: &At) {
    let context = spec.field("securityContext");
    let of_pod = context.field("windowsOptions");
    let of_pod = of_pod.field("hostProcess").value.as_bool();
    let (mut all, mut processes) = (0, 0);
    containers::visit(spec, |container| {
        let context = container.field("securityContext");
        let options = context.field("windowsOptions");
        let own = options.field("hostProcess");
        if let (Some(of_pod), Some(of_container)) = (of_pod, own.value.as_bool())
            && of_pod != of_container
        {
            let detail =
                format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            own.invalid(of_container, detail);
        }
        all += 1;
        processes += usize::from(own.value.as_bool().or(of_pod) == Some(true));
    });
    if processes == 0 {
        return;
    }
    if processes != all {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        spec.invalid("", detail);
    }
    if !spec.flag_of("hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        spec.field("hostNetwork").invalid(false, detail);
    }
}
