//! Somebody inside the sandbox changes the tree while it is used from outside, and tries to lead the way out of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::service::Service;

const ROUNDS: usize = 400;

/// Makes a link lead to a directory and then out of the root, by turns and as fast as it can.
fn swapping<T>(service: &Service, act: impl FnOnce() -> T) -> T {
    let root = service.root();
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/secret"), "inside").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let attacker = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            for target in ["real", ".."] {
                symlink(target, root.join("next")).unwrap();
                fs::rename(root.join("next"), root.join("door")).unwrap();
            }
        }
    });
    super::wait::until("the attack has begun", || service.root().join("door").is_symlink().then_some(()));
    let result = act();
    stop.store(true, Ordering::Relaxed);
    attacker.join().unwrap();
    result
}

#[test]
fn reading_never_leaves_the_root() {
    let service = Service::start();
    let (mut inside, mut denied) = (0, 0);
    swapping(&service, || {
        for _ in 0..ROUNDS {
            let reply = service.get("/v1/files/door/secret");
            assert_ne!(reply.text(), "outside");
            inside += usize::from(reply.status == 200);
            denied += usize::from(reply.status == 403);
        }
    });
    assert!(inside > 0 && denied > 0, "the attack must have been there: {inside} {denied}");
}

#[test]
fn writing_and_deleting_never_leave_the_root() {
    let service = Service::start();
    swapping(&service, || {
        for _ in 0..ROUNDS {
            service.put("/v1/files/door/written", b"x");
            service.delete("/v1/files/door/secret");
            service.post("/v1/directories/door/made", &serde_json::json!({}));
        }
    });
    let mut outside: Vec<_> =
        fs::read_dir(service.home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    outside.sort();
    assert_eq!(outside, ["root", "secret"]);
    assert!(service.root().join("real/written").exists());
}
