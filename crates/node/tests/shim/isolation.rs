//! What a container must not see, have or do, for its first process and for those executed in it alike.

use std::fs;

use anyhow::{Context, Result, ensure};
use asb_node::shim::plan::{Process, Seccomp};
use asb_node::shim::protocol::Status;
use libtest_mimic::Trial;

use crate::fixture::{Pod, attempt, process, shell, trial, trial_with};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("ids_are_those_of_the_pod_for_the_first_process_and_for_others", ids),
        trial("the_filter_is_in_force_for_the_first_process_and_for_others", filter),
        trial("without_the_filter_the_same_calls_succeed", no_filter),
        trial("the_filter_does_not_need_no_new_privileges", filter_with_new_privileges),
        trial("capabilities_are_those_of_the_plan_and_no_others", capabilities),
        trial("nobody_but_root_has_capabilities", no_capabilities),
        trial("kernel_files_are_masked_or_read_only", kernel_files),
        trial("no_descriptor_of_the_machine_is_left_open", descriptors),
        trial("this_program_cannot_be_written_from_inside", this_program),
        trial("containers_share_network_ipc_and_host_name_and_nothing_else", namespaces),
        trial_with(
            "processes_are_shared_when_the_pod_says_so",
            |plan| plan.namespaces.pod_processes = true,
            shared_processes,
        ),
        trial("set_user_id_programs_gain_nothing", no_gain),
        trial("a_container_sees_its_own_cgroup_and_cannot_change_it", own_cgroup),
        trial("nothing_of_the_machine_is_mounted_or_visible", machine),
    ]
}

/// Runs it as the first process, and then in a container that sleeps.
async fn both_ways(pod: &mut Pod, process: Process) -> Result<[String; 2]> {
    let mut plan = pod.container(&[]);
    plan.process = process.clone();
    let first = attempt("first", 0);
    pod.start(&first, plan).await?;
    let exit = pod.exit(&first).await?;
    let log = pod.log();
    ensure!(exit.status == Status::Code(0), "{exit:?} {log}");
    let sleeper = pod.shell("sleep 1000");
    pod.start(&attempt("main", 0), sleeper).await?;
    let (status, text) = pod.exec(process).await?;
    ensure!(status == Status::Code(0), "{status:?} {text}");
    Ok([log, text])
}

async fn ids(pod: &mut Pod) -> Result<()> {
    let first = pod.plan.ids.first;
    for text in both_ways(pod, shell("cat /proc/self/uid_map /proc/self/gid_map; id -u")).await? {
        let words: Vec<&str> = text.split_whitespace().collect();
        let first = first.to_string();
        ensure!(words == ["0", &first, "65536", "0", &first, "65536", "0"], "{text}");
    }
    Ok(())
}

async fn filter(pod: &mut Pod) -> Result<()> {
    let expected = "keyctl EPERM\nunshare EPERM\nmount EPERM\nbpf EPERM\nio_uring EPERM\nclone3 ENOSYS\nvsock EPERM\n\
                    alg EPERM\ninet fine\nroute fine\naudit EPERM\ntiocsti EPERM\ntiocsti+ EPERM\nclone EPERM\n\
                    unknown ENOSYS\nx32 ENOSYS\n";
    for text in both_ways(pod, process(&["/payload", "payload", "calls"])).await? {
        ensure!(text == expected, "{text}");
    }
    Ok(())
}

async fn no_filter(pod: &mut Pod) -> Result<()> {
    let mut process = process(&["/payload", "payload", "calls"]);
    process.seccomp = Seccomp::Unconfined;
    for text in both_ways(pod, process).await? {
        ensure!(text.contains("keyctl fine\nunshare fine\n") && !text.contains("io_uring EPERM"), "{text}");
    }
    Ok(())
}

async fn filter_with_new_privileges(pod: &mut Pod) -> Result<()> {
    let mut process = shell("grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status");
    process.no_new_privileges = false;
    process.user.uid = 1000;
    for text in both_ways(pod, process).await? {
        ensure!(text == "NoNewPrivs:\t0\nSeccomp:\t2\n", "{text}");
    }
    Ok(())
}

async fn capabilities(pod: &mut Pod) -> Result<()> {
    let mut process = shell("grep '^Cap' /proc/self/status");
    process.capabilities = vec!["CHOWN".to_owned(), "CAP_KILL".to_owned()];
    for text in both_ways(pod, process).await? {
        let set = "0000000000000021";
        let expected = format!(
            "CapInh:\t0000000000000000\nCapPrm:\t{set}\nCapEff:\t{set}\nCapBnd:\t{set}\nCapAmb:\t0000000000000000\n"
        );
        ensure!(text == expected, "{text}");
    }
    Ok(())
}

async fn no_capabilities(pod: &mut Pod) -> Result<()> {
    let mut process = shell("grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status | cut -f2 | sort -u");
    process.user.uid = 1000;
    for text in both_ways(pod, process).await? {
        ensure!(text == "0000000000000000\n", "{text}");
    }
    Ok(())
}

async fn kernel_files(pod: &mut Pod) -> Result<()> {
    let script = "cat /proc/kcore 2>/dev/null | wc -c; cat /proc/keys | wc -c; ls /sys/firmware | wc -l
        (echo 1 > /proc/sys/kernel/hostname) 2>&1 | grep -c 'Read-only'
        (echo h > /proc/sysrq-trigger) 2>/dev/null && echo written
        (touch /sys/kernel/x) 2>&1 | grep -c 'Read-only'";
    let output = pod.output(script).await?;
    ensure!(output == "0\n0\n0\n1\n1\n", "{output}");
    Ok(())
}

async fn descriptors(pod: &mut Pod) -> Result<()> {
    // `ls` has one more open, the directory that it reads.
    for text in both_ways(pod, process(&["/bin/ls", "/proc/self/fd"])).await? {
        ensure!(text == "0\n1\n2\n3\n", "{text}");
    }
    Ok(())
}

async fn this_program(pod: &mut Pod) -> Result<()> {
    // The kernel executes what /proc/self/exe is at that moment: the program that was about to become this one.
    fs::write(pod.path("image/trick"), "#!/proc/self/exe payload\n")?;
    fs::set_permissions(pod.path("image/trick"), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    for text in both_ways(pod, process(&["/trick"])).await? {
        ensure!(text == "opened to be read\nto be written: permission denied\n", "{text}");
    }
    Ok(())
}

/// The identity of a namespace of a process.
fn namespace(pid: i32, kind: &str) -> Result<String> {
    let link = fs::read_link(format!("/proc/{pid}/ns/{kind}")).with_context(|| format!("{kind} of {pid}"))?;
    Ok(link.display().to_string())
}

async fn two_containers(pod: &mut Pod) -> Result<(i32, i32)> {
    let plan = pod.shell("sleep 1000");
    let one = pod.start(&attempt("main", 0), plan.clone()).await?;
    let two = pod.start(&attempt("other", 0), plan).await?;
    Ok((one, two))
}

async fn namespaces(pod: &mut Pod) -> Result<()> {
    let (one, two) = two_containers(pod).await?;
    let own = i32::try_from(std::process::id())?;
    for (kind, shared) in [
        ("user", true),
        ("net", true),
        ("ipc", true),
        ("uts", true),
        ("pid", false),
        ("mnt", false),
        ("cgroup", false),
    ] {
        ensure!((namespace(one, kind)? == namespace(two, kind)?) == shared, "{kind}");
        ensure!(namespace(one, kind)? != namespace(own, kind)?, "{kind} is the machine's");
    }
    Ok(())
}

async fn shared_processes(pod: &mut Pod) -> Result<()> {
    let (one, two) = two_containers(pod).await?;
    ensure!(
        namespace(one, "pid")? == namespace(two, "pid")? && namespace(one, "mnt")? != namespace(two, "mnt")?
    );
    let (_, text) = pod
        .exec(shell(
            "cat /proc/1/comm; ls /proc/1/root 2>&1; readlink /proc/1/exe 2>&1; ps -e | grep -c sleep",
        ))
        .await?;
    ensure!(text.starts_with("pause\n") && text.ends_with("2\n"), "{text}");
    ensure!(text.contains("Permission denied"), "the first process can be looked into: {text}");
    Ok(())
}

async fn no_gain(pod: &mut Pod) -> Result<()> {
    let script = "cp /usr/bin/id /tmp/id && chmod 4755 /tmp/id && stat -c %a /tmp/id";
    let mut plan = pod.shell(script);
    let shared = pod.path("shared");
    fs::create_dir(&shared)?;
    plan.mounts.push(crate::fixture::volume(&shared, "/tmp"));
    ensure!(pod.succeed(plan.clone()).await?.ends_with("4755\n"));
    // On a volume and in the container's own layer.
    let (mut asked, second) =
        (shell("/tmp/id -u; cp /usr/bin/id /home-id 2>/dev/null; /tmp/id -u"), attempt("main", 1));
    asked.user.uid = 1000;
    plan.process = asked;
    pod.start(&second, plan).await?;
    pod.exit(&second).await?;
    let log = pod.log();
    ensure!(log.ends_with("1000\n1000\n"), "{log}");
    Ok(())
}

async fn own_cgroup(pod: &mut Pod) -> Result<()> {
    let script = "cat /proc/self/cgroup | grep -v ':/$' | wc -l
        find /sys/fs/cgroup -name cgroup.procs | head -1 | xargs cat | head -1
        (find /sys/fs/cgroup -name cgroup.procs | head -1 | xargs -I{} sh -c 'echo 1 > {}') 2>&1 | grep -c 'Read-only'";
    let output = pod.output(script).await?;
    // Hierarchies that we do not use are the machine's own; none of ours leads anywhere but to the container's root.
    let lines: Vec<&str> = output.lines().collect();
    ensure!(lines.len() == 3 && lines[1] == "1" && lines[2] == "1", "{output}");
    Ok(())
}

async fn machine(pod: &mut Pod) -> Result<()> {
    let place = pod.directory.root().display().to_string();
    let output = pod.output("cat /proc/self/mountinfo; ls /; ls /dev").await?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    ensure!(!mounts.contains(&place), "{mounts}");
    let root = output.lines().find(|line| line.split(' ').nth(4) == Some("/")).unwrap_or_default();
    ensure!(root.contains(" - overlay "), "{root}");
    let devices = output.rsplit("usr\n").next().unwrap_or_default();
    ensure!(!devices.contains("sda") && !devices.contains("vda") && !devices.contains("kmsg"), "{devices}");
    Ok(())
}
