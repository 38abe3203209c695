//! The program as it is built, spoken to over real connections. What can be shown without one is shown beside the code.

#[cfg(test)]
mod access;
#[cfg(test)]
mod archives;
#[cfg(test)]
mod attach;
#[cfg(test)]
mod doors;
#[cfg(test)]
mod early;
#[cfg(test)]
mod files;
#[cfg(test)]
mod floods;
#[cfg(test)]
mod forms;
#[cfg(test)]
mod grpc;
#[cfg(test)]
mod hostile_http2;
#[cfg(test)]
mod http2;
#[cfg(test)]
mod init;
#[cfg(test)]
mod legacy;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod output;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod races;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod service;
#[cfg(test)]
mod sockets;
#[cfg(test)]
mod traversal;
#[cfg(test)]
mod wait;
