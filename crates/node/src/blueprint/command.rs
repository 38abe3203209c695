//! What a container runs, and where.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Container;

use super::environment::Variables;
use super::expansion::expand;
use super::{Error, Image};

/// The Pod's command takes the place of the image's entry point, and of its arguments too; the Pod's arguments that of the
/// image's arguments alone.
pub(super) fn arguments(
    container: &Container,
    image: &Image,
    variables: &Variables,
) -> Result<Vec<String>, Error> {
    let expanded = |texts: &Option<Vec<String>>| -> Vec<String> {
        texts.iter().flatten().map(|text| expand(text, |name| variables.get(name))).collect()
    };
    let (command, args) = (expanded(&container.command), expanded(&container.args));
    let all = match (command.is_empty(), args.is_empty()) {
        (false, _) => [command, args].concat(),
        (true, false) => [image.entrypoint.clone(), args].concat(),
        (true, true) => [image.entrypoint.clone(), image.cmd.clone()].concat(),
    };
    if all.is_empty() { Err(Error::NoCommand) } else { Ok(all) }
}

pub(super) fn directory(container: &Container, image: &Image) -> PathBuf {
    let named = container.working_dir.as_deref().filter(|path| !path.is_empty());
    PathBuf::from("/").join(named.unwrap_or(&image.working_dir))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::blueprint::environment;
    use crate::blueprint::fixtures::Case;

    fn run(container: Value) -> Result<String, Error> {
        let case = Case::with(container);
        let image = Image { entrypoint: vec!["e".into()], cmd: vec!["c".into()], ..Image::default() };
        let variables = environment::variables(&case.resolved(), case.container()).unwrap();
        arguments(case.container(), &image, &variables).map(|args| args.join(" "))
    }

    #[test]
    fn command_and_arguments_override_those_of_the_image() {
        assert_eq!(run(json!({})).unwrap(), "e c");
        assert_eq!(run(json!({"args": ["a"]})).unwrap(), "e a");
        assert_eq!(run(json!({"command": ["x"]})).unwrap(), "x");
        assert_eq!(run(json!({"command": ["x"], "args": ["a"]})).unwrap(), "x a");
    }

    #[test]
    fn variables_are_expanded_in_both() {
        let env = json!([{"name": "A", "value": "1"}]);
        let text = run(json!({"command": ["$(A)"], "args": ["$$(A)", "$(PATH)"], "env": env})).unwrap();
        assert_eq!(text, "1 $(A) $(PATH)");
    }

    #[test]
    fn nothing_to_run_is_an_error_of_the_creation() {
        let case = Case::with(json!({}));
        let variables = environment::variables(&case.resolved(), case.container()).unwrap();
        let error = arguments(case.container(), &Image::default(), &variables).unwrap_err();
        assert_eq!(
            (error.reason(), error.to_string().as_str()),
            ("CreateContainerError", "no command specified")
        );
    }

    #[test]
    fn the_directory_is_the_pods_or_the_images_or_the_root() {
        let image = Image { working_dir: "/srv".into(), ..Image::default() };
        assert_eq!(
            directory(Case::with(json!({"workingDir": "/w"})).container(), &image),
            PathBuf::from("/w")
        );
        assert_eq!(directory(Case::with(json!({})).container(), &image), PathBuf::from("/srv"));
        assert_eq!(directory(Case::with(json!({})).container(), &Image::default()), PathBuf::from("/"));
    }
}
