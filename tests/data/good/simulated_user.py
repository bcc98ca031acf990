"""A user that asks until it has an answer."""


def asks(conversation):
    yield {"say": "Where is order K two?"}
