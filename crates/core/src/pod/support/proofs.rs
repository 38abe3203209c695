//! Which test sees what a field does: in a container that runs, or where it runs at all. A test of the suites' package holds
//! these names to the tests that there are.

/// A test as `suite::file::test`, and the fields that it sees: `Kind.field`, or `Kind.*` for all of a kind that are not refused.
type Proof = (&'static str, &'static [&'static str]);

/// The test that proves a field.
pub(super) fn proof(kind: &str, field: &str) -> Option<&'static str> {
    let names = |row: &&'static str| {
        row.split_once('.').is_some_and(|(of, name)| of == kind && (name == field || name == "*"))
    };
    PROOFS.iter().copied().flatten().find(|(_, rows)| rows.iter().any(names)).map(|(test, _)| *test)
}

/// Every test that is named.
pub fn tests() -> impl Iterator<Item = &'static str> {
    PROOFS.iter().copied().flatten().map(|(test, _)| *test)
}

/// Every row that is named.
#[cfg(test)]
pub(super) fn rows() -> impl Iterator<Item = &'static str> {
    PROOFS.iter().copied().flatten().flat_map(|(_, rows)| rows.iter().copied())
}

const PROOFS: &[&[Proof]] = &[CONTAINERS, LIVES, NAMES, SCHEDULING, SECURITY, VOLUMES];

const CONTAINERS: &[Proof] = &[
    (
        "pods::commands::commands_arguments_and_directories_are_those_of_the_container",
        &["Container.args", "Container.command", "Container.workingDir"],
    ),
    (
        "pods::commands::containers_of_a_pod_are_told_apart_by_their_names_and_share_its_network",
        &["PodSpec.containers", "Container.name"],
    ),
    ("pods::commands::last_words_are_read_from_their_file", &["Container.terminationMessagePath"]),
    (
        "pods::commands::last_words_are_the_end_of_the_log_where_asked_for",
        &["Container.terminationMessagePolicy"],
    ),
    (
        "pods::environment::what_is_missing_is_waited_for",
        &[
            "ConfigMapKeySelector.optional",
            "SecretKeySelector.optional",
            "ConfigMapEnvSource.optional",
            "SecretEnvSource.optional",
        ],
    ),
    (
        "pods::environment::values_are_expanded_and_taken_from_objects",
        &[
            "Container.env",
            "EnvVar.*",
            "EnvVarSource.configMapKeyRef",
            "EnvVarSource.secretKeyRef",
            "ConfigMapKeySelector.*",
            "SecretKeySelector.*",
        ],
    ),
    (
        "pods::environment::whole_objects_become_variables_with_a_prefix",
        &["Container.envFrom", "EnvFromSource.*", "ConfigMapEnvSource.*", "SecretEnvSource.*"],
    ),
    ("pods::environment::a_container_knows_its_pod", &["EnvVarSource.fieldRef", "ObjectFieldSelector.*"]),
    (
        "pods::environment::a_container_knows_its_resources",
        &["EnvVarSource.resourceFieldRef", "ResourceFieldSelector.*"],
    ),
    ("pods::environment::services_are_variables_unless_they_are_not_wanted", &["PodSpec.enableServiceLinks"]),
    (
        "pods::images::what_must_not_be_pulled_has_to_be_here",
        &["Container.image", "Container.imagePullPolicy"],
    ),
    (
        "pods::images::registries_are_told_who_asks",
        &["PodSpec.imagePullSecrets", "LocalObjectReference.name"],
    ),
    ("pods::streams::whoever_attaches_is_heard", &["Container.stdin"]),
    ("pods::streams::input_may_end_with_the_first_who_attaches", &["Container.stdinOnce"]),
    ("pods::streams::a_container_has_a_terminal_where_it_asks_for_one", &["Container.tty"]),
    (
        "pods::resources::limits_are_those_of_the_cgroup",
        &[
            "Container.resources",
            "Container.resizePolicy",
            "ContainerResizePolicy.*",
            "PodSpec.resources",
            "ResourceRequirements.limits",
        ],
    ),
    ("pods::resources::requests_become_weight", &["ResourceRequirements.requests"]),
    ("sessions::runs::limits_and_the_runtime_class_hold", &["PodSpec.runtimeClassName"]),
    ("pods::runtimes::what_a_runtime_takes_is_added", &["PodSpec.overhead"]),
];

const LIVES: &[Proof] = &[
    ("pods::lives::init_containers_run_in_order_and_sidecars_go_on", &["PodSpec.initContainers"]),
    ("pods::lives::a_pod_past_its_deadline_fails", &["PodSpec.activeDeadlineSeconds"]),
    ("pods::lives::a_deleted_pod_has_its_grace", &["PodSpec.terminationGracePeriodSeconds"]),
    ("pods::lives::ready_waits_for_the_gates", &["PodSpec.readinessGates", "PodReadinessGate.conditionType"]),
    ("pods::lives::a_pod_of_another_system_does_not_run", &["PodSpec.os", "PodOS.name"]),
    ("pods::lives::processes_are_shared_where_asked_for", &["PodSpec.shareProcessNamespace"]),
    ("pods::restarts::a_pod_restarts_its_containers_as_its_policy_says", &["PodSpec.restartPolicy"]),
    ("pods::restarts::a_container_may_have_a_policy_of_its_own", &["Container.restartPolicy"]),
    (
        "pods::restarts::rules_for_exit_codes_go_before_the_policy",
        &["Container.restartPolicyRules", "ContainerRestartRule.*", "ContainerRestartRuleOnExitCodes.*"],
    ),
    (
        "pods::hooks::hooks_run_in_the_container_after_its_start_and_before_its_end",
        &[
            "Container.lifecycle",
            "Lifecycle.postStart",
            "Lifecycle.preStop",
            "LifecycleHandler.exec",
            "ExecAction.command",
        ],
    ),
    ("pods::hooks::hooks_ask_the_pod_over_http", &["LifecycleHandler.httpGet"]),
    ("pods::hooks::hooks_may_only_wait", &["LifecycleHandler.sleep", "SleepAction.seconds"]),
    (
        "pods::probes::a_program_in_the_container_makes_it_ready_and_unready",
        &["Container.readinessProbe", "Probe.exec"],
    ),
    (
        "pods::probes::a_probe_is_asked_when_and_as_often_as_it_says",
        &[
            "Probe.periodSeconds",
            "Probe.successThreshold",
            "Probe.failureThreshold",
            "Probe.initialDelaySeconds",
        ],
    ),
    (
        "pods::probes::a_failed_liveness_probe_restarts_the_container_within_its_own_grace",
        &["Container.livenessProbe", "Probe.terminationGracePeriodSeconds"],
    ),
    ("pods::probes::a_probe_that_takes_too_long_has_failed", &["Probe.timeoutSeconds"]),
    ("pods::probes::other_probes_wait_for_the_startup_probe", &["Container.startupProbe"]),
    (
        "pods::probes::ports_of_the_pod_are_asked_by_number_and_by_name",
        &[
            "Container.ports",
            "ContainerPort.containerPort",
            "ContainerPort.name",
            "ContainerPort.protocol",
            "Probe.httpGet",
            "Probe.tcpSocket",
            "HTTPGetAction.httpHeaders",
            "HTTPGetAction.path",
            "HTTPGetAction.port",
            "HTTPHeader.*",
            "TCPSocketAction.port",
        ],
    ),
    ("pods::probes::certificates_are_not_checked_over_https", &["HTTPGetAction.scheme"]),
    ("pods::probes::the_health_service_of_grpc_is_asked", &["Probe.grpc", "GRPCAction.*"]),
];

const NAMES: &[Proof] = &[
    (
        "pods::names::a_pod_is_called_as_it_says",
        &["PodSpec.hostname", "PodSpec.hostnameOverride", "PodSpec.hostAliases", "HostAlias.*"],
    ),
    ("pods::names::a_subdomain_makes_a_full_name", &["PodSpec.setHostnameAsFQDN"]),
    ("pods::names::others_find_a_pod_by_hostname_and_subdomain", &["PodSpec.subdomain"]),
    (
        "pods::names::the_resolver_is_told_what_the_pod_wants",
        &["PodSpec.dnsPolicy", "PodSpec.dnsConfig", "PodDNSConfig.*", "PodDNSConfigOption.*"],
    ),
];

const SCHEDULING: &[Proof] = &[
    (
        "pods::scheduling::nodes_are_selected_by_labels_and_names",
        &[
            "PodSpec.affinity",
            "PodSpec.nodeName",
            "PodSpec.nodeSelector",
            "Affinity.nodeAffinity",
            "NodeAffinity.*",
            "PreferredSchedulingTerm.*",
            "NodeSelector.*",
            "NodeSelectorTerm.*",
            "NodeSelectorRequirement.*",
        ],
    ),
    (
        "pods::scheduling::pods_are_kept_together_and_apart",
        &[
            "Affinity.podAffinity",
            "Affinity.podAntiAffinity",
            "PodAffinity.*",
            "PodAntiAffinity.*",
            "WeightedPodAffinityTerm.*",
            "PodAffinityTerm.labelSelector",
            "PodAffinityTerm.matchLabelKeys",
            "PodAffinityTerm.mismatchLabelKeys",
            "PodAffinityTerm.topologyKey",
        ],
    ),
    (
        "pods::scheduling::other_pods_are_found_by_expressions",
        &["LabelSelector.*", "LabelSelectorRequirement.*"],
    ),
    (
        "pods::scheduling::other_pods_are_looked_for_in_the_namespaces_that_are_named",
        &["PodAffinityTerm.namespaceSelector", "PodAffinityTerm.namespaces"],
    ),
    (
        "pods::scheduling::pods_are_spread_as_far_as_one_node_goes",
        &["PodSpec.topologySpreadConstraints", "TopologySpreadConstraint.*"],
    ),
    (
        "pods::scheduling::gates_and_other_schedulers_are_waited_for",
        &["PodSpec.schedulerName", "PodSpec.schedulingGates", "PodSchedulingGate.name"],
    ),
    ("pods::alone::who_matters_more_makes_others_leave", &["PodSpec.priority", "PodSpec.priorityClassName"]),
    ("pods::alone::who_matters_more_may_leave_others_in_peace", &["PodSpec.preemptionPolicy"]),
    ("pods::alone::who_does_not_bear_a_taint_is_sent_away", &["Toleration.tolerationSeconds"]),
    ("pods::alone::taints_are_borne_by_those_who_say_so", &["PodSpec.tolerations", "Toleration.*"]),
];

const SECURITY: &[Proof] = &[
    (
        "pods::users::users_and_groups_are_the_containers_before_the_pods",
        &[
            "Container.securityContext",
            "PodSpec.securityContext",
            "PodSecurityContext.runAsGroup",
            "PodSecurityContext.runAsUser",
            "PodSecurityContext.supplementalGroups",
            "PodSecurityContext.supplementalGroupsPolicy",
            "SecurityContext.runAsGroup",
            "SecurityContext.runAsUser",
        ],
    ),
    (
        "pods::users::who_must_not_be_root_is_not_started_as_root",
        &["PodSecurityContext.runAsNonRoot", "SecurityContext.runAsNonRoot"],
    ),
    ("pods::users::the_group_of_a_pod_owns_its_volumes", &["PodSecurityContext.fsGroup"]),
    (
        "pods::users::how_thoroughly_volumes_are_given_to_the_group_is_the_pods_choice",
        &["PodSecurityContext.fsGroupChangePolicy"],
    ),
    (
        "pods::security::the_filter_is_in_force_for_every_process",
        &["SecurityContext.seccompProfile", "SeccompProfile.type"],
    ),
    (
        "pods::security::the_filter_is_there_without_asking",
        &[
            "PodSecurityContext.seccompProfile",
            "PodSecurityContext.appArmorProfile",
            "SecurityContext.appArmorProfile",
            "AppArmorProfile.type",
        ],
    ),
    (
        "pods::security::capabilities_are_added_and_dropped",
        &["SecurityContext.capabilities", "Capabilities.*"],
    ),
    ("pods::security::the_root_file_system_can_be_read_only", &["SecurityContext.readOnlyRootFilesystem"]),
    ("pods::security::privileges_cannot_be_gained", &["SecurityContext.allowPrivilegeEscalation"]),
    ("pods::security::kernel_files_are_masked", &["SecurityContext.procMount"]),
    ("pods::security::settings_of_the_kernel_are_the_pods_own", &["PodSecurityContext.sysctls", "Sysctl.*"]),
    ("pods::security::a_pod_shares_nothing_with_the_machine", &["PodSpec.hostPID", "PodSpec.hostUsers"]),
    (
        "pods::allowed::the_network_of_the_machine_is_shared",
        &["PodSpec.hostNetwork", "ContainerPort.hostIP", "ContainerPort.hostPort"],
    ),
    ("pods::allowed::shared_memory_of_the_machine_is_shared", &["PodSpec.hostIPC"]),
    ("pods::allowed::a_privileged_container_has_all_but_the_namespaces", &["SecurityContext.privileged"]),
    (
        "pods::volumes::the_runtime_that_asb_carries_is_a_volume_that_nobody_writes_to",
        &["Volume.image", "ImageVolumeSource.*"],
    ),
    ("pods::allowed::files_of_the_machine_are_shown", &["Volume.hostPath", "HostPathVolumeSource.*"]),
];

const VOLUMES: &[Proof] = &[
    (
        "pods::volumes::an_empty_directory_is_shared_by_the_containers_and_survives_a_restart",
        &["PodSpec.volumes", "Volume.emptyDir", "Volume.name", "EmptyDirVolumeSource.medium"],
    ),
    ("pods::resources::who_takes_too_much_of_the_disk_is_evicted", &["EmptyDirVolumeSource.sizeLimit"]),
    (
        "pods::volumes::keys_of_objects_are_files_with_their_modes",
        &[
            "Volume.configMap",
            "Volume.secret",
            "ConfigMapVolumeSource.defaultMode",
            "ConfigMapVolumeSource.items",
            "ConfigMapVolumeSource.name",
            "SecretVolumeSource.defaultMode",
            "SecretVolumeSource.items",
            "SecretVolumeSource.secretName",
            "KeyToPath.*",
        ],
    ),
    (
        "pods::volumes::objects_that_are_missing_are_waited_for_unless_they_are_optional",
        &["ConfigMapVolumeSource.optional", "SecretVolumeSource.optional"],
    ),
    (
        "pods::volumes::a_pod_reads_of_itself_in_files",
        &["Volume.downwardAPI", "DownwardAPIVolumeSource.*", "DownwardAPIVolumeFile.*"],
    ),
    (
        "pods::projected::sources_that_are_missing_are_waited_for",
        &["ConfigMapProjection.optional", "SecretProjection.optional"],
    ),
    (
        "pods::projected::sources_are_merged_in_one_directory",
        &[
            "Volume.projected",
            "ProjectedVolumeSource.*",
            "VolumeProjection.configMap",
            "VolumeProjection.downwardAPI",
            "VolumeProjection.secret",
            "ConfigMapProjection.*",
            "SecretProjection.*",
            "DownwardAPIProjection.*",
        ],
    ),
    (
        "pods::tokens::a_pod_has_the_token_of_its_account_unless_it_wants_none",
        &["PodSpec.automountServiceAccountToken", "PodSpec.serviceAccount", "PodSpec.serviceAccountName"],
    ),
    ("pods::alone::a_token_is_replaced_while_its_pod_runs", &["VolumeProjection.serviceAccountToken"]),
    ("pods::tokens::a_token_is_for_whom_and_as_long_as_the_pod_says", &["ServiceAccountTokenProjection.*"]),
    (
        "pods::claims::a_claim_outlives_its_pod",
        &["Volume.persistentVolumeClaim", "PersistentVolumeClaimVolumeSource.*"],
    ),
    (
        "pods::claims::a_pod_brings_claims_along",
        &[
            "Volume.ephemeral",
            "EphemeralVolumeSource.*",
            "PersistentVolumeClaimTemplate.*",
            "ObjectMeta.*",
            "PersistentVolumeClaimSpec.storageClassName",
            "PersistentVolumeClaimSpec.volumeMode",
        ],
    ),
    ("pods::claims::a_claim_is_shared_as_its_modes_say", &["PersistentVolumeClaimSpec.accessModes"]),
    ("pods::claims::a_claim_takes_the_volume_that_it_names", &["PersistentVolumeClaimSpec.volumeName"]),
    (
        "pods::claims::a_claim_is_as_large_as_it_asks_for",
        &["PersistentVolumeClaimSpec.resources", "VolumeResourceRequirements.*"],
    ),
    (
        "pods::mounts::parts_of_volumes_are_mounted_where_asked_for",
        &[
            "Container.volumeMounts",
            "VolumeMount.mountPath",
            "VolumeMount.mountPropagation",
            "VolumeMount.name",
            "VolumeMount.subPath",
            "VolumeMount.subPathExpr",
        ],
    ),
    ("pods::mounts::a_mount_can_be_read_only", &["VolumeMount.readOnly", "VolumeMount.recursiveReadOnly"]),
];
