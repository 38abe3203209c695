//! What the decoder makes of good, bad, cut and random bytes.

use proptest::prelude::*;

use super::super::encoder::Encoder;
use super::super::headers::Headers;
use super::*;

fn encoded(frames: &[Frame]) -> BytesMut {
    let mut encoder = Encoder::new().unwrap();
    let mut output = BytesMut::new();
    for frame in frames {
        encoder.encode(frame, &mut output).unwrap();
    }
    output
}

/// Decodes what arrives in pieces of `size` bytes, and puts data that was split together again.
fn decoded(bytes: &[u8], size: usize) -> Result<Vec<Frame>, Error> {
    let mut decoder = Decoder::default();
    let mut input = BytesMut::new();
    let mut frames = Vec::new();
    for piece in bytes.chunks(size) {
        input.extend_from_slice(piece);
        while let Some(frame) = decoder.decode(&mut input)? {
            frames.push(frame);
        }
    }
    Ok(frames)
}

fn stream(number: u32) -> StreamId {
    StreamId::new(number).unwrap()
}

fn data(bytes: &'static [u8], fin: bool) -> Frame {
    Frame::Data { stream: stream(1), bytes: Bytes::from_static(bytes), fin }
}

/// Data may arrive in more frames than were sent, so that is compared by its bytes.
fn joined(frames: Vec<Frame>) -> Vec<Frame> {
    let mut result: Vec<Frame> = Vec::new();
    for frame in frames {
        match (result.last_mut(), frame) {
            (
                Some(Frame::Data { stream: known, bytes, fin: open @ false }),
                Frame::Data { stream, bytes: more, fin },
            ) if *known == stream => {
                *bytes = Bytes::from([&bytes[..], &more[..]].concat());
                *open = fin;
            }
            (_, frame) => result.push(frame),
        }
    }
    result
}

#[test]
fn a_frame_that_has_not_arrived_whole_is_waited_for() {
    let whole = encoded(&[Frame::Ping { id: 7 }]);
    for end in 0..whole.len() {
        assert_eq!(decoded(&whole[..end], usize::MAX), Ok(vec![]), "{end} bytes");
    }
    assert_eq!(decoded(&whole, usize::MAX), Ok(vec![Frame::Ping { id: 7 }]));
}

#[test]
fn data_is_handed_on_as_it_arrives_and_its_end_with_the_last_bytes() {
    let bytes = encoded(&[data(b"abc", true)]);
    assert_eq!(decoded(&bytes, 9), Ok(vec![data(b"a", false), data(b"bc", true)]));
    assert_eq!(decoded(&encoded(&[data(b"", true)]), 1), Ok(vec![data(b"", true)]));
}

#[test]
fn frames_without_meaning_here_are_passed_over_however_long() {
    let mut bytes = b"\x80\x03\x00\x04\x00\xff\xff\xff".to_vec();
    bytes.resize(8 + 0xff_ffff, 0);
    bytes.extend(encoded(&[Frame::Ping { id: 1 }]));
    assert_eq!(decoded(&bytes, 1 << 16), Ok(vec![Frame::Ping { id: 1 }]));
}

#[test]
fn what_no_peer_may_send_is_an_error() {
    let cases: [(&[u8], Error); 6] = [
        (b"\x80\x02\x00\x01\x00\x00\x00\x00", Error::Version(2)),
        (b"\x00\x00\x00\x00\x00\x00\x00\x00", Error::StreamZero),
        (b"\x80\x03\x00\x01\x00\xff\xff\xff", Error::TooLong(0xff_ffff)),
        (b"\x80\x03\x00\x06\x00\x00\x00\x01\x00", Error::Malformed(PING)),
        (b"\x80\x03\x00\x03\x00\x00\x00\x08\x00\x00\x00\x01\x00\x00\x00\x00", Error::Malformed(RST_STREAM)),
        (b"\x80\x03\x00\x02\x00\x00\x00\x08\x00\x00\x00\x01zlib", Error::Decompress),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decoded(bytes, usize::MAX), Err(expected), "{bytes:?}");
    }
}

fn streams() -> impl Strategy<Value = StreamId> {
    (1..=0x7fff_ffff_u32).prop_map(stream)
}

fn headers() -> impl Strategy<Value = Headers> {
    prop::collection::vec(("[a-z-]{1,12}", "\\PC{0,40}"), 0..6).prop_map(Headers::from_iter)
}

fn frames() -> impl Strategy<Value = Frame> {
    prop_oneof![
        (streams(), headers(), any::<bool>(), any::<bool>()).prop_map(
            |(stream, headers, fin, unidirectional)| Frame::SynStream {
                stream,
                headers,
                fin,
                unidirectional
            }
        ),
        (streams(), headers(), any::<bool>()).prop_map(|(stream, headers, fin)| Frame::SynReply {
            stream,
            headers,
            fin
        }),
        (streams(), headers(), any::<bool>()).prop_map(|(stream, headers, fin)| Frame::Headers {
            stream,
            headers,
            fin
        }),
        (streams(), 1..=u32::MAX)
            .prop_map(|(stream, status)| Frame::RstStream { stream, reset: Reset::new(status).unwrap() }),
        any::<u32>().prop_map(|id| Frame::Ping { id }),
        any::<(u32, u32)>().prop_map(|(last, status)| Frame::GoAway { last, status }),
        (streams(), prop::collection::vec(any::<u8>(), 0..300), any::<bool>())
            .prop_map(|(stream, bytes, fin)| Frame::Data { stream, bytes: bytes.into(), fin }),
    ]
}

proptest! {
    #[test]
    fn what_was_written_is_read_however_the_network_cuts_it(
        frames in prop::collection::vec(frames(), 0..12),
        size in 1_usize..400,
    ) {
        prop_assert_eq!(decoded(&encoded(&frames), size).map(joined), Ok(joined(frames)));
    }

    #[test]
    fn arbitrary_bytes_are_frames_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
        size in 1_usize..400,
    ) {
        let _ = decoded(&bytes, size);
    }

    /// Random bytes seldom get past the first word, so these have good first words and random bodies.
    #[test]
    fn control_frames_of_arbitrary_content_are_frames_or_an_error(
        kind in 0_u16..12,
        flags in any::<u8>(),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let length = u32::try_from(body.len()).unwrap() | u32::from(flags) << 24;
        let bytes = [&[0x80, 3][..], &kind.to_be_bytes(), &length.to_be_bytes(), &body].concat();
        let _ = decoded(&bytes, usize::MAX);
    }

    /// A flipped bit in compressed headers must not do worse than end the session.
    #[test]
    fn damaged_frames_are_frames_or_an_error(
        frames in prop::collection::vec(frames(), 1..6),
        place in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let mut bytes = encoded(&frames);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let _ = decoded(&bytes, usize::MAX);
    }
}
