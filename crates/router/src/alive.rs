//! Connections whose other end is gone without a word, as when its machine lost power: the system asks it now and then, and ends them.
//! Otherwise they would hold their client's places for ever.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::net::sockopt;

const AFTER: Duration = Duration::from_mins(1);
const EVERY: Duration = Duration::from_secs(15);
const TIMES: u32 = 4;

/// From now on. What a listener accepts is as the listener is.
pub(crate) fn watch(socket: impl AsFd) -> io::Result<()> {
    let socket = socket.as_fd();
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, AFTER)?;
    sockopt::set_tcp_keepintvl(socket, EVERY)?;
    Ok(sockopt::set_tcp_keepcnt(socket, TIMES)?)
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn what_is_accepted_is_watched_as_its_listener_is() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        watch(&listener).expect("it can be");
        let _client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("connects");
        let (accepted, _) = listener.accept().await.expect("accepts");
        assert_eq!(sockopt::socket_keepalive(&accepted), Ok(true));
        assert_eq!(sockopt::tcp_keepidle(&accepted), Ok(AFTER));
    }
}
