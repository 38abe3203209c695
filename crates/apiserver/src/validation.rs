//! The rules that objects of Kubernetes' own kinds and the metadata of all kinds obey.
