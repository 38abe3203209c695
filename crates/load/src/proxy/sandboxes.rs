//! Sandboxes to send requests into: real ones, and one that is only said to be somewhere.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use asb_client::{Client, Deletion, Destination, Ends, NewSandbox, Wanted};
use asb_router::token::{PrivateKey, Scope};
use asb_types::runtime::{Runtime, RuntimeAccess};
use asb_types::v1beta1::Sandbox;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::sample::{Sample, Tally};

/// Stays until it is told to end, and then ends at once.
const HOLD: &str = "trap 'exit 0' TERM INT; while :; do sleep 2147483647 & wait; done";
const FOLDER: &str = "/tmp";
const AT_A_TIME: usize = 16;
/// Longer than any benchmark.
const LIFETIME: i64 = 24 * 60 * 60;

pub(crate) struct Home {
    client: Client,
}

impl Home {
    pub(crate) async fn at(kubeconfig: PathBuf) -> Result<Self> {
        Ok(Self { client: Client::connect(&Destination::Local(kubeconfig)).await? })
    }

    pub(crate) async fn pretend(&self, name: &str, address: &str) -> Result<Value> {
        let made = self.create(name, "registry.example/nothing:1", None).await?;
        let status = json!({"status": {"podIPs": [address]}});
        let sandboxes = self.client.api::<Sandbox>(self.client.namespace());
        let patched = sandboxes.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await?;
        ensure!(patched.status.is_some_and(|status| !status.pod_ips.is_empty()), "it has no address");
        let key = PrivateKey::read(&PrivateKey::generate())?;
        let scope = Scope {
            namespace: self.client.namespace().to_owned(),
            name: name.to_owned(),
            exp: Timestamp::now().as_second() + LIFETIME,
            uid: made.uid(),
            port: None,
        };
        Ok(json!({"publicKey": key.public().text(), "token": scope.signed_with_key(&key)}))
    }

    pub(crate) async fn make(
        &self,
        names: &[String],
        image: &str,
        access: Option<RuntimeAccess>,
    ) -> Result<Value> {
        let made = stream::iter(names).map(|name| self.start(name, image, access)).buffered(AT_A_TIME);
        let places: Vec<Option<String>> = made.try_collect().await?;
        Ok(json!({ "addresses": places }))
    }

    pub(crate) async fn exec(&self, name: &str, times: usize) -> Result<Value> {
        let sandbox = self.client.sandbox(self.client.namespace(), name).await?;
        self.command(&sandbox).await?;
        let (begin, mut tally) = (Instant::now(), Tally::default());
        for _ in 0..times {
            let start = Instant::now();
            self.command(&sandbox).await?;
            tally.times.push(start.elapsed());
            tally.requests += 1;
        }
        tally.last = Some(Instant::now());
        let sample: Sample = tally.sample(begin);
        Ok(serde_json::to_value(sample)?)
    }

    /// Mebibytes a second, in and out.
    pub(crate) async fn copy(&self, name: &str, mebibytes: u32) -> Result<Value> {
        let folder = tempfile::tempdir().context("making a folder")?;
        let (here, back) = (folder.path().join("file"), folder.path().join("back"));
        fs::write(&here, vec![0; usize::try_from(mebibytes)? << 20])?;
        let sandbox = self.client.sandbox(self.client.namespace(), name).await?;
        let there = format!("{FOLDER}/copied");
        let rate = |took: Duration| f64::from(mebibytes) / took.as_secs_f64();
        let start = Instant::now();
        self.client.copy_in(&sandbox, &here, &there, None).await?;
        let into = rate(start.elapsed());
        let start = Instant::now();
        self.client.copy_out(&sandbox, &there, &back, None).await?;
        let out = rate(start.elapsed());
        ensure!(fs::metadata(&back)?.len() == fs::metadata(&here)?.len(), "the file came back changed");
        Ok(json!({"into": into, "out": out}))
    }

    pub(crate) async fn remove(&self, names: &[String]) -> Result<Value> {
        let gone = stream::iter(names).map(|name| self.end(name)).buffered(AT_A_TIME);
        gone.try_collect::<Vec<()>>().await?;
        Ok(json!({}))
    }

    /// Says where it is.
    async fn start(&self, name: &str, image: &str, access: Option<RuntimeAccess>) -> Result<Option<String>> {
        let runtime =
            access.map(|access| Runtime { access, directory: Some(FOLDER.to_owned()), ..Runtime::default() });
        let made = self.create(name, image, runtime).await?;
        self.client.wait_until_ready(&made, |_| {}).await?;
        let ready = self.client.sandbox(self.client.namespace(), name).await?;
        Ok(ready.status.and_then(|status| status.pod_ips.into_iter().next()))
    }

    async fn create(&self, name: &str, image: &str, runtime: Option<Runtime>) -> Result<Sandbox> {
        let command = ["/bin/sh", "-c", HOLD].map(str::to_owned).to_vec();
        let wanted = NewSandbox {
            name: Some(name.to_owned()),
            image: image.to_owned(),
            command,
            ..NewSandbox::default()
        };
        let mut sandbox = wanted.sandbox();
        sandbox.spec.runtime = runtime;
        let sandboxes = self.client.api::<Sandbox>(self.client.namespace());
        sandboxes.create(&PostParams::default(), &sandbox).await.context("making a Sandbox")
    }

    async fn end(&self, name: &str) -> Result<()> {
        let sandbox = self.client.sandbox(self.client.namespace(), name).await?;
        Ok(self.client.delete_sandbox(&sandbox, Deletion::default()).await?)
    }

    async fn command(&self, sandbox: &Sandbox) -> Result<()> {
        let process = self.client.exec(sandbox, &["echo", "hi"], &Wanted::default()).await?;
        let mut said = Vec::new();
        let ends = Ends { input: None::<tokio::io::Empty>, output: &mut said, errors: tokio::io::sink() };
        let code = process.pump(ends).await?;
        ensure!((code, said.as_slice()) == (0, b"hi\n"), "the command went wrong");
        Ok(())
    }
}
