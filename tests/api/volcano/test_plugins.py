"""The mpi plugin's arguments, read as Go's flag package reads them."""

from __future__ import annotations

import pytest

from trainshed.api.volcano.plugins import mpi_master, service_plugin


@pytest.mark.parametrize(
    ("arguments", "master"),
    [
        ([], "master"),
        (["--master=m"], "m"),
        (["-master=m"], "m"),
        (["--master", "m"], "m"),
        (["--worker=w", "--port=22", "--master=m"], "m"),
        (["--master=m", "--master=n"], "n"),
        (["--unknown=1", "--master=m"], "master"),
        (["master=m"], "master"),
        (["--port=many", "--master=m"], "master"),
        (["--master"], "master"),
    ],
)
def test_reading_stops_where_go_stops(arguments: list[str], master: str) -> None:
    assert mpi_master(arguments) == master


def test_which_plugins_make_a_service() -> None:
    assert service_plugin({"env": [], "ssh": []}) == ""
    assert service_plugin({"env": [], "mpi": []}) == "mpi"
