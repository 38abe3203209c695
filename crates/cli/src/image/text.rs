//! What `asb image` says.

use asb_node::images::digest::Digest;
use asb_node::images::reference::Reference;
use asb_node::images::store::{Freed, Summary};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use super::work::Step;
use crate::age;
use crate::amounts::bytes as size;
use crate::output::table::{Cell, table};

/// So many digits of an id tell images apart.
const SHORT: usize = 12;

#[derive(Deserialize)]
pub(super) struct Pulled {
    reference: Reference,
    id: Digest,
    digest: Digest,
}

#[derive(Deserialize)]
pub(super) struct Loaded {
    id: Digest,
    references: Vec<Reference>,
}

/// One row for each name; an image without one has a row too.
pub(super) fn table_of(images: &[Summary], now: Timestamp, colours: bool) -> String {
    let rows: Vec<Vec<Cell>> = images.iter().flat_map(|image| rows(image, now)).collect();
    table(&["IMAGE", "ID", "SIZE", "USED BY", "CREATED"], &rows, colours)
}

fn rows(image: &Summary, now: Timestamp) -> Vec<Vec<Cell>> {
    let created = image.created.as_deref().and_then(|text| text.parse().ok()).map(Time);
    let row = |name: String| {
        vec![
            Cell::from(name),
            short(&image.id).into(),
            size(image.bytes).into(),
            image.owners.len().to_string().into(),
            age::since(created.as_ref(), now).into(),
        ]
    };
    if image.references.is_empty() {
        return vec![row(String::new())];
    }
    image.references.iter().map(|reference| row(reference.to_string())).collect()
}

pub(super) fn progress(doing: &str, step: Step) -> String {
    if step.layers == 0 {
        return format!("{doing} …");
    }
    let layers = if step.layers == 1 { "1 layer".to_owned() } else { format!("{} layers", step.layers) };
    format!("{doing}: {layers}, {} of {} …", size(step.bytes), size(step.total))
}

pub(super) fn pulled(pulled: &Pulled) -> String {
    format!("{} ({})\n", pulled.reference.at(pulled.digest.clone()), short(&pulled.id))
}

pub(super) fn loaded(images: &[Loaded]) -> String {
    images.iter().flat_map(|image| [called(&image.references, &image.id), "\n".to_owned()]).collect()
}

fn called(references: &[Reference], id: &Digest) -> String {
    match references {
        [] => id.to_string(),
        some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

pub(super) fn removed(name: &str, freed: &Freed) -> String {
    if freed.images.is_empty() {
        return format!("{name} has lost its name; the image stays as long as it has others or is in use\n");
    }
    format!("{name} removed, {} freed\n", size(freed.bytes))
}

pub(super) fn pruned(freed: &Freed) -> String {
    let count = freed.images.len();
    format!("{count} {} removed, {} freed\n", if count == 1 { "image" } else { "images" }, size(freed.bytes))
}

fn short(id: &Digest) -> String {
    id.hex().chars().take(SHORT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> Digest {
        format!("sha256:{}", digit.to_string().repeat(64)).parse().unwrap()
    }

    fn summary(digit: char, names: &[&str], owners: &[&str]) -> Summary {
        Summary {
            id: id(digit),
            references: names.iter().map(|name| name.parse().unwrap()).collect(),
            digests: Vec::new(),
            bytes: 5_300_000,
            own_bytes: 0,
            owners: owners.iter().map(ToString::to_string).collect(),
            created: Some("2029-12-30T00:00:00Z".to_owned()),
        }
    }

    #[test]
    fn images_are_listed_by_each_of_their_names() {
        let images =
            [summary('a', &["busybox:1", "team.example/busybox:2"], &["pod-1"]), summary('b', &[], &[])];
        insta::assert_snapshot!(table_of(&images, "2030-01-01T00:00:00Z".parse().unwrap(), false));
    }

    #[test]
    fn progress_and_outcomes_are_said_in_a_line() {
        let freed = |images| Freed { images, bytes: 2048, ..Freed::default() };
        let lines = [
            progress("pulling x", Step::default()) + "\n",
            progress("pulling x", Step { layers: 2, bytes: 1024, total: 4096 }) + "\n",
            removed("x", &freed(vec![id('a')])),
            removed("x", &Freed::default()),
            pruned(&freed(vec![id('a')])),
            pruned(&Freed::default()),
        ];
        insta::assert_snapshot!(lines.concat());
    }
}
