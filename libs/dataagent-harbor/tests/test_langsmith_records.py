"""What LangSmith is sent: ids that come out the same, and the fields its feedback must have."""

from __future__ import annotations

import uuid
from dataclasses import replace

from dataagent_harbor import Question, score
from dataagent_harbor.langsmith import examples_of, feedback_of, trace_id_of, trace_of
from dataagent_harbor.results import GradedResult
from dataagent_harbor.transcripts import Transcript
from tests.requirements import requirement

ASKED = Question("How many albums are there?", "albums", category="count")
SAID = Transcript(end="answered", answer="347", seconds=1.5, asked_at=1_700_000_000.25, run_id="r1")
RESULT = GradedResult(ASKED, 1, score(ASKED, SAID), SAID)
DATASET = uuid.UUID(int=7)


@requirement("R28.4")
def test_feedback_names_the_question_its_category_and_its_time() -> None:
    passed, time = feedback_of(RESULT, "shop")
    about = {"question_id": "albums", "category": "count", "response_time": 1.5}
    assert (passed["key"], passed["score"], passed["source_info"]) == ("passed", 1.0, about)
    assert (time["key"], time["score"], time["source_info"]) == ("response_time", 1.5, about)


def test_the_same_result_is_the_same_trace_and_another_is_another() -> None:
    trace_id = trace_id_of(RESULT, "shop")
    assert trace_id.version == 7
    assert trace_id == trace_id_of(RESULT, "shop")
    other = replace(RESULT, transcript=replace(SAID, run_id="r2"))
    assert trace_id_of(other, "shop") != trace_id != trace_id_of(RESULT, "bank")
    assert trace_of(RESULT, "shop")["dotted_order"].endswith(f"Z{trace_id}")


def test_a_follow_up_is_an_example_that_says_what_it_follows() -> None:
    after = Question("And songs?", "songs")
    first, second = examples_of(DATASET, [replace(ASKED, follow_ups=(after,))])
    assert first["metadata"]["follows"] is None
    assert second["metadata"]["follows"] == "albums"
    assert first["id"] == uuid.uuid5(DATASET, "albums") != second["id"]
