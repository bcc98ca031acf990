from hypothesis import settings

pytest_plugins = ["pytester"]

settings.register_profile("voicebench", deadline=None)  # a deadline would be a timing, and a busy machine would fail it
settings.load_profile("voicebench")
