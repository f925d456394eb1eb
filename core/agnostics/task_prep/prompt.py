"""The prompt to reformulate a problem: the paper's words (Appendix B)."""

from __future__ import annotations

from agnostics.task_prep.problem import FunctionProblem

_TASK = """\
You are a competitive programming expert.
You are given a problem that asks you to implement a function.
Your task is to translate the description of the problem into a form that accepts one set of function arguments as \
inputs and return the function return value as output.
Use programming competition style input and outputs -- that is, priorize the use of spaces and newlines to separate \
inputs and outputs over using commas and parentheses (or other delimiters). Specifically, for 2d lists, you should \
print them as a list of lists, where the outer lists elements are separated by newlines and the elements of the inner \
lists are separated by spaces.
For example, a 2d list like [[1, 2], [3, 4]] should be printed as:
1 2
3 4
Do not use any other delimiters.
If there are multiple 2d lists, you should use 2 newlines to separate them.
for example, a 2d list like [[1, 2], [3, 4]] and [[5, 6], [7, 8]] should be printed as:
1 2
3 4
5 6
7 8
If the problem requires outputing decimal numbers, make sure the output format specifies to round all decimal numbers \
to 4 decimal places. In this case, you should also round all the numbers in the output to 4 decimal places.
Do not forget to specify the input and output format in the description.
Here is the problem description:
"""
_CASES = """
Here are the test cases:
"""
_ANSWER = """
You should return a json object with the following fields:
- "description": the description of the problem
- "input_format": a string describing the input format
- "output_format": a string describing the output format
- "tests": a list of test cases, each test case is a json object with the following fields:
- "input": a string that represents the input of the test case, in the same format as the input format in the \
description
- "output": a string that represents the output of the test case, in the same format as the output format in the \
description
Place your response in a single ```json ``` block. Do not include any other text in your response."""


def reformulation_prompt(problem: FunctionProblem) -> str:
    """The prompt to reformulate `problem` as a task with standard input and output."""
    return f"{_TASK}{problem.description}{_CASES}{problem.cases}{_ANSWER}"
