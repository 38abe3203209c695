//! What a default kube-apiserver adds to and refuses in objects on their way in, beyond their schema.
