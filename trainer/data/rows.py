"""Documents of chat data into rows of one length: best fit, longest first, the same plan on every rank."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Plan:
    """Row r holds documents `documents[starts[r]:starts[r + 1]]`; `cut` of them are longer than a row."""

    starts: NDArray[np.int64]
    documents: NDArray[np.int64]
    cut: int

    def __len__(self) -> int:
        return len(self.starts) - 1


def plan(lengths: NDArray[np.int64], capacity: int) -> Plan:
    """Put documents into rows of `capacity` tokens. Too long ones get a row of their own and are cut at its end."""
    order = np.argsort(-lengths, kind="stable")
    rows: list[list[int]] = []
    by_room: dict[int, list[int]] = {}
    rooms: list[int] = []
    for document in order.tolist():
        length = min(int(lengths[document]), capacity)
        if length == 0:
            continue
        place = bisect_left(rooms, length)
        if place < len(rooms):
            room = rooms[place]
            row = by_room[room].pop()
            if not by_room[room]:
                del by_room[room]
                rooms.pop(place)
        else:
            room, row = capacity, len(rows)
            rows.append([])
        rows[row].append(document)
        left = room - length
        if left:
            if left not in by_room:
                by_room[left] = []
                insort(rooms, left)
            by_room[left].append(row)
    starts = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    flat = np.asarray([document for row in rows for document in row], dtype=np.int64)
    return Plan(starts, flat, int((lengths > capacity).sum()))
