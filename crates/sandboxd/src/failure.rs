//! A refusal, whichever contract it was asked under: a code that all of them know, and what to say. How it is written is the
//! business of `http::answer`, `legacy` and `grpc`.

use rustix::io::Errno;

/// The codes of REST and of gRPC have the same names; these are those that occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidArgument,
    Unauthenticated,
    PermissionDenied,
    NotFound,
    Conflict,
    FailedPrecondition,
    TooLarge,
    ResourceExhausted,
    DeadlineExceeded,
    Unimplemented,
    Internal,
    Unavailable,
}

impl Code {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument | Self::TooLarge => "INVALID_ARGUMENT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::NotFound => "NOT_FOUND",
            Self::Conflict => "CONFLICT",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
        }
    }

    pub(crate) fn http(self) -> u16 {
        match self {
            Self::InvalidArgument => 400,
            Self::Unauthenticated => 401,
            Self::PermissionDenied => 403,
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::FailedPrecondition => 412,
            Self::TooLarge => 413,
            Self::ResourceExhausted => 429,
            Self::DeadlineExceeded => 408,
            Self::Unimplemented => 501,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    pub(crate) fn grpc(self) -> u8 {
        match self {
            Self::InvalidArgument => 3,
            Self::DeadlineExceeded => 4,
            Self::NotFound => 5,
            Self::Conflict => 6,
            Self::PermissionDenied => 7,
            Self::TooLarge | Self::ResourceExhausted => 8,
            Self::FailedPrecondition => 9,
            Self::Unimplemented => 12,
            Self::Internal => 13,
            Self::Unavailable => 14,
            Self::Unauthenticated => 16,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// What the kernel said of something that was tried.
    pub(crate) fn of(errno: Errno, tried: &str) -> Self {
        let code = match errno {
            Errno::NOENT | Errno::NOTDIR => Code::NotFound,
            Errno::ACCESS | Errno::PERM | Errno::XDEV | Errno::ROFS => Code::PermissionDenied,
            Errno::EXIST | Errno::NOTEMPTY | Errno::BUSY => Code::Conflict,
            Errno::ISDIR | Errno::NAMETOOLONG | Errno::INVAL | Errno::LOOP | Errno::TOOBIG => {
                Code::InvalidArgument
            }
            _ => Code::Internal,
        };
        let reason = match errno {
            Errno::XDEV => "it leads out of the root directory".to_owned(),
            other => reason(other),
        };
        Self::new(code, format!("{tried}: {reason}"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(errno) => Self::of(errno, "the request failed"),
            None => Self::internal(error.to_string()),
        }
    }
}

/// The words of the C library, without the number behind them.
pub(crate) fn reason(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_is_denied_and_says_so() {
        let failure = Failure::of(Errno::XDEV, "reading a");
        assert_eq!(failure.code, Code::PermissionDenied);
        assert_eq!(failure.message, "reading a: it leads out of the root directory");
    }

    #[test]
    fn the_kernels_words_come_without_its_numbers() {
        assert_eq!(Failure::of(Errno::NOENT, "reading a").message, "reading a: no such file or directory");
    }
}
