"""Carries out flows against a script instead of a server."""

import json

from agent_sandbox._wire import Answer, Consume, Pause, Work


def ok(body=None, status=200, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    return Answer(status, headers, content)


class Script:
    """Answers one request after the other, and remembers them. An answer may be an error, or the chunks of a feed."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.paused = 0

    def run(self, flow):
        try:
            operation = next(flow)
            while True:
                try:
                    value = self.perform(operation)
                except Exception as error:
                    operation = flow.throw(error)
                else:
                    operation = flow.send(value)
        except StopIteration as stop:
            return stop.value

    def perform(self, operation):
        if isinstance(operation, Pause):
            self.paused += 1
            return None
        if isinstance(operation, Consume):
            while not operation.feed.ended:
                self.feed(operation.feed)
            return None
        if isinstance(operation, Work):
            return operation.function()
        return self.next(operation.request)

    def feed(self, feed):
        chunks = self.next(feed.request())
        broken = None
        for chunk in chunks:
            if isinstance(chunk, Exception):
                broken = chunk
                break
            feed.feed(chunk)
            if feed.ended:
                return
        feed.closed(broken)

    def next(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def said(self):
        return [f"{request.method} {request.path}" for request in self.requests]


def line(value):
    return json.dumps(value).encode() + b"\n"
