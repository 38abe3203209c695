//! `POST /upload`: a file from a form, to where its name says.

use std::rc::Rc;

use http::header::CONTENT_TYPE;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use serde_json::Value;

use super::confined;
use super::validation::Invalid;
use crate::failure::{Code, Failure};
use crate::files::upload::FILE_MODE;
use crate::http::answer;
use crate::http::payload::Reply;
use crate::http::receive::{form, is_form};
use crate::server::Server;
use crate::wire::legacy::Message;

pub(super) async fn upload(server: &Rc<Server>, request: Request<Incoming>) -> Reply {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
    if !is_form(kind.as_deref()) {
        return Invalid::missing(&["body", "file"], Value::Null).reply();
    }
    let chunks = server.large_body(request);
    let place = |head: &crate::http::multipart::Head| match head.filename.as_deref() {
        None | Some("") => Err(Failure::invalid("the part of the form has no file name")),
        Some(name) => confined(name.as_bytes()),
    };
    match form(chunks, kind.as_deref().unwrap_or_default(), &server.root, FILE_MODE, place).await {
        Ok(Some(name)) => message(StatusCode::OK, format!("File '{name}' uploaded successfully.")),
        Ok(None) => Invalid::missing(&["body", "file"], Value::Null).reply(),
        Err(failure) if failure.code == Code::PermissionDenied => {
            message(StatusCode::FORBIDDEN, "Access denied".to_owned())
        }
        Err(failure) => {
            message(answer::status(failure.code), format!("File upload failed: {}", failure.message))
        }
    }
}

fn message(status: StatusCode, message: String) -> Reply {
    answer::json(status, &Message { message })
}
