//! Claims of volumes, and the templates that claims are made from.

use asb_types::quantity::Quantity;
use serde_json::Value;

use super::at::{At, Report, examine};
use super::labels::{self, Values};
use super::metadata::{self, NameRule};
use super::pod::resources;
use super::{declared, difference};
use crate::names;

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const RESIZES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

/// What an old claim was and may stay.
#[derive(Clone, Copy)]
struct Allowances {
    selector: Values,
    any_source_group: bool,
}

const NOTHING: Allowances = Allowances { selector: Values::AsLabels, any_source_group: false };

pub(super) fn create(claim: &At) {
    whole(claim, NOTHING);
}

fn whole(claim: &At, allowances: Allowances) {
    metadata::new_of_kubernetes(&claim.field("metadata"), true, NameRule::Dns1123Subdomain);
    spec(&claim.field("spec"), allowances);
}

pub(super) fn template(template: &At) {
    metadata::template(&template.field("metadata"));
    spec(&template.field("spec"), NOTHING);
}

fn spec(spec: &At, allowances: Allowances) {
    let modes = spec.field("accessModes");
    if modes.is_empty() {
        modes.required("at least 1 access mode is required");
    }
    labels::selector(&spec.field("selector"), allowances.selector);
    access_modes(&modes);
    size(spec);
    spec.field("storageClassName").may(names::dns_subdomain);
    spec.field("volumeMode").may_be_one_of(&["Block", "Filesystem"]);
    sources(spec, allowances.any_source_group);
    spec.field("volumeAttributesClassName").may(names::dns_subdomain);
}

pub(super) fn access_modes(modes: &At) {
    for mode in modes.texts().filter(|mode| !MODES.contains(mode)) {
        modes.not_supported(mode, &MODES);
    }
    let once = modes.texts().any(|mode| mode == "ReadWriteOncePod");
    if once && modes.texts().any(|mode| mode != "ReadWriteOncePod" && MODES.contains(&mode)) {
        modes.forbidden("may not use ReadWriteOncePod with other access modes");
    }
}

/// Reported one level higher than it stands.
fn size(spec: &At) {
    let resources = spec.field("resources");
    let requests = resources.field("requests");
    let place = resources.key("storage").holding(requests.key("storage").value);
    if !place.exists() {
        return place.required("");
    }
    positive(&place);
}

pub(super) fn positive(amount: &At) {
    let quantity = amount.quantity().unwrap_or_default();
    if quantity.is_zero() || quantity.is_negative() {
        amount.invalid(quantity.to_string(), "must be greater than zero");
    }
}

/// What the volume is filled from.
fn sources(spec: &At, any_group: bool) {
    let (old, new) = (spec.field("dataSource"), spec.field("dataSourceRef"));
    for source in [old, new].into_iter().filter_map(At::given) {
        self::source(&source, any_group);
    }
    let namespace = new.field("namespace");
    namespace.may(names::dns_label);
    let shown = "{}";
    if !namespace.text().is_empty() {
        if old.exists() {
            spec.invalid_shown(
                shown.into(),
                "may not be specified when dataSourceRef.namespace is specified",
            );
        }
    } else if old.exists() && new.exists() {
        let same = ["apiGroup", "kind", "name"].iter().all(|name| old.value.get(name) == new.value.get(name));
        if !same {
            spec.invalid_shown(shown.into(), "must match dataSourceRef");
        }
    }
}

fn source(source: &At, any_group: bool) {
    source.field("name").must_be_given();
    source.field("kind").must_be_given();
    let group = source.field("apiGroup");
    if group.text().is_empty() && source.text_of("kind") != "PersistentVolumeClaim" {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        source.invalid(source.text_of("kind"), detail);
    }
    if !any_group {
        group.may(names::dns_subdomain);
    }
}

pub(super) fn update(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    let selector = &old["spec"]["selector"];
    let bad_selector = !examine(selector, |it| labels::selector(it, Values::AsLabels)).is_empty();
    let group = |name: &str| old["spec"][name].get("apiGroup").is_some();
    let allowances = Allowances {
        selector: if bad_selector { Values::Anything } else { Values::AsLabels },
        any_source_group: group("dataSource") || group("dataSourceRef"),
    };
    whole(new, allowances);
    fixed(new, old);
    let spec = new.field("spec");
    shrunk(&spec, old);
    let silent = Report::default();
    let before = spec.other(&old["spec"], &silent);
    let mode = new.field("volumeMode").holding(spec.field("volumeMode").value);
    metadata::immutable(&mode, &before.field("volumeMode"));
    attributes_class(&spec.field("volumeAttributesClassName"), old);
}

/// All of the spec but what a bound claim may ask for anew.
fn fixed(new: &At, old: &Value) {
    let (mut next, mut before) = (new.field("spec").value.clone(), old["spec"].clone());
    let annotation = |object: &Value| object["metadata"]["annotations"].get(CLASS).cloned();
    let (was, is) = (annotation(old), annotation(new.value));
    if before["volumeName"].as_str().unwrap_or_default().is_empty() {
        set(&mut before, "volumeName", next.get("volumeName").cloned());
    }
    let class = next.get("storageClassName").cloned();
    let had_class = before.get("storageClassName").is_some();
    if was.is_some() && !had_class && class == was && (is.is_none() || is == was) {
        set(&mut next, "storageClassName", None);
    } else {
        if was != is {
            let metadata = new.field("metadata");
            let annotations = metadata.field("annotations");
            let place = annotations.shown_under(CLASS);
            place.invalid(annotations.text_of(CLASS), "field is immutable");
        }
        if class.is_some() && !had_class && (was.is_none() || was == class) {
            set(&mut next, "storageClassName", None);
        }
    }
    if new.field("status").text_of("phase") == "Bound" {
        if next["resources"]["requests"].is_object() {
            let size = old["spec"]["resources"]["requests"].get("storage").cloned();
            set(&mut next["resources"]["requests"], "storage", size);
        }
        set(&mut next, "volumeAttributesClassName", before.get("volumeAttributesClassName").cloned());
    }
    let kind = "PersistentVolumeClaimSpec";
    let (before, next) = (declared::lines(kind, &before), declared::lines(kind, &next));
    if before != next {
        new.field("spec").forbidden(format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{}",
            difference::unified(&before, &next)
        ));
    }
}

fn set(object: &mut Value, name: &str, value: Option<Value>) {
    let Some(map) = object.as_object_mut() else { return };
    match value {
        Some(value) => map.insert(name.to_owned(), value),
        None => map.remove(name),
    };
}

/// A claim may be taken back while it is not granted yet, but not below what was granted.
fn shrunk(spec: &At, old: &Value) {
    let amount = |value: &Value| Quantity::read(value).unwrap_or_default();
    let resources = spec.field("resources");
    let requests = resources.field("requests");
    let size = requests.field("storage");
    let new = amount(size.value);
    let granted = amount(&old["status"]["capacity"]["storage"]);
    if new < amount(&old["spec"]["resources"]["requests"]["storage"]) && new <= granted {
        size.forbidden("field can not be less than status.capacity");
    }
}

fn attributes_class(class: &At, old: &Value) {
    let changed =
        old["spec"].get("volumeAttributesClassName") != Some(class.value).filter(|it| !it.is_null());
    if !changed || old["status"].get("currentVolumeAttributesClassName").is_none() {
        return;
    }
    let current = "is forbidden when status.currentVolumeAttributesClassName is not nil";
    if !class.exists() {
        class.forbidden(format!("update to nil {current}"));
    } else if class.text().is_empty() {
        class.forbidden(format!("update to empty string {current}"));
    }
}

pub(super) fn update_status(new: &At, old: &Value) {
    metadata::changed_of_kubernetes(&new.field("metadata"), &old["metadata"]);
    if new.field("metadata").text_of("resourceVersion").is_empty() {
        new.field("resourceVersion").required("");
    }
    if new.field("spec").field("accessModes").is_empty() {
        new.field("Spec").field("accessModes").required("");
    }
    let status = new.field("status");
    for (_, amount) in status.field("capacity").entries() {
        not_negative(&amount);
    }
    let resizes = status.field("allocatedResourceStatuses");
    for (name, resize) in resizes.entries() {
        resource_key(&resizes, name);
        if !RESIZES.contains(&resize.text()) {
            resizes.not_supported(name, &RESIZES);
        }
    }
    let allocated = status.field("allocatedResources");
    for (name, amount) in allocated.entries() {
        let before = allocated.reported();
        resource_key(&allocated, name);
        if allocated.reported() == before {
            not_negative(&amount);
        }
        if allocated.reported() == before {
            resources::amount(&amount, "storage");
        }
    }
}

fn resource_key(place: &At, name: &str) {
    let before = place.reported();
    place.must_hold(name, names::qualified_name);
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    if place.reported() == before && native && name != "storage" {
        place.not_supported(name, &["storage"]);
    }
}

pub(super) fn not_negative(amount: &At) {
    let quantity = amount.quantity().unwrap_or_default();
    if quantity.is_negative() {
        let shown = i64::try_from(quantity.whole()).unwrap_or(i64::MIN);
        amount.invalid(shown, "must be a valid resource quantity");
    }
}
