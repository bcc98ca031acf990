"""A mock."""


def find(arguments, state):
    return {}
