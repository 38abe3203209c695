//! Turns the bytes of a request into an object, as strictly as the client asked for.
