//! What keeps a pool from doing its work until somebody changes something.

use asb_types::conditions::pool_ready;
use asb_types::v1beta1::UpdateStrategyType;

use super::{Observed, Template};
use crate::views::{Bound, PoolView};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    TemplateNotFound(String),
    TemplateNotReady(String),
    Collides(String),
    Invalid(String),
}

impl Refusal {
    /// Whether the pool is left as it is. Without a template it still shrinks.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Collides(_) | Self::Invalid(_))
    }

    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::TemplateNotFound(_) => pool_ready::TEMPLATE_NOT_FOUND,
            Self::TemplateNotReady(_) => pool_ready::TEMPLATE_NOT_READY,
            Self::Collides(_) => pool_ready::NAME_HASH_COLLISION,
            Self::Invalid(_) => pool_ready::INVALID_CONFIGURATION,
        }
    }

    pub(super) fn message(&self) -> &str {
        match self {
            Self::TemplateNotFound(message)
            | Self::TemplateNotReady(message)
            | Self::Collides(message)
            | Self::Invalid(message) => message,
        }
    }
}

pub(super) fn refusal(observed: &Observed<'_>) -> Option<Refusal> {
    let pool = observed.pool;
    let collides = observed.collision.map(|collision| Refusal::Collides(collision.to_owned()));
    collides.or_else(|| invalid(pool).map(Refusal::Invalid)).or_else(|| match &observed.template {
        Template::Found(_) => None,
        Template::Missing => {
            Some(Refusal::TemplateNotFound(format!("SandboxTemplate {:?} not found", pool.template)))
        }
        Template::Refused(reason) => Some(Refusal::TemplateNotReady(format!(
            "SandboxTemplate {:?} cannot be used: {reason}",
            pool.template
        ))),
    })
}

fn invalid(pool: &PoolView) -> Option<String> {
    if let (Some(min), Some(max)) = (pool.min_size, pool.max_size)
        && min > max
    {
        return Some(format!("minSize {min} is more than maxSize {max}"));
    }
    let bounds = [("maxUnavailable", &pool.max_unavailable), ("maxSurge", &pool.max_surge)];
    let bounds = || bounds.iter().filter_map(|(name, bound)| Some((name, bound.as_ref()?)));
    let nonsense = bounds().find_map(|(name, bound)| match bound {
        Bound::Nonsense(text) => {
            Some(format!("updateStrategy.{name} is {text}, which is neither a number nor a percentage"))
        }
        Bound::Count(_) | Bound::Percent(_) => None,
    });
    let idle = bounds().next().filter(|_| pool.update_strategy == UpdateStrategyType::OnReplenish);
    nonsense.or_else(|| idle.map(|(name, _)| format!("updateStrategy.{name} needs the type Recreate")))
}
