//! The answer to a message, whoever asks.

use std::net::SocketAddr;

use asb_core::network::names::{self, Answer, Question, TTL, is_private};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, CNAME, PTR, SOA, SRV, TXT};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

use super::{Outside, View, forward};

/// How the question came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Datagram,
    Stream,
}

/// What passes every network in one piece.
const DATAGRAM: u16 = 1232;

/// Nothing for what is not a question, so that no two servers talk to each other without end.
pub async fn reply(question: &[u8], view: &View, own: SocketAddr, transport: Transport) -> Option<Vec<u8>> {
    let Ok(question) = Message::from_vec(question) else { return malformed(question) };
    if question.metadata.message_type != MessageType::Query {
        return None;
    }
    let answer = match question.queries.as_slice() {
        _ if question.metadata.op_code != OpCode::Query => refusal(&question, ResponseCode::NotImp),
        [query] if query.query_class() == DNSClass::IN => {
            let mut servers = view.upstreams.clone();
            servers.retain(|server| *server != own);
            answer(&question, query, view, &servers, transport).await
        }
        [_] => refusal(&question, ResponseCode::Refused),
        _ => refusal(&question, ResponseCode::FormErr),
    };
    fit(answer, &question, transport)
}

/// What cannot be read is answered by its number, if it has one.
fn malformed(question: &[u8]) -> Option<Vec<u8>> {
    let id = u16::from_be_bytes(question.get(..2)?.try_into().ok()?);
    let is_question = question.len() >= 12 && question[2] & 0x80 == 0;
    let error = Message::error_msg(id, OpCode::Query, ResponseCode::FormErr);
    error.to_vec().ok().filter(|_| is_question)
}

async fn answer(
    question: &Message,
    query: &Query,
    view: &View,
    servers: &[SocketAddr],
    transport: Transport,
) -> Message {
    let name = query.name().to_ascii();
    match view.names.answer(&name, kind(query.query_type())) {
        Answer::Records(records) => {
            let mut answer = ours(question, ResponseCode::NoError);
            add_records(&mut answer, query, &records, view);
            follow(&mut answer, query, &records, view, servers, transport).await;
            answer
        }
        Answer::Nothing => without(question, ResponseCode::NoError, view),
        Answer::NoSuchName => without(question, ResponseCode::NXDomain, view),
        Answer::Foreign if !is_asked_for(&name, view.outside) => refusal(question, ResponseCode::Refused),
        Answer::Foreign => {
            let found = forward::ask(question, servers, transport).await;
            found.unwrap_or_else(|| refusal(question, ResponseCode::ServFail))
        }
    }
}

fn is_asked_for(name: &str, outside: Outside) -> bool {
    match outside {
        Outside::Everything => true,
        Outside::Public => !is_private(name),
        Outside::Nothing => false,
    }
}

fn kind(asked: RecordType) -> Question {
    match asked {
        RecordType::A => Question::Address,
        RecordType::SRV => Question::Service,
        RecordType::PTR => Question::Pointer,
        RecordType::TXT => Question::Text,
        RecordType::ANY => Question::Any,
        _ => Question::Other,
    }
}

fn refusal(question: &Message, code: ResponseCode) -> Message {
    let mut answer = Message::error_msg(question.metadata.id, question.metadata.op_code, code);
    answer.metadata.recursion_desired = question.metadata.recursion_desired;
    answer.metadata.recursion_available = true;
    answer.queries.clone_from(&question.queries);
    answer
}

fn ours(question: &Message, code: ResponseCode) -> Message {
    let mut answer = refusal(question, code);
    answer.metadata.authoritative = true;
    answer
}

/// That there is nothing is kept as long as something would be.
fn without(question: &Message, code: ResponseCode, view: &View) -> Message {
    let mut answer = ours(question, code);
    let zone = view.names.zone();
    let authority = |label: &str| Name::from_ascii(format!("{label}.{zone}.")).unwrap_or_default();
    if let Ok(name) = Name::from_ascii(format!("{zone}.")) {
        let data = SOA::new(authority("ns.dns"), authority("hostmaster"), 1, 7200, 1800, 86400, TTL);
        answer.add_authority(Record::from_rdata(name, TTL, RData::SOA(data)));
    }
    answer
}

/// Names in the data that are ours bring their addresses along.
fn add_records(answer: &mut Message, query: &Query, records: &[names::Record], view: &View) {
    for record in records {
        if let Some(data) = data(record) {
            answer.add_answer(Record::from_rdata(query.name().clone(), TTL, data));
        }
        if let names::Record::Service { target, .. } = record
            && let Ok(name) = absolute(target)
        {
            let addresses = view.names.addresses(target);
            let each = addresses.map(|address| Record::from_rdata(name.clone(), TTL, RData::A(A(address))));
            answer.add_additionals(each.collect::<Vec<_>>());
        }
    }
}

/// An alias is answered together with what it means.
async fn follow(
    answer: &mut Message,
    query: &Query,
    records: &[names::Record],
    view: &View,
    servers: &[SocketAddr],
    transport: Transport,
) {
    let [names::Record::Alias(target)] = records else { return };
    let Ok(name) = absolute(target) else { return };
    match view.names.answer(target, kind(query.query_type())) {
        Answer::Records(records) => {
            let meant =
                records.iter().filter_map(data).map(|data| Record::from_rdata(name.clone(), TTL, data));
            answer.add_answers(meant.collect::<Vec<_>>());
        }
        Answer::Foreign if is_asked_for(target, view.outside) => {
            let mut asked = Message::query();
            asked.metadata.recursion_desired = true;
            asked.add_query(Query::query(name, query.query_type()));
            if let Some(found) = forward::ask(&asked, servers, transport).await {
                answer.add_answers(found.answers);
            }
        }
        _ => {}
    }
}

fn data(record: &names::Record) -> Option<RData> {
    Some(match record {
        names::Record::Address(address) => RData::A(A(*address)),
        names::Record::Alias(target) => RData::CNAME(CNAME(absolute(target).ok()?)),
        names::Record::Pointer(name) => RData::PTR(PTR(absolute(name).ok()?)),
        names::Record::Service { weight, port, target } => {
            RData::SRV(SRV::new(0, *weight, *port, absolute(target).ok()?))
        }
        names::Record::Text(text) => RData::TXT(TXT::new(vec![text.clone()])),
    })
}

fn absolute(name: &str) -> Result<Name, hickory_proto::ProtoError> {
    Name::from_ascii(format!("{name}."))
}

/// What does not fit a datagram says so, and is asked for again over a stream.
fn fit(mut answer: Message, question: &Message, transport: Transport) -> Option<Vec<u8>> {
    if question.edns.is_some() && answer.edns.is_none() {
        let mut edns = Edns::new();
        edns.set_max_payload(DATAGRAM);
        answer.set_edns(edns);
    }
    let most = match transport {
        Transport::Datagram => usize::from(question.max_payload().min(DATAGRAM)),
        Transport::Stream => usize::from(u16::MAX),
    };
    let whole = answer.to_vec().ok()?;
    if whole.len() <= most { Some(whole) } else { answer.truncate().to_vec().ok() }
}
