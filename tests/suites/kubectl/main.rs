//! kubectl as a person uses it, against whichever Kubernetes is there: what is typed is in `scripts/`, what is seen in
//! `snapshots/`. Those were recorded with a real kube-apiserver, but for two that say why not; `asb up` must show the same.

mod masking;
mod programs;
mod session;

use session::Session;

/// Types a script into every kubectl at hand; all must show the same.
async fn transcript(script: &str) -> String {
    let programs = programs::all();
    let mut shown = Vec::new();
    for program in &programs {
        shown.push(Session::open(program).await.play(script).await);
    }
    for (program, other) in programs.iter().zip(&shown).skip(1) {
        assert_eq!(&shown[0], other, "{} shows something else", program.display());
    }
    shown.swap_remove(0)
}

/// The same for what only the kubectl of our version shows this way.
async fn pinned_transcript(script: &str) -> String {
    Session::open(&programs::pinned()).await.play(script).await
}

#[tokio::test]
async fn sandboxes_and_pools_are_applied_read_and_scaled() {
    insta::assert_snapshot!("sandboxes", transcript("sandboxes").await);
}

/// A real kube-apiserver needs the webhook for this, which the suite does not bring along.
#[tokio::test]
async fn sandboxes_of_the_older_version_are_the_same_sandboxes() {
    insta::assert_snapshot!("older", transcript("older").await);
}

/// What `asb up` serves is its own affair.
#[tokio::test]
async fn what_is_served_can_be_found_out() {
    insta::assert_snapshot!("discovery", pinned_transcript("discovery").await);
}

#[tokio::test]
async fn objects_are_shown_in_every_form() {
    insta::assert_snapshot!("forms", transcript("forms").await);
}

#[tokio::test]
async fn objects_are_changed_in_every_way() {
    insta::assert_snapshot!("changes", transcript("changes").await);
}

#[tokio::test]
async fn managers_of_fields_meet_on_the_server() {
    insta::assert_snapshot!("server_side", transcript("server_side").await);
}

#[tokio::test]
async fn what_a_definition_does_not_know_is_refused() {
    insta::assert_snapshot!("validation", transcript("validation").await);
}

#[tokio::test]
async fn the_usual_objects_are_created() {
    insta::assert_snapshot!("creation", transcript("creation").await);
}

#[tokio::test]
async fn permissions_are_granted_and_asked_for() {
    insta::assert_snapshot!("permissions", transcript("permissions").await);
}

#[tokio::test]
async fn waiting_ends_when_the_time_has_come() {
    insta::assert_snapshot!("waiting", transcript("waiting").await);
}

#[tokio::test]
async fn what_happens_is_watched_as_it_happens() {
    insta::assert_snapshot!("watching", transcript("watching").await);
}

#[tokio::test]
async fn definitions_are_served_as_soon_as_they_are_established() {
    insta::assert_snapshot!("definitions", transcript("definitions").await);
}

#[tokio::test]
async fn objects_are_described_with_what_befell_them() {
    insta::assert_snapshot!("description", pinned_transcript("description").await);
}

#[tokio::test]
async fn kinds_are_explained() {
    insta::assert_snapshot!("explanation", pinned_transcript("explanation").await);
}

#[tokio::test]
async fn deleting_takes_along_what_belongs_to_it() {
    insta::assert_snapshot!("deletion", transcript("deletion").await);
}
