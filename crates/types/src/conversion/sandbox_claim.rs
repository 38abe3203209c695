//! SandboxClaim: v1alpha1 names a template and perhaps a pool, v1beta1 names a pool and finds the template through it.
//! A claim by template alone is a claim on the template's shadow pool, which need not exist.

use serde_json::{Value, json};

use super::object::{NoRoom, Object};
use super::state::{Carried, State, is};
use super::{Conversion, ConversionError};
use crate::annotations::{v1alpha1_state, v1beta1_state};
use crate::blueprint::VolumeClaimTemplate;
use crate::v1alpha1::{WARM_POOL_DEFAULT, WARM_POOL_NONE};
use crate::{EXTENSIONS_GROUP, names};

pub(super) const CONVERSION: Conversion =
    Conversion { group: EXTENSIONS_GROUP, kind: "SandboxClaim", to_v1beta1, to_v1alpha1 };

const ONLY_IN_V1BETA1: [Carried; 1] =
    [Carried { pointer: "/spec/volumeClaimTemplates", check: is::<Vec<VolumeClaimTemplate>> }];

/// What a v1alpha1 claim asks for.
#[derive(Debug, PartialEq)]
struct Request {
    template: String,
    warmpool: String,
}

impl Request {
    /// Nothing where neither field is there, as in an object that is not whole.
    fn of(template: Option<&str>, warmpool: Option<&str>) -> Option<Self> {
        let warmpool = warmpool.filter(|name| !name.is_empty());
        template.or(warmpool)?;
        let (template, warmpool) = (template.unwrap_or_default(), warmpool.unwrap_or(WARM_POOL_DEFAULT));
        Some(Self { template: template.to_owned(), warmpool: warmpool.to_owned() })
    }

    fn is_by_template(&self) -> bool {
        self.warmpool == WARM_POOL_DEFAULT || self.warmpool == WARM_POOL_NONE
    }

    /// The pool that v1beta1 says this with.
    fn pool(&self) -> String {
        if self.is_by_template() { names::shadow_pool(&self.template) } else { self.warmpool.clone() }
    }

    /// The request that a pool's name alone suggests.
    fn suggested_by(pool: &str) -> Self {
        match names::shadowed_template(pool) {
            Some(template) => Self { template: template.to_owned(), warmpool: WARM_POOL_DEFAULT.to_owned() },
            None => Self { template: pool.to_owned(), warmpool: pool.to_owned() },
        }
    }

    fn saved_in(state: &State) -> Option<Self> {
        Self::of(Some(state.text("/spec/sandboxTemplateRef/name")?), state.text("/spec/warmpool"))
    }

    fn to_json(&self) -> Value {
        json!({"sandboxTemplateRef": {"name": self.template}, "warmpool": self.warmpool})
    }
}

fn to_v1beta1(object: &mut Object) -> Result<(), ConversionError> {
    object.take_annotation(v1alpha1_state::CLAIM);
    let carried = State::taken_from(object, v1beta1_state::CLAIM)?;
    carried.restore(object, &ONLY_IN_V1BETA1, v1beta1_state::CLAIM)?;
    let request = Request::of(object.text("/spec/sandboxTemplateRef/name"), object.text("/spec/warmpool"));
    object.take("/spec/sandboxTemplateRef");
    object.take("/spec/warmpool");
    let Some(request) = request else { return Ok(()) };

    let pool = carried_pool(&carried, &request).unwrap_or_else(|| request.pool());
    if request != Request::suggested_by(&pool) {
        let mut saved = State::default();
        saved.set("/spec", request.to_json());
        saved.leave_in(object, v1alpha1_state::CLAIM).map_err(|NoRoom| ConversionError::Full)?;
    }
    object.set("/spec/warmPoolRef", json!({"name": pool}));
    Ok(())
}

fn to_v1alpha1(object: &mut Object) {
    object.take_annotation(v1beta1_state::CLAIM);
    let saved = State::advice_in(object, v1alpha1_state::CLAIM);
    let mut carried = State::default();
    carried.carry(object, &ONLY_IN_V1BETA1);
    if let Some(pool) = object.take("/spec/warmPoolRef").as_ref().and_then(|pool| pool["name"].as_str()) {
        let request = shown_request(pool, &saved, object.text("/status/sandbox/name"));
        if request.pool() != pool {
            carried.set("/spec/warmPoolRef", json!({"name": pool}));
            carried.set("/shownAs", request.to_json());
        }
        object.set("/spec/sandboxTemplateRef", json!({"name": request.template}));
        object.set("/spec/warmpool", request.warmpool.into());
    }
    carried.leave_or_name_in(object, v1beta1_state::CLAIM);
}

/// The request to show for a pool: the one it was made from, if there was one and the pool still follows from it.
fn shown_request(pool: &str, saved: &State, sandbox: Option<&str>) -> Request {
    let Some(original) = Request::saved_in(saved) else { return Request::suggested_by(pool) };
    if original.pool() == pool || (original.is_by_template() && is_guess_from(pool, sandbox)) {
        return original;
    }
    match names::shadowed_template(pool) {
        Some(_) => Request::suggested_by(pool),
        None => Request { template: original.template, warmpool: pool.to_owned() },
    }
}

/// Other implementations store, for a claim by template that has its Sandbox, the pool they guess from the Sandbox's
/// generated name. The claim still is one by template.
fn is_guess_from(pool: &str, sandbox: Option<&str>) -> bool {
    let Some(sandbox) = sandbox else { return false };
    sandbox == pool || sandbox.rsplit_once('-').is_some_and(|(prefix, _)| prefix == pool)
}

/// The pool that the request was shown for, if the request was not edited since.
fn carried_pool(carried: &State, request: &Request) -> Option<String> {
    let shown = carried.get("/shownAs")?;
    let pool = carried.text("/spec/warmPoolRef/name")?;
    (*shown == request.to_json()).then(|| pool.to_owned())
}
