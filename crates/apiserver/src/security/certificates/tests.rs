//! The folder through first starts, crashes, damage and time; and handshakes with what is in it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use proptest::prelude::*;
use rcgen::{CertificateParams, DistinguishedName, DnType};
use serde_json::Value;
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion, version};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;

/// In the order in which they are written.
const FILES: [&str; 5] = [AUTHORITY, AUTHORITY_CERTIFICATE, SERVING, ADMIN, SERVICE_ACCOUNTS];

fn now() -> Timestamp {
    // A handshake looks at the clock.
    Timestamp::now()
}

fn names() -> ServerNames {
    ServerNames::new(["10.0.0.1".parse().unwrap(), "0.0.0.0".parse().unwrap()]).with_name("Host.Example")
}

struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("pki")
    }

    fn open(&self, now: Timestamp) -> Result<Certificates, Error> {
        Certificates::open(&self.folder(), &names(), now)
    }

    fn contents(&self, file: &str) -> Vec<u8> {
        fs::read(self.folder().join(file)).unwrap()
    }

    fn all(&self) -> Vec<Vec<u8>> {
        FILES.map(|file| self.contents(file)).into()
    }

    fn mode(&self, file: &str) -> u32 {
        fs::metadata(self.folder().join(file)).unwrap().permissions().mode() & 0o777
    }
}

#[test]
fn the_first_start_makes_private_files_and_the_next_keeps_them() {
    let home = Home::new();
    let first = home.open(now()).unwrap();
    let files = home.all();
    let second = home.open(now()).unwrap();
    assert_eq!(home.all(), files);
    assert_eq!(first.signing_key().id(), second.signing_key().id());
    assert_eq!(home.mode("."), 0o700);
    assert!(FILES.iter().all(|file| home.mode(file) == 0o600));
    assert_eq!(fs::read_dir(home.folder()).unwrap().count(), FILES.len());
}

#[test]
fn a_crash_after_any_file_leaves_what_the_next_start_completes() {
    let whole = Home::new();
    whole.open(now()).unwrap();
    for written in 0..=FILES.len() {
        let home = Home::new();
        fs::create_dir(home.folder()).unwrap();
        for file in &FILES[..written] {
            fs::copy(whole.folder().join(file), home.folder().join(file)).unwrap();
        }
        let half = &whole.contents(SERVING)[..100];
        fs::write(home.folder().join(".serving.pem.1234.unfinished"), half).unwrap();
        home.open(now()).unwrap();
        for file in &FILES[..written] {
            assert_eq!(home.contents(file), whole.contents(file), "{file} after {written}");
        }
        assert_eq!(fs::read_dir(home.folder()).unwrap().count(), FILES.len());
    }
}

#[test]
fn a_damaged_file_is_named_with_what_to_do() {
    for file in [AUTHORITY, SERVING, ADMIN, SERVICE_ACCOUNTS] {
        let home = Home::new();
        home.open(now()).unwrap();
        fs::write(home.folder().join(file), "rubbish").unwrap();
        let error = home.open(now()).unwrap_err().to_string();
        assert!(error.contains(&format!("pki/{file} is damaged: it has no key")), "{error}");
        assert!(error.to_lowercase().contains("move it away to have a new one made"), "{error}");
        fs::remove_file(home.folder().join(file)).unwrap();
        home.open(now()).unwrap();
    }
}

#[test]
fn a_key_and_a_certificate_that_do_not_belong_together_are_found_out() {
    let home = Home::new();
    home.open(now()).unwrap();
    let text = |file| String::from_utf8(home.contents(file)).unwrap();
    let (serving, admin) = (text(SERVING), text(ADMIN));
    let certificate = admin.find("-----BEGIN CERTIFICATE").unwrap();
    let key = serving.find("-----BEGIN CERTIFICATE").unwrap();
    fs::write(home.folder().join(SERVING), format!("{}{}", &serving[..key], &admin[certificate..])).unwrap();
    assert!(home.open(now()).unwrap_err().to_string().contains("its certificate is for another key"));
    fs::write(home.folder().join(AUTHORITY), &admin).unwrap();
    assert!(home.open(now()).unwrap_err().to_string().contains("not that of an authority"));
}

#[test]
fn certificates_are_renewed_in_time_and_the_authority_stays() {
    let home = Home::new();
    let start = now();
    let renewal = home.open(start).unwrap().renewal();
    let files = home.all();
    home.open(renewal - SignedDuration::from_secs(1)).unwrap();
    assert_eq!(home.all(), files);
    assert!(home.open(renewal).unwrap().renewal() > renewal);
    assert_eq!(home.contents(AUTHORITY), files[0]);
    assert_ne!(home.contents(SERVING), files[2]);
    assert_ne!(home.contents(ADMIN), files[3]);
    assert_eq!(home.contents(SERVICE_ACCOUNTS), files[4]);
}

#[test]
fn an_authority_that_has_ended_is_not_replaced_behind_anybodys_back() {
    let home = Home::new();
    home.open(now()).unwrap();
    let error = home.open(now() + SignedDuration::from_hours(11 * 365 * 24)).unwrap_err().to_string();
    assert!(
        error.starts_with("the certificate authority in ") && error.contains("pki/authority.pem ended on"),
        "{error}"
    );
}

#[test]
fn a_certificate_for_other_names_is_made_anew() {
    let home = Home::new();
    home.open(now()).unwrap();
    let (serving, admin) = (home.contents(SERVING), home.contents(ADMIN));
    let fewer = ServerNames::new([]);
    Certificates::open(&home.folder(), &fewer, now()).unwrap();
    assert_eq!(home.contents(SERVING), serving);
    let more = names().with_name("more.example");
    Certificates::open(&home.folder(), &more, now()).unwrap();
    assert_ne!(home.contents(SERVING), serving);
    assert_eq!(home.contents(ADMIN), admin);
}

#[test]
fn a_new_authority_signs_everything_anew() {
    let home = Home::new();
    home.open(now()).unwrap();
    let files = home.all();
    fs::remove_file(home.folder().join(AUTHORITY)).unwrap();
    home.open(now()).unwrap();
    let changed: Vec<_> = home.all().iter().zip(&files).map(|(new, old)| new != old).collect();
    assert_eq!(changed, [true, true, true, true, false]);
}

#[test]
fn permissions_that_are_too_wide_are_narrowed() {
    let home = Home::new();
    home.open(now()).unwrap();
    fs::set_permissions(home.folder(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(home.folder().join(AUTHORITY), Permissions::from_mode(0o644)).unwrap();
    home.open(now()).unwrap();
    assert_eq!((home.mode("."), home.mode(AUTHORITY)), (0o700, 0o600));
}

#[test]
fn secrets_are_not_in_what_is_logged() {
    let certificates = Home::new().open(now()).unwrap();
    let shown = format!("{certificates:?}");
    assert!(shown.starts_with("Certificates(until 2"), "{shown}");
}

#[test]
fn a_kubeconfig_replaces_what_others_could_read() {
    let home = Home::new();
    let path = home.0.path().join("config");
    let target = home.0.path().join("target");
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o644)).unwrap();
    symlink(&target, &path).unwrap();
    fs::write(home.0.path().join(".target.1234.unfinished"), "half").unwrap();
    kubeconfig::write(&path, "new").unwrap();
    kubeconfig::write(&home.0.path().join("a/b/config"), "new").unwrap();
    assert!(path.is_symlink());
    assert!(!home.0.path().join(".target.1234.unfinished").exists());
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
}

/// What a client finds in a kubeconfig.
struct Client {
    roots: RootCertStore,
    identity: (CertificateDer<'static>, PrivateKeyDer<'static>),
}

impl Client {
    fn of(certificates: &Certificates) -> Self {
        let config: Value = serde_json::from_str(&certificates.kubeconfig("https://127.0.0.1:6443")).unwrap();
        let decoded = |value: &Value| STANDARD.decode(value.as_str().unwrap()).unwrap();
        let (cluster, user) = (&config["clusters"][0]["cluster"], &config["users"][0]["user"]);
        assert_eq!(cluster["server"], "https://127.0.0.1:6443");
        let mut roots = RootCertStore::empty();
        let authority = decoded(&cluster["certificate-authority-data"]);
        roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
        let certificate = CertificateDer::from_pem_slice(&decoded(&user["client-certificate-data"])).unwrap();
        let key = PrivateKeyDer::from_pem_slice(&decoded(&user["client-key-data"])).unwrap();
        Self { roots, identity: (certificate, key) }
    }

    fn config(self, identified: bool, version: &'static SupportedProtocolVersion) -> ClientConfig {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
        let builder = builder.with_root_certificates(self.roots);
        let (certificate, key) = self.identity;
        let mut config = if identified {
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        config
    }
}

/// Shakes hands by a name; the user of the client's certificate, as the server sees it.
async fn handshake(server: &Certificates, client: ClientConfig, name: &str) -> io::Result<Option<String>> {
    let acceptor = TlsAcceptor::from(Arc::new(server.server_config().unwrap()));
    let connector = TlsConnector::from(Arc::new(client));
    let (near, far) = tokio::io::duplex(64 * 1024);
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let (accepted, connected) = tokio::join!(acceptor.accept(near), connector.connect(name, far));
    connected?;
    let accepted = accepted?;
    let (_, connection) = accepted.get_ref();
    assert_eq!(connection.alpn_protocol(), Some(&b"h2"[..]));
    let user = connection.peer_certificates().and_then(|chain| user_of_certificate(chain.first()?));
    Ok(user.map(|user| format!("{} {:?}", user.name, user.groups)))
}

#[tokio::test]
async fn the_administrator_is_known_by_certificate_and_others_are_let_in_without() {
    let certificates = Home::new().open(now()).unwrap();
    for version in [&version::TLS12, &version::TLS13] {
        for name in ["127.0.0.1", "::1", "10.0.0.1", "localhost", "kubernetes.default.svc", "host.example"] {
            let client = Client::of(&certificates).config(true, version);
            let user = handshake(&certificates, client, name).await.unwrap();
            assert_eq!(user.as_deref(), Some("kubernetes-admin [\"system:masters\"]"), "{name}");
        }
        let client = Client::of(&certificates).config(false, version);
        assert_eq!(handshake(&certificates, client, "localhost").await.unwrap(), None);
    }
}

#[tokio::test]
async fn nobody_gets_in_with_the_certificate_of_another_authority() {
    let (ours, theirs) = (Home::new().open(now()).unwrap(), Home::new().open(now()).unwrap());
    let client = Client { identity: Client::of(&theirs).identity, ..Client::of(&ours) };
    assert!(handshake(&ours, client.config(true, &version::TLS12), "localhost").await.is_err());
    let stranger = Client::of(&theirs).config(false, &version::TLS13);
    assert!(handshake(&ours, stranger, "localhost").await.is_err());
}

#[tokio::test]
async fn a_serving_certificate_identifies_no_client() {
    let certificates = Home::new().open(now()).unwrap();
    let identity = (certificates.serving.certificate.clone(), certificates.serving.tls_key());
    let client = Client { identity, ..Client::of(&certificates) };
    assert!(handshake(&certificates, client.config(true, &version::TLS12), "localhost").await.is_err());
}

fn certificate(name: &str, groups: &[&str], uids: &[&str]) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let [group] = groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    if let [uid] = uids {
        params.distinguished_name.push(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]), *uid);
    }
    params.self_signed(&pair::generate_key().unwrap()).unwrap().der().to_vec()
}

#[test]
fn a_certificate_names_a_user_with_groups_and_uid() {
    let der = certificate("jane", &["devs"], &["42"]);
    let user = user_of_certificate(&der).unwrap();
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("jane", "42"));
    assert_eq!(user.groups, ["devs"]);
    assert!(user.extra["authentication.kubernetes.io/credential-id"][0].starts_with("X509SHA256="));
    assert_eq!(user_of_certificate(&certificate("", &["devs"], &[])), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_certificate_cut_anywhere_names_nobody(length in 0_usize..2000) {
        let der = certificate("jane", &["devs"], &[]);
        let length = length % der.len();
        prop_assert_eq!(user_of_certificate(&der[..length]), None);
    }

    #[test]
    fn a_file_cut_anywhere_is_damaged_or_whole(length in 0_usize..2000) {
        let home = Home::new();
        home.open(now()).unwrap();
        let whole = home.contents(ADMIN);
        let length = length % whole.len();
        fs::write(home.folder().join(ADMIN), &whole[..length]).unwrap();
        let opened = home.open(now());
        // Only the newline at the end says nothing.
        prop_assert_eq!(opened.is_ok(), length == whole.len() - 1, "{:?}", opened);
    }
}
