//! nginx, told to do what the router does: find a sandbox by a header, and carry requests there over connections that stay open.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::proxies::{Doors, Identity, SANDBOX, wait_for};
use crate::bench::attendant::{Attendant, free};
use crate::parts::debian;

const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Nginx {
    program: Attendant,
    path: PathBuf,
    folder: PathBuf,
    pub(super) doors: Doors,
    /// Where it writes no log.
    pub(super) unlogged: SocketAddr,
}

impl Nginx {
    pub(super) fn start(folder: &Path, backend: SocketAddr, identity: &Identity) -> Result<Self> {
        let path = debian::NGINX.obtain()?.join("usr/sbin/nginx");
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        let doors = Doors { plain: free()?, secure: free()? };
        let unlogged = free()?;
        fs::write(folder.join("nginx.conf"), configuration(&doors, unlogged, backend, identity))?;
        let program = Attendant::start(&path, &folder.join("nginx.log"), |command| {
            command.args(arguments(folder));
        })?;
        let nginx = Self { program, path, folder: folder.to_owned(), doors, unlogged };
        wait_for(nginx.doors.plain).context("nginx did not start; see its log")?;
        Ok(nginx)
    }

    pub(super) fn id(&self) -> u32 {
        self.program.id()
    }
}

impl Drop for Nginx {
    /// Asked to stop: its workers would outlive a master that is killed.
    fn drop(&mut self) {
        let mut stop = Command::new(&self.path);
        stop.args(arguments(&self.folder)).args(["-s", "stop"]).stderr(Stdio::null());
        let deadline = Instant::now() + PATIENCE;
        if stop.status().is_ok_and(|status| status.success()) {
            while matches!(self.program.0.try_wait(), Ok(None)) && Instant::now() < deadline {
                sleep(PAUSE);
            }
        }
    }
}

fn arguments(folder: &Path) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    vec!["-p".to_owned(), path(""), "-c".to_owned(), path("nginx.conf"), "-e".to_owned(), path("error.log")]
}

/// As many workers as processors; of buffers as many as make it quick; nothing is kept on the disk on its way.
fn configuration(doors: &Doors, unlogged: SocketAddr, backend: SocketAddr, identity: &Identity) -> String {
    let Doors { plain, secure } = doors;
    let (certificate, key) = (identity.certificate.display(), identity.key.display());
    format!(
        "
user root;
daemon off;
worker_processes auto;
pid nginx.pid;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    access_log access.log;
    client_max_body_size 0;
    keepalive_requests 1000000000;
    map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
    map $http_x_sandbox_id $sandbox {{ default ''; {SANDBOX} backend; }}
    upstream backend {{ server {backend}; keepalive 256; keepalive_requests 1000000000; }}
    proxy_http_version 1.1;
    proxy_request_buffering off;
    proxy_buffer_size 16k;
    proxy_buffers 16 64k;
    proxy_busy_buffers_size 256k;
    proxy_max_temp_file_size 0;
    proxy_set_header Connection $connection_upgrade;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Host $host;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header Authorization '';
    proxy_set_header X-Sandbox-ID '';
    proxy_set_header X-Sandbox-Port '';
    server {{
        listen {plain};
        listen {secure} ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        location / {{
            if ($sandbox = '') {{ return 404; }}
            proxy_pass http://$sandbox;
        }}
    }}
    server {{
        listen {unlogged};
        access_log off;
        location / {{
            if ($sandbox = '') {{ return 404; }}
            proxy_pass http://$sandbox;
        }}
    }}
}}
"
    )
}
