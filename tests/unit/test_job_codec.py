"""Results of runs as they are stored."""

from __future__ import annotations

from agnostics.sandbox.job_codec import KEEP_BYTES, compile_result
from agnostics.sandbox.protocol import RunResult
from agnostics.types.verification import Verdict


def test_a_compilers_message_is_cut_even_if_the_whole_output_was_returned() -> None:
    run = RunResult(Verdict.RUNTIME_ERROR, 1, None, 1.0, 1.0, 1.0, b"x" * 1_000_000, b"", False, None)
    result = compile_result(run)
    assert (result.ok, len(result.message), result.truncated) == (False, KEEP_BYTES, True)
