"""report.html at the end of a run, in the process that reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_voicebench.plugin.options import HTML_EMBED

if TYPE_CHECKING:
    import pytest

    from pytest_voicebench.saved_run import SavedRun
    from pytest_voicebench.summary import Summary


def page_trouble(config: pytest.Config, run: SavedRun, summary: Summary) -> list[str]:
    """Write the page; gives a line where that failed, which is no reason to lose anything else of the run."""
    from pytest_voicebench.page.write import PAGE_NAME, write_page, write_page_with_sound

    write = write_page_with_sound if config.getoption(HTML_EMBED.removeprefix("--").replace("-", "_")) else write_page
    try:
        write(run, summary)
    except Exception as error:  # noqa: BLE001 - the page only shows what the other files hold
        return [f"cannot write {run.folder / PAGE_NAME}: {getattr(error, 'strerror', None) or error}"]
    return []
