//! The tokens that the router shows to runtimes. Each serves until most of its time is over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use asb_core::object::Uid;
use jiff::{SignedDuration, Timestamp};

use crate::token::{LIFETIME, PrivateKey, for_runtime};

/// Half of its time: clocks differ.
const SERVES: SignedDuration = SignedDuration::from_secs(LIFETIME.as_secs() / 2);
const MOST: usize = 16_384;

pub(crate) struct RuntimeTokens {
    key: PrivateKey,
    made: Mutex<HashMap<Uid, (Arc<str>, Timestamp)>>,
}

impl RuntimeTokens {
    pub(crate) fn new(key: PrivateKey) -> Self {
        Self { key, made: Mutex::default() }
    }

    pub(crate) fn of(&self, uid: &Uid) -> Arc<str> {
        let now = Timestamp::now();
        let serves = |since: Timestamp| now >= since && now.duration_since(since) < SERVES;
        let mut made = self.made.lock().expect("nobody panics with it");
        if let Some((token, since)) = made.get(uid)
            && serves(*since)
        {
            return Arc::clone(token);
        }
        if made.len() >= MOST {
            made.retain(|_, (_, since)| serves(*since));
        }
        if made.len() >= MOST {
            made.clear();
        }
        let token: Arc<str> = for_runtime(uid.as_str(), &self.key, now).into();
        made.insert(uid.clone(), (Arc::clone(&token), now));
        token
    }
}
