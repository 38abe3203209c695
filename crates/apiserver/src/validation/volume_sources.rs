//! Where the data of a volume comes from, as far as pods and persistent volumes have that in common. Which of a source's
//! fields must be given is data; what more is asked of some sources stands below.

use super::at::At;
use super::paths::{descending_path, file_mode, no_backsteps};
use crate::names;

/// A source and its rules.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) name: &'static str,
    /// The name under which a second source is refused, where that is another one.
    pub(super) refused_as: &'static str,
    /// The name that stands in the paths of its fields.
    pub(super) shown_as: &'static str,
    pub(super) required: &'static [&'static str],
    pub(super) rules: fn(&At),
}

impl Source {
    pub(super) const fn new(name: &'static str, required: &'static [&'static str], rules: fn(&At)) -> Self {
        Self { name, refused_as: name, shown_as: name, required, rules }
    }

    pub(super) const fn plain(name: &'static str, required: &'static [&'static str]) -> Self {
        Self::new(name, required, nothing_more)
    }

    pub(super) const fn shown_as(mut self, refused_as: &'static str, shown_as: &'static str) -> Self {
        (self.refused_as, self.shown_as) = (refused_as, shown_as);
        self
    }

    fn examine(&self, source: &At) {
        for name in self.required {
            let field = source.field(name);
            if field.text().is_empty() && field.is_empty() {
                field.required("");
            }
        }
        (self.rules)(source);
    }
}

/// Exactly one of the sources is there.
pub(super) fn exactly_one(place: &At, sources: &[Source]) {
    let mut found = false;
    for source in sources.iter().filter(|source| place.has(source.name)) {
        if found {
            place.field(source.refused_as).forbidden("may not specify more than 1 volume type");
        } else {
            source.examine(&place.field_shown_as(source.name, source.shown_as));
        }
        found = true;
    }
    if !found {
        place.required("must specify a volume type");
    }
}

fn nothing_more(_: &At) {}

pub(super) fn host_path(source: &At) {
    let path = source.field("path");
    if !path.must_be_given() {
        return;
    }
    no_backsteps(&path, path.text());
    let kinds =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    source.field("type").may_be_one_of(&kinds);
}

pub(super) fn git_repository(source: &At) {
    descending_path(&source.field("directory"), source.text_of("directory"));
}

pub(super) fn disk_partition(source: &At) {
    let partition = source.field("partition");
    if !(0..=255).contains(&partition.integer()) {
        partition.invalid(partition.integer(), "must be between 1 and 255, inclusive");
    }
}

pub(super) fn nfs(source: &At) {
    if !source.text_of("path").starts_with('/') {
        source.field("path").invalid(source.text_of("path"), "must be an absolute path");
    }
}

/// `unknown` is said of names that start in a way that is not known.
pub(super) fn iscsi(source: &At, unknown: &str) {
    if !source.text_of("iqn").is_empty() {
        iscsi_name(&source.field("iqn"), unknown);
    }
    source.field("lun").must_be_within(0, 255);
    let checks = source.flag_of("chapAuthDiscovery") || source.flag_of("chapAuthSession");
    if checks && !source.has("secretRef") {
        source.field("secretRef").required("");
    }
}

pub(super) fn iscsi_name(name: &At, unknown: &str) {
    let known = ["iqn", "eui", "naa"].iter().any(|start| name.text().starts_with(start));
    if !known {
        name.invalid(name.text(), unknown);
    } else if !is_iscsi_name(name.text()) {
        name.invalid(name.text(), "must be valid format");
    }
}

/// `iqn.2001-04.com.example:disk`, or a number of 16 or 32 digits.
fn is_iscsi_name(name: &str) -> bool {
    let alphanumeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match name.split_at_checked(4) {
        Some(("eui.", number)) => number.len() == 16 && alphanumeric(number),
        Some(("naa.", number)) => number.len() == 32 && alphanumeric(number),
        Some(("iqn.", rest)) => {
            let Some((authority, unit)) = rest.split_once(':') else { return false };
            let (date, domain) = authority.split_at_checked(8).unwrap_or(("", ""));
            let date = date
                .bytes()
                .zip("0000-00.".bytes())
                .all(|(byte, form)| if form == b'0' { byte.is_ascii_digit() } else { byte == form });
            date && !domain.is_empty()
                && domain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
                && !unit.is_empty()
                && !unit.contains(|it: char| ",;*&$|".contains(it) || it.is_whitespace())
        }
        _ => false,
    }
}

pub(super) fn fibre_channel(source: &At) {
    let (names, ids, unit) = (source.field("targetWWNs"), source.field("wwids"), source.field("lun"));
    match (names.is_empty(), ids.is_empty()) {
        (true, true) => names.required("must specify either targetWWNs or wwids, but not both"),
        (false, false) => {
            let detail = "targetWWNs and wwids can not be specified simultaneously";
            names.invalid(names.value.clone(), detail);
        }
        _ => {}
    }
    if !names.is_empty() {
        if unit.exists() {
            unit.must_be_within(0, 255);
        } else {
            unit.required("lun is required if targetWWNs is specified");
        }
    }
}

pub(super) fn flocker(source: &At) {
    let (name, id) = (source.field("datasetName"), source.text_of("datasetUUID"));
    match (name.text().is_empty(), id.is_empty()) {
        (true, true) => source.required("one of datasetName and datasetUUID is required"),
        (false, false) => {
            source.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously");
        }
        _ => {}
    }
    if name.text().contains('/') {
        name.invalid(name.text(), "must not contain '/'");
    }
}

pub(super) fn quobyte(source: &At) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    let registry = source.field("registry");
    if registry.text().is_empty() {
        registry.required(PAIRS);
    } else if source.text_of("tenant").len() >= 65 {
        source.field("tenant").required("must be a UUID and may not exceed a length of 64 characters");
    } else {
        let bad = registry.text().split(',').filter(|pair| pair.matches(':').count() != 1);
        bad.for_each(|_| registry.invalid(registry.text(), PAIRS));
    }
    source.field("volume").must_be_given();
}

pub(super) fn flex(source: &At) {
    for (key, option) in source.field("options").entries() {
        let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace);
        let normal = format!(".{}", namespace.to_lowercase());
        if normal.ends_with(".kubernetes.io") || normal.ends_with(".k8s.io") {
            option.invalid(key, "kubernetes.io and k8s.io namespaces are reserved");
        }
    }
}

pub(super) fn azure_disk(source: &At) {
    source.field("cachingMode").may_be_one_of(&["None", "ReadOnly", "ReadWrite"]);
    source.field("kind").may_be_one_of(&["Dedicated", "Managed", "Shared"]);
    let (kind, address) = (source.field("kind"), source.field("diskURI"));
    if !kind.exists() {
        return;
    }
    let managed = kind.text() == "Managed";
    if managed && !address.text().starts_with("/subscriptions/") {
        let form =
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
        address.not_supported(address.text(), &[form]);
    }
    if !managed && !address.text().starts_with("https://") {
        let form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
        address.not_supported(address.text(), &[form]);
    }
}

pub(super) fn storage_os(source: &At) {
    source.field("volumeName").must_be_given_and(names::dns_label);
    source.field("volumeNamespace").may(names::dns_label);
}

/// The name of a driver is a domain, in any case.
pub(super) fn csi_driver(name: &At) {
    if !name.must_be_given() {
        return;
    }
    if name.text().len() > 63 {
        name.too_long(63);
    }
    name.must(|text| names::dns_subdomain(&text.to_lowercase()));
}

/// Files that keys of a map become.
pub(super) fn keys_to_paths(items: &At) {
    for item in items.items() {
        key_to_path(&item);
    }
}

pub(super) fn key_to_path(item: &At) {
    item.field("key").must_be_given();
    item.field("path").must_be_given();
    super::paths::unreserved_path(&item.field("path"), item.text_of("path"));
    file_mode(&item.field("mode"));
}
