//! Plays a case against a server and returns what was said. Removes afterwards what the case made.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use asb_tests::{Cluster, Namespace, wait};
use futures::FutureExt;
use futures::future::BoxFuture;
use hyper::http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::case::{Case, Step, Until};
use crate::exchange;
use crate::selection;
use crate::stream::Events;
use crate::variables::{Variables, unique_name};

/// Controllers take their time, namespaces most of all.
const DEADLINE: Duration = Duration::from_mins(1);

/// One run of a case, or of the steps that a file begins with.
pub(crate) struct Stage {
    client: Client,
    namespace: Option<Namespace>,
    pub variables: Variables,
    /// Paths of objects outside the namespace, which nothing else removes.
    made: Mutex<Vec<String>>,
}

impl Stage {
    /// For the steps a file begins with.
    pub(crate) fn of_file(cluster: &Cluster) -> Self {
        let mut variables = Variables::default();
        variables.set("file", json!(unique_name()));
        Self { client: cluster.client(), namespace: None, variables, made: Mutex::default() }
    }

    /// For a case in a file whose beginning set these variables.
    pub(crate) async fn of_case(cluster: &Cluster, case: &Case, mut variables: Variables) -> Result<Self> {
        variables.set("unique", json!(unique_name()));
        variables.set("mebibyte", json!("x".repeat(1 << 20)));
        let wanted = case.source().contains("$ns");
        let namespace = if wanted { Some(cluster.namespace().await?) } else { None };
        if let Some(namespace) = &namespace {
            variables.set("ns", json!(namespace.name()));
        }
        Ok(Self { client: cluster.client(), namespace, variables, made: Mutex::default() })
    }

    /// Steps that must succeed, or end as they await, and that nobody compares.
    pub(crate) async fn prepare(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            let answer = self.play(step).await?;
            let status = answer["status"].as_u64().unwrap_or_default();
            let awaited = step.until.as_ref().is_some_and(|until| until.status.is_some());
            ensure!(awaited || (200..300).contains(&status), "{} ended with {answer}", step.request);
        }
        Ok(())
    }

    pub(crate) async fn perform(&mut self, steps: &[Step]) -> Result<Vec<Value>> {
        let mut answers = Vec::new();
        for step in steps {
            answers.push(self.play(step).await?);
        }
        Ok(answers)
    }

    /// Removes what was made, newest first. What cannot be removed stays: it has a name of its own.
    pub(crate) async fn leave(self) {
        for path in self.made.into_inner().into_iter().rev() {
            let request =
                Request::delete(path).body(Body::empty()).expect("the server took this path before");
            drop(self.client.send(request).await);
        }
        if let Some(namespace) = self.namespace {
            namespace.finish().await;
        }
    }

    fn play<'a>(&'a mut self, step: &'a Step) -> BoxFuture<'a, Result<Value>> {
        async {
            let mut answer = match (&step.until, &step.watch) {
                (Some(until), None) => self.await_answer(step, until).await?,
                (None, Some(_)) => self.watch(step).await?,
                (None, None) => self.exchange(step).await?,
                (Some(_), Some(_)) => bail!("{} both waits and watches", step.request),
            };
            self.capture(step, &answer)?;
            selection::apply(&step.selection, &self.variables, &mut answer);
            answer["request"] = json!(step.request);
            Ok(answer)
        }
        .boxed()
    }

    async fn exchange(&self, step: &Step) -> Result<Value> {
        let asked =
            async { exchange::read(exchange::send(&self.client, step, &self.variables).await?).await };
        let answer =
            timeout(DEADLINE, asked).await.with_context(|| format!("{} never ends", step.request))??;
        self.remember(step, &answer).await;
        Ok(answer)
    }

    async fn await_answer(&self, step: &Step, until: &Until) -> Result<Value> {
        let (last, wanted) = (Mutex::new(Value::Null), self.variables.fill_value(&until.is));
        let ask = || async {
            match self.exchange(step).await {
                Ok(answer) => {
                    last.lock().await.clone_from(&answer);
                    is_as_wanted(until, &wanted, &answer).then_some(Ok(answer))
                }
                Err(error) => Some(Err(error)),
            }
        };
        match wait::until(DEADLINE, &step.request, ask).await {
            Ok(answer) => answer,
            Err(error) => bail!("{error}; the last answer was {}", last.into_inner()),
        }
    }

    async fn watch(&mut self, step: &Step) -> Result<Value> {
        let watch = step.watch.as_ref().context("a step that watches")?;
        let response = exchange::send(&self.client, step, &self.variables).await?;
        if !response.status().is_success() {
            return exchange::read(response).await;
        }
        let mut answer = exchange::head(&response);
        let meanwhile = self.perform(&watch.meanwhile).await?;
        let (events, ended) = Events::of(response).collect(watch).await?;
        answer.insert("while".to_owned(), json!(meanwhile));
        answer.insert("events".to_owned(), json!(events));
        answer.insert("ended".to_owned(), json!(ended));
        Ok(Value::Object(answer))
    }

    fn capture(&mut self, step: &Step, answer: &Value) -> Result<()> {
        for (name, pointer) in &step.capture {
            let value = answer["body"].pointer(pointer).or_else(|| answer.pointer(pointer));
            let value = value
                .with_context(|| format!("{}: nothing at {pointer} to capture in {answer}", step.request))?;
            self.variables.set(name, value.clone());
        }
        Ok(())
    }

    async fn remember(&self, step: &Step, answer: &Value) {
        let (method, path) = step.request.split_once(' ').unwrap_or_default();
        let created = answer["status"] == 201 && !path.contains("dryRun");
        let path = self.variables.fill(path.split('?').next().unwrap_or_default());
        if !created || self.variables.get("ns").is_some_and(|ns| path.contains(ns)) {
            return;
        }
        let name = answer["body"]["metadata"]["name"].as_str();
        match (method, name) {
            ("POST", Some(name)) => self.made.lock().await.push(format!("{path}/{name}")),
            ("PUT" | "PATCH", Some(_)) => self.made.lock().await.push(path),
            _ => {}
        }
    }
}

fn is_as_wanted(until: &Until, wanted: &Value, answer: &Value) -> bool {
    let status = until.status.is_none_or(|status| answer["status"] == status);
    let found = |at: &String| answer["body"].pointer(at).unwrap_or(&Value::Null) == wanted;
    status && until.at.as_ref().is_none_or(found)
}
