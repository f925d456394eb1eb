"""The prompt for a taxonomy of the mistakes in a new language: the paper's instructions (Appendix E.1)."""

from __future__ import annotations

from agnostics.analysis.advice.prompts import AdvicePrompts

_INPUT = """\
Input: What follows are multiple failed {language} programs with their:
- Source code
- Expected output
- Actual standard output
- Error messages (where applicable)"""
_TASK = """\
Objective: Analyze these program failures systematically to create a comprehensive taxonomy of 10-12 bug themes that \
categorize the underlying causes of failure.

Instructions:
1. Initial Analysis
- Read through ALL program examples carefully
- For each failure, identify the root cause (not just the symptom)
- Note any patterns or commonalities across failures
2. Taxonomy Development
- Create 10-12 distinct bug themes that collectively cover all observed failures
- Each theme should represent a fundamental type of programming error or misconception
- Themes should be mutually exclusive when possible, but comprehensive in coverage
- Order themes from most to least frequent (or by logical grouping)
3. For Each Bug Theme, Provide:
- Theme Name: A concise, descriptive title
- Description: 2-3 sentences explaining the nature of this bug type
- Common Symptoms: How these bugs typically manifest (error messages, incorrect output, etc.)
- Root Causes: The underlying programming mistakes or misconceptions
- Examples: Reference 2-3 specific programs from the file that exhibit this theme
- Prevention Tips: Brief advice on how to avoid this type of bug
4. Constraints:
- Focus on {language}-specific issues as well as general programming errors
- Base your taxonomy ONLY on the provided examples
- You may search online ONLY to understand specific {language} error messages or function behavior, not for existing \
bug taxonomies
- Ensure every failed program in the file can be classified under at least one theme
5. Deliverable Format: Present your taxonomy as a numbered list with clear formatting and comprehensive coverage of \
all observed failure patterns. Supply a short explanation for each theme in your taxonomy."""


def taxonomy_prompt(prompts: AdvicePrompts) -> str:
    """The prompt with the first batch of programs of `prompts`: as many as fit."""
    return prompts.render(_INPUT, prompts.batches[0], _TASK)
