//! In which form a client wants its answer.

use crate::status::Status;

/// How an object is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    Json,
    Yaml,
}

/// What of it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Whole,
    /// In a version of `meta.k8s.io`
    Table(&'static str),
    /// Only the metadata, of an object or of each object of a list, in a version of `meta.k8s.io`
    Partial(Extent, &'static str),
    /// Discovery, all groups at once
    Aggregated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Object,
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Representation {
    pub syntax: Syntax,
    pub form: Form,
}

/// Which of the special forms make sense for what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// None
    Whole,
    /// Tables and metadata
    Objects,
    /// Everything at once
    Discovery,
}

/// The first form that the client names and the server knows; JSON where it names none.
pub fn negotiate(accept: Option<&str>, choice: Choice) -> Result<Representation, Status> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Ok(Representation { syntax: Syntax::Json, form: Form::Whole });
    };
    wishes(accept).iter().find_map(|wish| wish.representation(choice)).ok_or_else(not_acceptable)
}

fn wishes(accept: &str) -> Vec<Wish<'_>> {
    let mut wishes: Vec<Wish> = accept.split(',').filter_map(Wish::parse).collect();
    wishes.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    wishes
}

/// In which form OpenAPI v2 is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swagger {
    Json,
    Protobuf,
}

/// The same for OpenAPI v2, if it is wanted in a form that there is. Clients still ask by the older name, which is no
/// proper media type; they are answered by the newer.
pub fn negotiate_swagger(accept: Option<&str>) -> Option<Swagger> {
    let accept = accept.filter(|accept| !accept.trim().is_empty()).unwrap_or("*/*");
    wishes(accept).iter().find_map(|wish| match wish.media {
        "application/json" | "application/*" | "*/*" => Some(Swagger::Json),
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
        | "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" => Some(Swagger::Protobuf),
        _ => None,
    })
}

fn not_acceptable() -> Status {
    let message = "only the following media types are accepted: application/json, application/yaml";
    Status::new(406, "NotAcceptable", message)
}

struct Wish<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl<'a> Wish<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().filter(|media| !media.is_empty())?;
        let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let quality =
            parameters.iter().find(|(name, _)| *name == "q").and_then(|(_, value)| value.parse().ok());
        Some(Self { media, parameters, quality: quality.unwrap_or(1.0) })
    }

    fn parameter(&self, name: &str) -> &'a str {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value).unwrap_or_default()
    }

    fn representation(&self, choice: Choice) -> Option<Representation> {
        let syntax = match self.media {
            "application/json" | "application/*" | "*/*" => Syntax::Json,
            "application/yaml" => Syntax::Yaml,
            _ => return None,
        };
        let version = match self.parameter("v") {
            "v1" => "v1",
            "v1beta1" => "v1beta1",
            _ => "",
        };
        let form = match (self.parameter("as"), self.parameter("g"), self.parameter("v"), choice) {
            ("", ..) => Form::Whole,
            ("Table", "meta.k8s.io", "v1" | "v1beta1", Choice::Objects) => Form::Table(version),
            ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1", Choice::Objects) => {
                Form::Partial(Extent::Object, version)
            }
            ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1", Choice::Objects) => {
                Form::Partial(Extent::List, version)
            }
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2", Choice::Discovery) => Form::Aggregated,
            _ => return None,
        };
        Some(Representation { syntax, form })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(accept: &str, choice: Choice) -> Option<Form> {
        negotiate(Some(accept), choice).ok().map(|found| found.form)
    }

    #[test]
    fn the_first_form_that_is_known_is_taken() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(form(kubectl, Choice::Objects), Some(Form::Table("v1")));
        assert_eq!(form(kubectl, Choice::Whole), Some(Form::Whole));
        assert_eq!(
            form("application/vnd.kubernetes.protobuf,application/json", Choice::Whole),
            Some(Form::Whole)
        );
        assert_eq!(form("*/*", Choice::Whole), Some(Form::Whole));
    }

    #[test]
    fn what_is_not_known_is_not_acceptable() {
        for accept in [
            "text/html",
            "application/vnd.kubernetes.protobuf",
            "application/json;as=Table;g=meta.k8s.io;v=v9",
        ] {
            assert_eq!(negotiate(Some(accept), Choice::Objects).unwrap_err().code, 406, "{accept}");
        }
    }

    #[test]
    fn nothing_asked_for_is_json() {
        assert_eq!(negotiate(None, Choice::Whole).unwrap().syntax, Syntax::Json);
        assert_eq!(negotiate(Some("application/yaml"), Choice::Whole).unwrap().syntax, Syntax::Yaml);
    }

    #[test]
    fn swagger_is_given_in_protobuf_by_both_of_its_names() {
        for separator in ['@', '.'] {
            let media = format!("application/com.github.proto-openapi.spec.v2{separator}v1.0+protobuf");
            assert_eq!(negotiate_swagger(Some(&media)), Some(Swagger::Protobuf));
        }
        assert_eq!(negotiate_swagger(None), Some(Swagger::Json));
        assert_eq!(negotiate_swagger(Some("application/yaml")), None);
    }
}
