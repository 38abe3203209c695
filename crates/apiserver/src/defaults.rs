//! The values that Kubernetes' own kinds get where the writer left them out.
