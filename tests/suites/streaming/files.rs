//! `kubectl cp`, which runs tar over exec.

use std::fs;

use crate::kubectl;
use crate::server::Server;

#[tokio::test]
async fn files_are_copied_both_ways() {
    let server = Server::start().await;
    let bytes: Vec<u8> = (0..3_u32 << 20).map(|index| (index % 241).to_le_bytes()[0]).collect();
    for kubectl in kubectl::all(&server) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        fs::create_dir(folder.path().join("inside")).unwrap();
        fs::write(folder.path().join("file"), &bytes).unwrap();
        let inside = format!("demo:{}", path("inside/file"));
        for (from, to) in [(&path("file"), &inside), (&inside, &path("back"))] {
            let output = kubectl.run(&["cp", from, to], b"").await;
            assert!(output.status.success(), "{output:?}");
        }
        assert!(fs::read(folder.path().join("back")).unwrap() == bytes);
    }
}
