//! `asb crds`: the CustomResourceDefinitions of the kinds this program serves.

use anyhow::{Result, bail};
use asb_types::crd;
use serde_json::{Value, json};

use crate::output::{Format, print};

/// Prints the CustomResourceDefinitions of Sandbox, SandboxTemplate, SandboxWarmPool and SandboxClaim.
///
/// Install them on any Kubernetes:
///
///     asb crds | kubectl apply -f -
///
/// With --documents, those of templates, pools and claims in the short spellings of agents.x-k8s.io/v1alpha1, which many
/// documents print. They come on top of the others:
///
///     asb crds --documents | kubectl apply -f -
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    /// Only these, by plural name, full or short: `sandboxes`, `sandboxes.agents.x-k8s.io`
    names: Vec<String>,

    /// The kinds in short spellings instead
    #[arg(long)]
    documents: bool,

    /// yaml for applying, json for programs, name for a list
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// What there is to print.
struct Collection {
    documents: &'static [(&'static str, &'static str)],
    definitions: fn() -> Vec<Value>,
}

const CANONICAL: Collection = Collection { documents: &crd::DOCUMENTS, definitions: crd::crds };
const SHORTHAND: Collection = Collection { documents: &crd::SHORTHAND, definitions: crd::shorthand };

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let collection = if arguments.documents { SHORTHAND } else { CANONICAL };
    let chosen = collection.choose(&arguments.names)?;
    print(&match arguments.output {
        Format::Yaml => collection.yaml(&chosen),
        Format::Json => collection.json(&chosen),
        Format::Name => chosen.join("\n") + "\n",
    })
}

impl Collection {
    /// The full names asked for, in the order in which they are best applied; all of them if none was.
    fn choose(&self, names: &[String]) -> Result<Vec<&'static str>> {
        let all: Vec<_> = self.documents.iter().map(|(name, _)| *name).collect();
        let known = |name: &String| all.iter().any(|full| is_named(full, name));
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            bail!("there is no CustomResourceDefinition {unknown:?} here; there are: {}", all.join(", "));
        }
        Ok(all
            .into_iter()
            .filter(|full| names.is_empty() || names.iter().any(|name| is_named(full, name)))
            .collect())
    }

    fn yaml(&self, names: &[&str]) -> String {
        let chosen = self.documents.iter().filter(|(name, _)| names.contains(name));
        chosen.map(|(_, document)| *document).collect::<Vec<_>>().join("---\n")
    }

    fn json(&self, names: &[&str]) -> String {
        let definitions = (self.definitions)().into_iter();
        let chosen = definitions.filter(|crd| names.iter().any(|name| crd["metadata"]["name"] == *name));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": chosen.collect::<Vec<_>>()});
        format!("{list:#}\n")
    }
}

fn is_named(full: &str, name: &str) -> bool {
    full == name || full.split_once('.').is_some_and(|(plural, _)| plural == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn without_names_all_are_printed_and_sandboxes_first() {
        let all = CANONICAL.choose(&[]).expect("all");
        assert_eq!((all.len(), all[0]), (4, "sandboxes.agents.x-k8s.io"));
    }

    #[test]
    fn short_and_full_names_are_understood() {
        let chosen = CANONICAL.choose(&names(&["sandboxclaims", "sandboxes.agents.x-k8s.io"])).expect("both");
        assert_eq!(chosen, ["sandboxes.agents.x-k8s.io", "sandboxclaims.extensions.agents.x-k8s.io"]);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = CANONICAL.choose(&names(&["sandbox"])).expect_err("not a plural").to_string();
        insta::assert_snapshot!(error, @r#"there is no CustomResourceDefinition "sandbox" here; there are: sandboxes.agents.x-k8s.io, sandboxtemplates.extensions.agents.x-k8s.io, sandboxwarmpools.extensions.agents.x-k8s.io, sandboxclaims.extensions.agents.x-k8s.io"#);
    }

    #[test]
    fn short_spellings_are_in_the_group_of_sandboxes() {
        let all = SHORTHAND.choose(&[]).expect("all");
        assert!(all.iter().all(|name| name.ends_with("s.agents.x-k8s.io")), "{all:?}");
        assert_eq!(SHORTHAND.yaml(&all).matches("\n---\n").count(), 2);
    }
}
