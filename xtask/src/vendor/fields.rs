//! What the Go structs of Kubernetes' own kinds are made of: the JSON name, protobuf number and Go type of each field.
//! The definitions do not say it, and an object is not the same after it went through the structs as it was before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::definitions;
use super::go::{self, Declaration, Field, File, Shape, Type};
use crate::{terminal, workspace};

const TARGET: &str = "crates/apiserver/kubernetes/fields.json";

/// Where packages are: the start of their path, the module, and what is left out of the names that we write.
const MODULES: [(&str, &str); 4] = [
    ("k8s.io/api", "k8s.io/api/"),
    ("k8s.io/apimachinery", "k8s.io/apimachinery/pkg/apis/"),
    ("k8s.io/apimachinery", "k8s.io/apimachinery/pkg/"),
    ("k8s.io/apiextensions-apiserver", "k8s.io/apiextensions-apiserver/pkg/apis/"),
];

/// Types that read and write themselves. Their fields are nobody's business.
const OPAQUE: [&str; 11] = [
    "api/resource.Quantity",
    "apiextensions/v1.JSON",
    "apiextensions/v1.JSONSchemaPropsOrArray",
    "apiextensions/v1.JSONSchemaPropsOrBool",
    "apiextensions/v1.JSONSchemaPropsOrStringArray",
    "meta/v1.Duration",
    "meta/v1.FieldsV1",
    "meta/v1.MicroTime",
    "meta/v1.Time",
    "runtime.RawExtension",
    "util/intstr.IntOrString",
];

const SCALARS: [&str; 8] = ["bool", "byte", "float64", "int", "int32", "int64", "string", "uint32"];

/// The declarations of a package, each with the imports of its file.
type Package = BTreeMap<String, (Declaration, BTreeMap<String, String>)>;

#[derive(Default)]
struct Facts {
    packages: BTreeMap<String, Package>,
    kinds: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
    structs: BTreeMap<String, Vec<String>>,
}

pub(super) fn write() -> Result<()> {
    let mut facts = Facts::default();
    for (name, definition) in definitions::served()? {
        if let Some(kinds) = definition["x-kubernetes-group-version-kind"].as_array() {
            let structure = go_name(&name)?;
            for kind in kinds {
                facts.kind(kind, &structure);
            }
            facts.take(&structure)?;
        }
    }
    fs::write(workspace::root().join(TARGET), facts.to_json()?)
        .with_context(|| format!("writing {TARGET}"))?;
    terminal::note(&format!("wrote the fields of {} structs to {TARGET}", facts.structs.len()));
    Ok(())
}

/// `io.k8s.api.core.v1.Pod` is `core/v1.Pod`.
fn go_name(definition: &str) -> Result<String> {
    let path =
        definition.strip_prefix("io.k8s.").with_context(|| format!("{definition} is not of k8s.io"))?;
    let path = format!("k8s.io/{}", path.replace('.', "/"));
    let (package, name) = path.rsplit_once('/').context("a definition has a package")?;
    Ok(format!("{}.{name}", short(package)?))
}

fn short(package: &str) -> Result<&str> {
    let known = MODULES.iter().find_map(|(_, prefix)| package.strip_prefix(prefix));
    known.with_context(|| format!("the package {package} is in no module that we know"))
}

/// The folders that a package of this short name may be in.
fn folders(package: &str) -> Result<Vec<PathBuf>> {
    let folder = |(module, prefix): &(&str, &str)| {
        let inside = prefix.strip_prefix(module).unwrap_or_default().trim_matches('/');
        Ok(super::module(module)?.join(inside).join(package))
    };
    MODULES.iter().map(folder).collect()
}

fn package(name: &str) -> Result<Package> {
    let folder = folders(name)?.into_iter().find(|folder| folder.is_dir());
    let folder = folder.with_context(|| format!("there is no package {name}"))?;
    let mut package = Package::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry.with_context(|| format!("reading {}", folder.display()))?.path();
        if is_source(&path) {
            let File { imports, declarations } = file(&path)?;
            package.extend(declarations.into_iter().map(|(name, found)| (name, (found, imports.clone()))));
        }
    }
    Ok(package)
}

fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let generated = name.starts_with("zz_generated") || name.starts_with("generated");
    path.extension().is_some_and(|extension| extension == "go") && !name.ends_with("_test.go") && !generated
}

fn file(path: &Path) -> Result<File> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    go::parse(&text).with_context(|| format!("reading {}", path.display()))
}

impl Facts {
    fn kind(&mut self, kind: &Value, structure: &str) {
        let text = |name: &str| kind[name].as_str().unwrap_or_default();
        let version = match text("group") {
            "" => text("version").to_owned(),
            group => format!("{group}/{}", text("version")),
        };
        self.kinds.insert(format!("{version} {}", text("kind")), structure.to_owned());
    }

    /// Takes a type and all that it is made of.
    fn take(&mut self, name: &str) -> Result<()> {
        if OPAQUE.contains(&name) || self.structs.contains_key(name) || self.names.contains_key(name) {
            return Ok(());
        }
        let (in_package, own) = name.rsplit_once('.').context("a type is in a package")?;
        if !self.packages.contains_key(in_package) {
            self.packages.insert(in_package.to_owned(), package(in_package)?);
        }
        let package = self.packages.get_mut(in_package).context("a package was just read")?;
        let (declaration, imports) = package.remove(own).with_context(|| format!("there is no {name}"))?;
        let scope = Scope { package: in_package, imports: &imports };
        let seen = match &declaration.shape {
            Shape::Struct(fields) => self.structure(name, fields, &scope),
            Shape::Named(kind) => self.named(name, kind, &declaration.comment, &scope),
            Shape::Other => bail!("{name} is nothing that an object can hold"),
        };
        seen?.iter().try_for_each(|name| self.take(name))
    }

    fn structure(&mut self, name: &str, fields: &[Field], scope: &Scope) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut seen = Vec::new();
        for field in fields {
            let line = scope.line(field, &mut seen).with_context(|| format!("{name}.{}", field.name))?;
            lines.extend(line);
        }
        self.structs.insert(name.to_owned(), lines);
        Ok(seen)
    }

    /// A slice with this marker is a message of its own in protobuf.
    fn named(&mut self, name: &str, kind: &Type, comment: &str, scope: &Scope) -> Result<Vec<String>> {
        let mut seen = Vec::new();
        let written = scope.written(kind, &mut seen)?;
        let message = comment.contains("+protobuf.nullable=true");
        self.names.insert(name.to_owned(), if message { format!("message {written}") } else { written });
        Ok(seen)
    }

    /// One line for each field: small enough to embed, and a change of version is easy to read.
    fn to_json(&self) -> Result<String> {
        let texts = |map: &BTreeMap<String, String>| -> Result<String> {
            let lines = map.iter().map(|(name, value)| Ok(format!("{}: {}", quote(name)?, quote(value)?)));
            Ok(lines.collect::<Result<Vec<_>>>()?.join(",\n    "))
        };
        let mut json = format!("{{\n  \"kinds\": {{\n    {}\n  }},\n", texts(&self.kinds)?);
        write!(json, "  \"names\": {{\n    {}\n  }},\n  \"structs\": {{\n", texts(&self.names)?)?;
        let structs = self.structs.iter().map(|(name, fields)| match fields.as_slice() {
            [] => Ok(format!("    {}: []", quote(name)?)),
            fields => Ok(format!("    {}: [\n      {}\n    ]", quote(name)?, fields.join(",\n      "))),
        });
        json += &structs.collect::<Result<Vec<_>>>()?.join(",\n");
        Ok(json + "\n  }\n}\n")
    }
}

fn quote(text: &str) -> Result<String> {
    serde_json::to_string(text).context("writing text as JSON")
}

/// Where a declaration stands, and so what its names mean.
struct Scope<'a> {
    package: &'a str,
    imports: &'a BTreeMap<String, String>,
}

impl Scope<'_> {
    /// `["name", number, "type", "flags"]`; a field that is embedded has no name. Fields that JSON never sees give none.
    fn line(&self, field: &Field, seen: &mut Vec<String>) -> Result<Option<String>> {
        let json = tag(&field.tag, "json");
        let (name, options) = json.split_once(',').unwrap_or((json, ""));
        if name == "-" {
            return Ok(None);
        }
        let inline = field.embedded && name.is_empty();
        ensure!(inline || !name.is_empty(), "a field has no JSON name");
        let kind = self.written(&field.kind, seen)?;
        let number = number(field)?;
        let flags = options.split(',').filter(|flag| flag.starts_with("omit")).collect::<Vec<_>>().join(",");
        let flags = if flags.is_empty() { String::new() } else { format!(", {}", quote(&flags)?) };
        Ok(Some(format!("[{}, {number}, {}{flags}]", quote(name)?, quote(&kind)?)))
    }

    fn written(&self, kind: &Type, seen: &mut Vec<String>) -> Result<String> {
        Ok(match kind {
            Type::Pointer(inner) => format!("*{}", self.written(inner, seen)?),
            Type::Slice(inner) => format!("[]{}", self.written(inner, seen)?),
            Type::Map(key, value) => {
                format!("map[{}]{}", self.written(key, seen)?, self.written(value, seen)?)
            }
            Type::Name(None, name) if SCALARS.contains(&name.as_str()) => name.clone(),
            Type::Name(package, name) => {
                let package = match package {
                    None => self.package,
                    Some(alias) => {
                        short(self.imports.get(alias).with_context(|| format!("{alias} is not imported"))?)?
                    }
                };
                let name = format!("{package}.{name}");
                seen.push(name.clone());
                name
            }
        })
    }
}

/// The number in protobuf, or 0. How the value is written there is not taken from the tag, which is wrong for some
/// fields: the code that Kubernetes generates follows the Go type.
fn number(field: &Field) -> Result<u32> {
    let number = tag(&field.tag, "protobuf").split(',').nth(1).unwrap_or("0");
    number.parse().with_context(|| format!("{number:?} is not a number"))
}

fn tag<'a>(tags: &'a str, key: &str) -> &'a str {
    let start = tags.find(&format!("{key}:\"")).map(|at| at + key.len() + 2);
    let value = start.map(|start| &tags[start..]).unwrap_or_default();
    value.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(source: &str) -> String {
        let file = go::parse(&format!("type T struct {{\n{source}\n}}")).unwrap();
        let Shape::Struct(fields) = &file.declarations["T"].shape else { panic!("no struct") };
        let scope = Scope { package: "core/v1", imports: &file.imports };
        scope.line(&fields[0], &mut vec![]).unwrap().unwrap_or_default()
    }

    #[test]
    fn a_field_is_a_line_with_its_names_number_and_type() {
        let field = r#"A []*B `json:"a,omitempty" protobuf:"bytes,3,rep,name=a"`"#;
        assert_eq!(line(field), r#"["a", 3, "[]*core/v1.B", "omitempty"]"#);
        assert_eq!(line(r#"A `json:",inline"`"#), r#"["", 0, "core/v1.A"]"#);
        assert_eq!(line(r#"A B `json:"-"`"#), "");
    }

    #[test]
    fn a_definition_is_of_the_package_in_its_name() {
        assert_eq!(go_name("io.k8s.api.core.v1.Pod").unwrap(), "core/v1.Pod");
        assert_eq!(go_name("io.k8s.apimachinery.pkg.apis.meta.v1.Status").unwrap(), "meta/v1.Status");
    }
}
