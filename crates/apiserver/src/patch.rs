//! JSON patch, merge patch and strategic merge patch, as functions from object and patch to object.
