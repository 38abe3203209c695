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
fn accept(crd: &Value, others: &[&Value]) -> (Value, Option<Conflict>) {
    let (wanted, had) = (&crd["spec"]["names"], &crd["status"]["acceptedNames"]);
    let taken = Taken::by(crd, others);
    let mut names = Names { wanted, had, accepted: json!({}), conflict: None };
    names.take("plural", "PluralConflict", &taken.resources);
    names.take("singular", "SingularConflict", &taken.resources);
    names.take_short(&taken.resources);
    names.take("kind", "KindConflict", &taken.kinds);
    names.take("listKind", "ListKindConflict", &taken.kinds);
    set_name(&mut names.accepted, "categories", texts(wanted, "categories").into());
    (names.accepted, names.conflict)
}

/// A reason and a message.
type Conflict = (&'static str, String);

/// Names while they are given, one after the other.
struct Names<'a> {
    wanted: &'a Value,
    had: &'a Value,
    accepted: Value,
    conflict: Option<Conflict>,
}

impl Names<'_> {
    /// A name that others use is not given; what the definition had before stays.
    fn take(&mut self, name: &str, reason: &'static str, used: &HashSet<String>) {
        let (new, old) = (text(self.wanted, name), text(self.had, name));
        let is_taken = new != old && used.contains(new);
        if is_taken {
            self.conflict = Some((reason, in_use(new)));
        }
        set_name(&mut self.accepted, name, if is_taken { old } else { new }.into());
    }

    /// Short names are given all together.
    fn take_short(&mut self, used: &HashSet<String>) {
        let (new, old) = (texts(self.wanted, "shortNames"), texts(self.had, "shortNames"));
        let taken = new.iter().filter(|name| !old.contains(name) && used.contains(*name));
        let taken: Vec<String> = taken.map(|name| in_use(name)).collect();
        let message = match taken.as_slice() {
            [] => return set_name(&mut self.accepted, "shortNames", new.into()),
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        self.conflict = Some(("ShortNamesConflict", message));
        set_name(&mut self.accepted, "shortNames", old.into());
    }
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
