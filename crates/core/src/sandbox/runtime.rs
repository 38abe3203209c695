//! sandboxd in a Sandbox's Pod: one container runs its command under it. It holds the public keys of whoever may let
//! people in, and the Sandbox's UID, so that no Secret and no write is needed for each Sandbox.

use asb_types::runtime::{Runtime, RuntimeAccess};
use serde_json::{Value, json};

/// The volume that sandboxd comes in, and where it is mounted.
const VOLUME: &str = "agent-sandbox-runtime";
const FOLDER: &str = "/.agent-sandbox";

/// Where our image has the program that carries sandboxd: there is no shell in it, and no PATH.
const PROGRAM: &str = "/asb";

/// On which port sandboxd always listens.
const PORT: u16 = 8888;

/// Where the program comes from, and whose tokens it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub image: String,
    pub delivery: Delivery,
    /// Ed25519, as base64.
    pub public_keys: Vec<String>,
}

/// How the program gets into a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The image is a volume that has `sandboxd` at its root. Kubernetes has these from 1.33 on, and by default from 1.35 on.
    ImageVolume,
    /// An init container of the image, which is ours, copies it into an empty volume.
    #[default]
    InitContainer,
}

/// Why a Pod cannot have it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error(
        "spec.runtime asks for sandboxd, and this operator has none to give: start it with --runtime-image, or leave \
         spec.runtime out"
    )]
    NoSource,
    #[error(
        "spec.runtime.access is Token, and this operator knows no public key: start it with --runtime-public-key-file"
    )]
    NoKey,
    #[error("spec.runtime.container: there is no container {0:?} in podTemplate.spec.containers")]
    NoContainer(String),
    #[error(
        "spec.runtime: container {0:?} has args and no command, and what the image would run is not known; write its \
         command as well"
    )]
    NoCommand(String),
    #[error("spec.runtime: the volume name {VOLUME:?} and the path {FOLDER} are taken in podTemplate.spec")]
    Taken,
}

/// Puts sandboxd into the spec of a Pod.
pub(super) fn fit(
    spec: &mut Value,
    runtime: &Runtime,
    source: Option<&Source>,
    uid: &str,
) -> Result<(), Unfit> {
    let source = source.ok_or(Unfit::NoSource)?;
    if runtime.access == RuntimeAccess::Token && source.public_keys.is_empty() {
        return Err(Unfit::NoKey);
    }
    if entries(spec, "volumes").iter().any(|volume| volume["name"] == VOLUME) {
        return Err(Unfit::Taken);
    }
    let container = chosen(spec, runtime)?;
    if entries(container, "volumeMounts").iter().any(|mount| mount["mountPath"] == FOLDER) {
        return Err(Unfit::Taken);
    }
    run_under_it(container, serve(runtime, source, uid))?;
    push(container, "volumeMounts", json!({"name": VOLUME, "mountPath": FOLDER, "readOnly": true}));
    deliver(spec, source);
    Ok(())
}

fn chosen<'a>(spec: &'a mut Value, runtime: &Runtime) -> Result<&'a mut Value, Unfit> {
    let wanted = runtime.container.as_deref();
    let mut containers = spec["containers"].as_array_mut().into_iter().flatten();
    let found = containers.find(|container| wanted.is_none_or(|name| container["name"] == name));
    found.ok_or_else(|| Unfit::NoContainer(wanted.unwrap_or_default().to_owned()))
}

/// What the container would run is sandboxd's to start. Without a command of its own there is only sandboxd: what the image
/// would run is not known here.
fn run_under_it(container: &mut Value, mut command: Vec<String>) -> Result<(), Unfit> {
    let words = |field: &Value| -> Vec<String> {
        let words = field.as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).collect()
    };
    let (own, arguments) = (words(&container["command"]), words(&container["args"]));
    if own.is_empty() && !arguments.is_empty() {
        return Err(Unfit::NoCommand(container["name"].as_str().unwrap_or_default().to_owned()));
    }
    if !own.is_empty() {
        command.push("--".to_owned());
        command.extend(own.into_iter().chain(arguments));
    }
    container["command"] = command.into();
    if let Some(fields) = container.as_object_mut() {
        fields.remove("args");
    }
    let is_watched = ["startupProbe", "readinessProbe"].iter().any(|probe| container[probe].is_object());
    if !is_watched {
        container["startupProbe"] = json!({
            "httpGet": {"path": "/v1/health", "port": PORT}, "periodSeconds": 1, "failureThreshold": 60,
        });
    }
    Ok(())
}

fn serve(runtime: &Runtime, source: &Source, uid: &str) -> Vec<String> {
    let mut command = vec![format!("{FOLDER}/sandboxd"), "serve".to_owned()];
    let mut flag = |name: &str, value: &str| command.push(format!("--{name}={value}"));
    match runtime.access {
        RuntimeAccess::Open => flag("access", "open"),
        RuntimeAccess::Token => {
            flag("access", "token");
            flag("sandbox-uid", uid);
            source.public_keys.iter().for_each(|key| flag("public-key", key));
        }
    }
    if let Some(directory) = &runtime.directory {
        flag("root-dir", directory);
    }
    command
}

fn deliver(spec: &mut Value, source: &Source) {
    match source.delivery {
        Delivery::ImageVolume => {
            push(spec, "volumes", json!({"name": VOLUME, "image": {"reference": source.image}}));
        }
        Delivery::InitContainer => {
            push(spec, "volumes", json!({"name": VOLUME, "emptyDir": {"sizeLimit": "16Mi"}}));
            let copying = json!({
                "name": VOLUME,
                "image": source.image,
                "command": [PROGRAM, "sandboxd", "install", FOLDER],
                "volumeMounts": [{"name": VOLUME, "mountPath": FOLDER}],
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
            });
            // First, so that what the user's own init containers do cannot keep it from being there.
            let mut all = vec![copying];
            all.extend(entries(spec, "initContainers").iter().cloned());
            spec["initContainers"] = all.into();
        }
    }
}

fn entries<'a>(holder: &'a Value, field: &str) -> &'a [Value] {
    holder[field].as_array().map_or(&[], Vec::as_slice)
}

fn push(holder: &mut Value, field: &str, entry: Value) {
    match holder[field].as_array_mut() {
        Some(entries) => entries.push(entry),
        None => holder[field] = json!([entry]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(delivery: Delivery) -> Source {
        Source { image: "registry.test/asb:1".to_owned(), delivery, public_keys: vec!["a2V5".to_owned()] }
    }

    fn open() -> Runtime {
        Runtime { access: RuntimeAccess::Open, ..Runtime::default() }
    }

    fn fitted(mut spec: Value, runtime: &Runtime) -> Result<Value, Unfit> {
        fit(&mut spec, runtime, Some(&source(Delivery::ImageVolume)), "uid-1").map(|()| spec)
    }

    #[test]
    fn the_command_of_the_first_container_runs_under_sandboxd() {
        let spec = json!({"containers": [
            {"name": "main", "image": "python", "command": ["python3"], "args": ["-m", "http.server"]},
            {"name": "other", "image": "redis"},
        ]});
        insta::assert_json_snapshot!(fitted(spec, &Runtime::default()).expect("fits"), @r#"
        {
          "containers": [
            {
              "command": [
                "/.agent-sandbox/sandboxd",
                "serve",
                "--access=token",
                "--sandbox-uid=uid-1",
                "--public-key=a2V5",
                "--",
                "python3",
                "-m",
                "http.server"
              ],
              "image": "python",
              "name": "main",
              "startupProbe": {
                "failureThreshold": 60,
                "httpGet": {
                  "path": "/v1/health",
                  "port": 8888
                },
                "periodSeconds": 1
              },
              "volumeMounts": [
                {
                  "mountPath": "/.agent-sandbox",
                  "name": "agent-sandbox-runtime",
                  "readOnly": true
                }
              ]
            },
            {
              "image": "redis",
              "name": "other"
            }
          ],
          "volumes": [
            {
              "image": {
                "reference": "registry.test/asb:1"
              },
              "name": "agent-sandbox-runtime"
            }
          ]
        }
        "#);
    }

    #[test]
    fn an_image_that_is_given_no_command_runs_sandboxd_alone() {
        let spec = json!({"containers": [{"name": "main", "image": "busybox"}]});
        let runtime = Runtime { directory: Some("/work".to_owned()), ..open() };
        let command = &fitted(spec, &runtime).expect("fits")["containers"][0]["command"];
        assert_eq!(
            *command,
            json!(["/.agent-sandbox/sandboxd", "serve", "--access=open", "--root-dir=/work"])
        );
    }

    #[test]
    fn a_container_can_be_named() {
        let spec = json!({"containers": [{"name": "a"}, {"name": "b"}]});
        let named = |name: &str| Runtime { container: Some(name.to_owned()), ..open() };
        let fits = fitted(spec.clone(), &named("b")).expect("fits");
        assert!(fits["containers"][0].get("command").is_none());
        assert!(fits["containers"][1]["command"].is_array());
        assert_eq!(fitted(spec, &named("c")), Err(Unfit::NoContainer("c".to_owned())));
    }

    #[test]
    fn probes_of_the_user_stay() {
        let probe = json!({"exec": {"command": ["true"]}});
        let spec = json!({"containers": [{"name": "main", "readinessProbe": probe}]});
        let fits = fitted(spec, &open()).expect("fits");
        assert!(fits["containers"][0].get("startupProbe").is_none());
        assert_eq!(fits["containers"][0]["readinessProbe"], probe);
    }

    #[test]
    fn where_images_are_no_volumes_an_init_container_brings_it_before_all_others() {
        let mut spec = json!({"containers": [{"name": "main"}], "initContainers": [{"name": "own"}]});
        fit(&mut spec, &open(), Some(&source(Delivery::InitContainer)), "uid-1").expect("fits");
        assert_eq!(spec["initContainers"][0]["command"], json!(["/asb", "sandboxd", "install", FOLDER]));
        assert_eq!(spec["initContainers"][1]["name"], "own");
        assert!(spec["volumes"][0]["emptyDir"].is_object());
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let one = |container: Value| json!({"containers": [container]});
        let arguments = one(json!({"name": "main", "args": ["x"]}));
        assert_eq!(fitted(arguments, &open()), Err(Unfit::NoCommand("main".to_owned())));
        let mounted = one(json!({"name": "main", "volumeMounts": [{"name": "v", "mountPath": FOLDER}]}));
        assert_eq!(fitted(mounted, &open()), Err(Unfit::Taken));
        let mut named = one(json!({"name": "main"}));
        named["volumes"] = json!([{"name": VOLUME, "emptyDir": {}}]);
        assert_eq!(fitted(named, &open()), Err(Unfit::Taken));
        let mut plain = one(json!({"name": "main"}));
        assert_eq!(fit(&mut plain, &open(), None, "uid-1"), Err(Unfit::NoSource));
        let keyless = Source { public_keys: Vec::new(), ..source(Delivery::ImageVolume) };
        assert_eq!(fit(&mut plain, &Runtime::default(), Some(&keyless), "uid-1"), Err(Unfit::NoKey));
        assert_eq!(fit(&mut plain, &open(), Some(&keyless), "uid-1"), Ok(()));
    }
}
