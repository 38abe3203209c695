//! Server reflection, both versions of it: what services there are, and the files that describe them.

use std::rc::Rc;

use http::Request;
use hyper::body::Incoming;

use super::call::stream;
use super::descriptors::{File, files};
use super::frame::{Decoder, encode};
use super::trailers;
use crate::failure::{Code, Failure};
use crate::http::body::Chunks;
use crate::http::payload::{Feed, Reply};
use crate::server::Server;
use crate::wire::grpc::{
    FileDescriptors, ReflectionAnswer, ReflectionError, ReflectionQuestion, ReflectionRequest,
    ReflectionResponse, ServiceList, ServiceName,
};

/// A client asks, looks, and asks again on the same call.
pub(super) fn info(server: &Rc<Server>, request: Request<Incoming>) -> Reply {
    let (feed, reply) = stream();
    let most = server.settings.limits.request_bytes;
    tokio::task::spawn_local(converse(server.large_body(request), Decoder::new(most), feed));
    reply
}

async fn converse(mut chunks: Chunks, mut decoder: Decoder, feed: Feed) {
    let outcome = loop {
        match chunks.next().await {
            Ok(None) => break Ok(()),
            Ok(Some(bytes)) => decoder.push(&bytes),
            Err(failure) => break Err(failure),
        }
        if let Err(failure) = replies(&mut decoder, &feed).await {
            break Err(failure);
        }
    };
    let _ = feed.trailers(trailers(outcome.as_ref().err())).await;
}

async fn replies(decoder: &mut Decoder, feed: &Feed) -> Result<(), Failure> {
    while let Some(request) = decoder.next::<ReflectionRequest>()? {
        let sent = feed.send(encode(&answer(request))).await;
        sent.map_err(|_| Failure::new(Code::Unavailable, "the client has gone"))?;
    }
    Ok(())
}

fn answer(request: ReflectionRequest) -> ReflectionResponse {
    let files = files();
    let answer = match &request.question {
        Some(ReflectionQuestion::ListServices(_)) => {
            let services = files.iter().filter_map(File::services).map(|name| ServiceName { name });
            ReflectionAnswer::Services(ServiceList { services: services.collect() })
        }
        Some(ReflectionQuestion::FileByFilename(name)) => described(&files, |file| file.name() == name, name),
        Some(ReflectionQuestion::FileContainingSymbol(symbol)) => {
            described(&files, |file| file.symbols().iter().any(|known| known == symbol), symbol)
        }
        Some(
            ReflectionQuestion::FileContainingExtension(_) | ReflectionQuestion::AllExtensionNumbersOfType(_),
        ) => error(Code::NotFound, "there are no extensions"),
        None => error(Code::InvalidArgument, "nothing was asked"),
    };
    ReflectionResponse {
        valid_host: request.host.clone(),
        original_request: Some(request),
        answer: Some(answer),
    }
}

fn described(files: &[File], wanted: impl Fn(&File) -> bool, name: &str) -> ReflectionAnswer {
    match files.iter().find(|file| wanted(file)) {
        Some(file) => ReflectionAnswer::Files(FileDescriptors { files: file.with_imports(files) }),
        None => error(Code::NotFound, &format!("there is no {name}")),
    }
}

fn error(code: Code, message: &str) -> ReflectionAnswer {
    ReflectionAnswer::Error(ReflectionError { code: i32::from(code.grpc()), message: message.to_owned() })
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::wire::grpc::{ExecuteResponse, StartEvent, StartResponse};

    fn asked(question: ReflectionQuestion) -> ReflectionAnswer {
        answer(ReflectionRequest { host: String::new(), question: Some(question) }).answer.unwrap()
    }

    #[test]
    fn services_are_listed() {
        let ReflectionAnswer::Services(list) = asked(ReflectionQuestion::ListServices(String::new())) else {
            panic!()
        };
        let names: Vec<_> = list.services.iter().map(|service| &service.name[..]).collect();
        let expected = [
            "process.v1.ProcessService",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_symbol_is_described_with_what_it_needs() {
        for symbol in
            ["process.v1.ProcessService", "process.v1.ProcessService.Start", "process.v1.StartRequest"]
        {
            let ReflectionAnswer::Files(found) =
                asked(ReflectionQuestion::FileContainingSymbol(symbol.to_owned()))
            else {
                panic!("{symbol}")
            };
            assert_eq!(found.files.len(), 2, "{symbol}");
        }
        let missing = asked(ReflectionQuestion::FileContainingSymbol("process.v2.X".to_owned()));
        assert!(matches!(missing, ReflectionAnswer::Error(_)));
    }

    /// The messages are written twice, as Rust and as descriptors; what is on the wire must be the same.
    #[test]
    fn descriptors_and_messages_have_the_same_numbers() {
        let process = files().into_iter().find(|file| file.name().ends_with("process.proto")).unwrap();
        let exit =
            StartResponse { event: Some(StartEvent::Exit(crate::wire::grpc::ExitEvent { exit_code: 1 })) };
        assert_eq!(exit.encode_to_vec()[0] >> 3, process.number("StartResponse", "exit").unwrap());
        let out = ExecuteResponse { exit_code: 0, stdout: Vec::new(), stderr: vec![1] };
        assert_eq!(out.encode_to_vec()[0] >> 3, process.number("ExecuteResponse", "stderr").unwrap());
    }
}
