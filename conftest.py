"""Your own agent under test: override the fixture `agent`, here or in the conftest.py beside your suites.

What it gives is a description, not a connection: `info` says what reports say, `connect(setup)` opens a line for one
conversation (see pytest_voicebench/agents/protocol.py). Uncomment, and run `pytest suites/fdb3` without `--agent`:

    import pytest
    from my_company.voice import MyAgent        # has `info` and `connect(setup)`

    @pytest.fixture(scope="session")
    def agent():
        return MyAgent(url="wss://voice.example/v1", voice="kim")

To compare several, give the fixture `params`; each needs a name of its own in its `info`. To change one that `--agent`
names, take it and build on it:

    @pytest.fixture
    def agent(agent):
        return Recorded(agent)

An async fixture must live in the session's event loop: decorate it with @pytest_asyncio.fixture(loop_scope="session"),
or set `asyncio_mode = auto` and `asyncio_default_fixture_loop_scope = session`. A server that it starts belongs in a
thread or process of its own: the loop stands still between conversations.
"""
