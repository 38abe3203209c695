//! The operator under exactly the roles that are installed, taken down every path on which it asks something of the API
//! server: nothing that it asks is refused, and nothing is granted that it does not ask.

mod story;
mod usage;

use std::collections::BTreeSet;

use anyhow::Result;
use asb_types::rights::ROLES;

use story::Story;
use usage::Use;

/// Granted and not asked for by requests of the operator's own. The admission plugin OwnerReferencesPermissionEnforcement wants
/// it of whoever names owners. It is on in the Kubernetes of the tests: without these rights the story does not get to its end.
const NOT_ASKED: [(&str, &str); 2] = [
    // Of an owner that is to wait for what it owns.
    ("update", "/finalizers"),
    // Of what gets an owner after it was made.
    ("delete", "persistentvolumeclaims"),
];

fn granted() -> BTreeSet<Use> {
    let rights = ROLES.iter().flat_map(|role| role.rights);
    let uses = rights.flat_map(|right| {
        let (group, resource) = (right.group.to_owned(), right.resource.to_owned());
        right.verbs.iter().map(move |verb| ((*verb).to_owned(), group.clone(), resource.clone()))
    });
    let is_asked = |(verb, _, resource): &Use| {
        !NOT_ASKED.iter().any(|(other, end)| verb == other && resource.ends_with(end))
    };
    uses.filter(is_asked).collect()
}

#[tokio::test]
async fn the_operator_asks_for_what_it_is_granted_and_for_nothing_else() -> Result<()> {
    let story = Story::begin().await?;
    story.sandboxes_with_services_and_volumes().await?;
    story.a_pod_that_does_not_end().await?;
    story.claims_templates_and_pools().await?;
    story.short_spellings().await?;
    story.certificates_that_somebody_breaks().await?;
    story.a_key_for_the_router().await?;
    let notes = story.end().await?;
    let granted = granted();
    assert!(notes.refused.is_empty(), "refused: {:#?}", notes.refused);
    let beyond: Vec<_> = notes.asked.difference(&granted).collect();
    assert!(beyond.is_empty(), "asked for and not granted: {beyond:#?}");
    let idle: Vec<_> = granted.difference(&notes.asked).collect();
    assert!(idle.is_empty(), "granted and never asked for: {idle:#?}");
    Ok(())
}
