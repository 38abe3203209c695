//! CustomResourceDefinitions: whether one is in order, and the kinds that it defines.
