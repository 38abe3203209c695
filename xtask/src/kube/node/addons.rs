//! What a cluster with a node has beyond the programs: DNS and the RuntimeClass of gVisor.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::Result;

use super::images;
use crate::kube::description::Description;
use crate::kube::kubectl::Kubectl;

pub(crate) fn apply(cluster: &Description) -> Result<()> {
    let dns = include_str!("addons/dns.yaml")
        .replace("COREDNS_IMAGE", images::COREDNS)
        .replace("DNS_ADDRESS", &cluster.home.service(10).to_string());
    let kubectl = Kubectl::of(cluster)?;
    kubectl.apply(&dns)?;
    kubectl.apply(include_str!("addons/gvisor.yaml"))?;
    Ok(())
}

/// Asks for the API server by name, through the Service: a yes means that kube-proxy, DNS and Pods all work.
pub(crate) fn resolves(cluster: &Description) -> bool {
    let server = SocketAddr::from((cluster.home.service(10), 53));
    ask(server, "kubernetes.default.svc.cluster.local").is_ok_and(|answer| {
        let address = cluster.home.service(1).octets();
        answer.ends_with(&address)
    })
}

fn ask(server: SocketAddr, name: &str) -> std::io::Result<Vec<u8>> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    socket.send_to(&question(name), server)?;
    let mut answer = vec![0; 512];
    let length = socket.recv(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

/// RFC 1035: a header with one question, then the name's labels, type A, class IN.
fn question(name: &str) -> Vec<u8> {
    let mut message = vec![0x0a, 0x5b, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        message.extend(u8::try_from(label.len()));
        message.extend(label.bytes());
    }
    message.extend([0, 0, 1, 0, 1]);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_spells_the_name_in_labels() {
        assert_eq!(question("a.bc")[12..], [1, b'a', 2, b'b', b'c', 0, 0, 1, 0, 1]);
    }
}
