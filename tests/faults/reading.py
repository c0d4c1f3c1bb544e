"""A reader that asks questions throughout: it is to be answered whatever happens to the runs beside it."""

from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from data_catalog.home import Home
from data_catalog.index.reader import Questions

_QUESTIONS = (
    "SELECT count(*) FROM artifacts",
    "SELECT count(*) FROM results",
    "SELECT count(*) FROM decisions WHERE outcome = 'computed'",
)


@dataclass
class Reader:
    """How often a reader was answered, and what it complains about; both are known when it has stopped."""

    asked: int = 0
    complaints: list[str] = field(default_factory=list)


def read_until(stop: Event, home: Home, pause: float, told: Connection) -> None:
    """Ask one question after the other; tell how many were answered, and each failure and each number that shrank."""
    asked, complaints = 0, list[str]()
    last = dict.fromkeys(_QUESTIONS, 0)
    while not stop.wait(pause):
        try:
            with Questions(home) as questions:
                for question in _QUESTIONS:
                    ((count,),) = questions.ask(question).rows
                    if count < last[question]:
                        complaints.append(f"{question}: {last[question]} have become {count}")
                    last[question] = count
                    asked += 1
        except Exception as error:
            complaints.append(f"a question failed: {type(error).__name__}: {error}")
    told.send((asked, complaints))
