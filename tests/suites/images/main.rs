//! Images from a real registry, over every obstacle: passwords, certificates, broken connections, mirrors, lies. Needs root,
//! since files of images belong to many users.

mod image;
mod issuer;
mod line;
mod pulls;
mod push;
mod security;
mod server;
mod shelf;
