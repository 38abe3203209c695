//! What a pod and its containers may do, and as whom.

use std::collections::BTreeSet;

use super::super::at::At;
use super::super::declared;
use super::super::paths::descending_path;
use super::allowances::Allowances;
use super::windows;

const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
const MOST_OF_PROFILE: usize = 4095;
const MOST_OF_SYSCTL: usize = 253;
const SEGMENT: &str = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const SYSCTLS_OF_IPC: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

pub(super) fn of_pod(spec: &At, allowances: &Allowances) {
    let context = spec.field("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        user(&context.field(name));
    }
    context.field("supplementalGroups").items().for_each(|group| user(&group));
    if spec.flag_of("shareProcessNamespace") && spec.flag_of("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        context.field("shareProcessNamespace").invalid(true, detail);
    }
    sysctls(spec, &context.field("sysctls"), allowances);
    context.field("fsGroupChangePolicy").may_be_one_of(&["Always", "OnRootMismatch"]);
    seccomp(&context.field("seccompProfile"));
    windows::options(&context.field("windowsOptions"));
    app_armor(&context.field("appArmorProfile"));
    context.field("supplementalGroupsPolicy").may_be_one_of(&["Merge", "Strict"]);
    // The other policy is known but not enabled.
    let policies: &[&str] =
        if allowances.any_selinux_policy { &["MountOption", "Recursive"] } else { &["Recursive"] };
    context.field("seLinuxChangePolicy").may_be_one_of(policies);
}

pub(super) fn of_container(context: &At, host_users: bool) {
    user(&context.field("runAsUser"));
    user(&context.field("runAsGroup"));
    let proc_mount = context.field("procMount");
    proc_mount.may_be_one_of(&["Default", "Unmasked"]);
    if host_users && proc_mount.text() == "Unmasked" {
        proc_mount.invalid(proc_mount.text(), "`hostUsers` must be false to use `Unmasked`");
    }
    seccomp(&context.field("seccompProfile"));
    escalation(context);
    windows::options(&context.field("windowsOptions"));
    app_armor(&context.field("appArmorProfile"));
}

fn user(id: &At) {
    id.may_be_within(0, i64::from(i32::MAX));
}

/// Nobody can be kept from gaining rights that they have.
fn escalation(context: &At) {
    if context.field("allowPrivilegeEscalation").value.as_bool() != Some(false) {
        return;
    }
    let refuse = |what: &str| {
        let detail = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
        context.invalid_shown(declared::shown("SecurityContext", context.value), detail);
    };
    if context.flag_of("privileged") {
        refuse("`privileged` to true");
    }
    let capabilities = context.field("capabilities");
    let added = capabilities.field("add");
    // Said once, since each time shows all capabilities.
    if added.texts().any(|name| name == "CAP_SYS_ADMIN") {
        refuse("`capabilities.Add` CAP_SYS_ADMIN");
    }
}

fn seccomp(profile: &At) {
    if !profile.exists() {
        return;
    }
    let (kind, file) = (profile.field("type"), profile.field("localhostProfile"));
    if kind.text().is_empty() {
        kind.required("type is required when seccompProfile is set");
    } else {
        kind.must_be_one_of(&PROFILES);
    }
    match (kind.text() == "Localhost", file.exists()) {
        (true, false) => file.required("must be set when seccomp type is Localhost"),
        (true, true) => descending_path(&file, file.text()),
        (false, true) => {
            let shown = declared::shown("SeccompProfile", profile.value);
            file.invalid_shown(shown, "can only be set when seccomp type is Localhost");
        }
        (false, false) => {}
    }
}

fn app_armor(profile: &At) {
    if !profile.exists() {
        return;
    }
    let (kind, file) = (profile.field("type"), profile.field("localhostProfile"));
    match kind.text() {
        "Localhost" => app_armor_file(&file),
        "RuntimeDefault" | "Unconfined" => {
            if file.exists() {
                file.invalid(file.text(), "can only be set when AppArmor type is Localhost");
            }
        }
        "" => kind.required("type is required when appArmorProfile is set"),
        other => kind.not_supported(other, &PROFILES),
    }
}

fn app_armor_file(file: &At) {
    const REQUIRED: &str = "must be set when AppArmor type is Localhost";
    if !file.exists() {
        return file.required(REQUIRED);
    }
    if file.text().trim() != file.text() {
        file.invalid(file.text(), "must not be padded with whitespace");
    } else if file.text().is_empty() {
        file.required(REQUIRED);
    }
    if file.text().len() > MOST_OF_PROFILE {
        file.too_long(MOST_OF_PROFILE);
    }
}

fn sysctls(spec: &At, sysctls: &At, allowances: &Allowances) {
    let mut seen = BTreeSet::new();
    for sysctl in sysctls.items() {
        let name = sysctl.field("name");
        if name.text().is_empty() {
            name.required("");
        } else if !is_sysctl(name.text()) {
            let pattern = format!("^({SEGMENT}[\\./])*{SEGMENT}$");
            let detail = format!("must have at most {MOST_OF_SYSCTL} characters and match regex {pattern}");
            name.invalid(name.text(), detail);
        } else if seen.contains(name.text()) {
            name.duplicate(name.text());
        }
        if !allowances.sysctls_of_the_host {
            sysctl_of_the_host(spec, &name);
        }
        seen.insert(name.text());
    }
}

fn is_sysctl(name: &str) -> bool {
    name.len() <= MOST_OF_SYSCTL
        && name.split(['.', '/']).all(|segment| {
            let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            let bytes = segment.as_bytes();
            bytes.first().is_some_and(|first| lower(*first))
                && bytes.last().is_some_and(|last| lower(*last))
                && bytes.iter().all(|byte| lower(*byte) || b"-_".contains(byte))
        })
}

/// Settings of namespaces that a pod shares with the host are the host's.
pub(super) fn sysctls_of_the_host(spec: &At) {
    let context = spec.field("securityContext");
    context.field("sysctls").items().for_each(|sysctl| sysctl_of_the_host(spec, &sysctl.field("name")));
}

fn sysctl_of_the_host(spec: &At, name: &At) {
    let slashed = name.text().find(['.', '/']).is_some_and(|at| name.text()[at..].starts_with('/'));
    let swap = |it: char| match it {
        '.' if slashed => '/',
        '/' if slashed => '.',
        other => other,
    };
    let known: String = name.text().chars().map(swap).take_while(|it| *it != '*').collect();
    if spec.flag_of("hostNetwork") && known.starts_with("net.") {
        name.invalid(name.text(), "may not be specified when 'hostNetwork' is true");
    } else if spec.flag_of("hostIPC")
        && (SYSCTLS_OF_IPC.contains(&known.as_str()) || known.starts_with("fs.mqueue."))
    {
        name.invalid(name.text(), "may not be specified when 'hostIPC' is true");
    }
}
