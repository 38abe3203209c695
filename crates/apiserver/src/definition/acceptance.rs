//! The status of a definition: whether its names are its own, and whether its kind is served. Kubernetes has
//! controllers that come to this one after the other; here it is one pure step.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::approval;
use super::reading::{list, text, texts};
use crate::field::Quoted;

/// How far the removal of what a definition defines has come, once the definition is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emptying {
    /// Nobody has looked for its objects yet.
    Pending,
    /// Objects of its kind are being deleted.
    InProgress,
    /// There are none left.
    Completed,
}

/// The statuses of all definitions, one decided after the other: of two that want one name, one gets it.
pub fn statuses(definitions: &[Value], now: &str) -> Vec<Value> {
    let mut known: Vec<Value> = definitions.iter().map(|crd| holder(crd, &crd["status"])).collect();
    let decide = |(index, crd): (usize, &Value)| {
        let decided = status(crd, &known.iter().collect::<Vec<_>>(), now);
        known[index] = holder(crd, &decided);
        decided
    };
    definitions.iter().enumerate().map(decide).collect()
}

/// As much of a definition as others must know of it.
fn holder(crd: &Value, status: &Value) -> Value {
    json!({
        "metadata": {"name": text(&crd["metadata"], "name")},
        "spec": {"group": text(&crd["spec"], "group")},
        "status": {"acceptedNames": status["acceptedNames"]},
    })
}

/// The status of `crd` as Kubernetes leaves it, given all other definitions. `now` is a time such as
/// `2026-11-15T10:38:30Z`; conditions that do not change keep theirs.
pub(super) fn status(crd: &Value, others: &[&Value], now: &str) -> Value {
    let mut status = crd["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let (accepted, conflict) = accept(crd, others);
    status["acceptedNames"] = accepted;
    let names_accepted = match &conflict {
        None => ("True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, message)) => ("False", *reason, message.clone()),
    };
    set_condition(&mut status, "NamesAccepted", names_accepted, now);
    if !is_true(&status, "Established") {
        let established = match conflict {
            None => ("True", "InitialNamesAccepted", "the initial names have been accepted".to_owned()),
            Some(_) => ("False", "NotAccepted", "not all names are accepted".to_owned()),
        };
        set_condition(&mut status, "Established", established, now);
    }
    if let Some(approval) = approval::condition(crd) {
        set_condition(&mut status, "KubernetesAPIApprovalPolicyConformant", approval, now);
    }
    status
}

/// The status of a definition that is being deleted.
pub fn deletion_status(crd: &Value, emptying: Emptying, now: &str) -> Value {
    let mut status = crd["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let condition = match emptying {
        Emptying::Pending => (
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
                .to_owned(),
        ),
        Emptying::InProgress => {
            ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress".to_owned())
        }
        Emptying::Completed => ("False", "InstanceDeletionCompleted", "removed all instances".to_owned()),
    };
    set_condition(&mut status, "Terminating", condition, now);
    status
}

/// The names that the definition has from now on, and the last conflict of those that it does not get.
fn accept(crd: &Value, others: &[&Value]) -> (Value, Option<(&'static str, String)>) {
    let (wanted, had) = (&crd["spec"]["names"], &crd["status"]["acceptedNames"]);
    let taken = Taken::by(crd, others);
    let mut accepted = json!({"plural": text(had, "plural"), "kind": text(had, "kind")});
    let mut conflict = None;
    let mut take = |name: &'static str, reason: &'static str, used: &HashSet<String>| {
        let (new, old) = (text(wanted, name), text(had, name));
        if new != old && used.contains(new) {
            conflict = Some((reason, in_use(new)));
            set_name(&mut accepted, name, old.into());
        } else {
            set_name(&mut accepted, name, new.into());
        }
    };
    take("plural", "PluralConflict", &taken.resources);
    take("singular", "SingularConflict", &taken.resources);
    let (new, old) = (texts(wanted, "shortNames"), texts(had, "shortNames"));
    let used: Vec<String> = new
        .iter()
        .filter(|name| !old.contains(name) && taken.resources.contains(*name))
        .map(|name| in_use(name))
        .collect();
    let mut after = None;
    let mut take_kind = |name: &'static str, reason: &'static str, accepted: &mut Value| {
        let (new, old) = (text(wanted, name), text(had, name));
        let is_taken = new != old && taken.kinds.contains(new);
        if is_taken {
            after = Some((reason, in_use(new)));
        }
        set_name(accepted, name, if is_taken { old } else { new }.into());
    };
    take_kind("kind", "KindConflict", &mut accepted);
    take_kind("listKind", "ListKindConflict", &mut accepted);
    match used.as_slice() {
        [] => set_name(&mut accepted, "shortNames", new.into()),
        several => {
            set_name(&mut accepted, "shortNames", old.into());
            let message =
                if let [only] = several { only.clone() } else { format!("[{}]", several.join(", ")) };
            conflict = Some(("ShortNamesConflict", message));
        }
    }
    set_name(&mut accepted, "categories", texts(wanted, "categories").into());
    (accepted, after.or(conflict))
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", Quoted(name))
}

/// Plural and kind are written even when there are none.
fn set_name(names: &mut Value, name: &str, value: Value) {
    let is_empty = value.as_str().is_some_and(str::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    if !is_empty || matches!(name, "plural" | "kind") {
        names[name] = value;
    }
}

/// The names that other definitions of the group have.
struct Taken {
    resources: HashSet<String>,
    kinds: HashSet<String>,
}

impl Taken {
    fn by(crd: &Value, others: &[&Value]) -> Self {
        let mut taken = Self { resources: HashSet::new(), kinds: HashSet::new() };
        let same_group = |other: &&&Value| {
            text(&other["spec"], "group") == text(&crd["spec"], "group")
                && text(&other["metadata"], "name") != text(&crd["metadata"], "name")
        };
        for other in others.iter().filter(same_group) {
            let names = &other["status"]["acceptedNames"];
            taken.resources.extend(["plural", "singular"].map(|name| text(names, name).to_owned()));
            taken.resources.extend(texts(names, "shortNames"));
            taken.kinds.extend(["kind", "listKind"].map(|name| text(names, name).to_owned()));
        }
        taken
    }
}

fn is_true(status: &Value, kind: &str) -> bool {
    list(status, "conditions")
        .iter()
        .any(|condition| text(condition, "type") == kind && text(condition, "status") == "True")
}

/// The time is that of the last change of the condition's status.
fn set_condition(status: &mut Value, kind: &str, (state, reason, message): (&str, &str, String), now: &str) {
    let mut conditions = list(status, "conditions").to_vec();
    let found = conditions.iter_mut().find(|condition| text(condition, "type") == kind);
    let since = match &found {
        Some(known) if text(known, "status") == state => text(known, "lastTransitionTime").to_owned(),
        _ => now.to_owned(),
    };
    let condition = json!({"type": kind, "status": state, "lastTransitionTime": since, "reason": reason, "message": message});
    match found {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    status["conditions"] = conditions.into();
}
