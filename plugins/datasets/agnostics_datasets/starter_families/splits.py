"""The splits of `starter-families`: each family, each value of a parameter and each input belongs to one of them."""

from __future__ import annotations

from zlib import crc32

SPLITS = ("train", "validation", "test")
VALIDATION = frozenset(
    (
        *("sum_multiples", "sum_of_squares", "range_sum", "range_multiples"),  # sums over a range
        *("gcd", "pair_gcd", "prime_shift", "divisors", "first_divisor"),  # divisors
        *("index_of", "largest_place", "position"),  # places
        *("longer", "count_long", "long_lines", "word_lengths", "all_letters", "longest_word", "two_longer"),  # lengths
        *("box", "fence"),  # sizes
    )
)
TEST = frozenset(
    (
        *("distance", "larger", "smaller", "clamp", "compare"),  # comparisons
        *("pair_distance", "pair_larger", "pair_closest", "pair_both_above"),
        *("remainder", "quotient", "divisible", "next_multiple", "coins", "pair_divisible", "pair_share"),  # division
        *("digit_sum", "reverse_digits", "digit_product", "largest_digit", "digits_above"),  # digits
        *("mirrored_sum", "palindrome", "mirrored_words"),  # reversed texts
        *("later", "minutes"),  # times
        *("scale", "running_totals", "neighbour_differences", "pair_with_sum"),  # lists made of lists
        *("distinct_count", "distinct_join", "distinct_letters"),  # distinct values
        *("shift", "rotated", "rotated_word", "every_kth", "every_kth_letter"),  # rotations and strides
        *("prefix", "suffix", "without_start", "masked"),  # parts of a word
        *("doubled_letters", "run_lengths", "longest_run", "same_start", "same_places"),  # neighbours and pairs
        *("row_sums", "column_maxima"),  # tables
        *("account", "lowest_balance", "best_name"),  # commands and records
    )
)
"""Families that resemble each other are in one split; all that are in neither set are for training."""
_OF_BUCKET = ("validation", "train", "train", "test")


def split_of_family(name: str) -> str:
    """The split of a family."""
    return "test" if name in TEST else "validation" if name in VALIDATION else "train"


def split_of_value(value: int | str) -> str:
    """The split of a parameter's value or of an input: half of them are for training, a quarter for each other split.

    That of an integer depends on its remainder by 4, that of a text on its checksum.
    """
    return _OF_BUCKET[(value if isinstance(value, int) else crc32(value.encode())) % len(_OF_BUCKET)]
