"""What an SDK offers to its users, and what of it was called."""

import inspect

called = set()


def public(kind):
    """The methods and properties that users see."""
    for name, member in inspect.getmembers(kind):
        if not name.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
            yield f"{kind.__name__}.{name}"


def watch(kind):
    """Notes every call of a public method; what it does stays as it is."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        label = f"{kind.__name__}.{name}"
        if isinstance(member, classmethod):
            setattr(kind, name, classmethod(noted(label, member.__func__)))
        elif inspect.isfunction(member):
            setattr(kind, name, noted(label, member))
        elif isinstance(member, property):
            setattr(kind, name, property(noted(label, member.fget)))


def noted(label, function):
    def call(*arguments, **named):
        called.add(label)
        return function(*arguments, **named)

    call.__signature__ = inspect.signature(function)
    return call


def expect(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found!r} instead of {expected!r}")
