"""Minimum number of prompt tokens that a server must compute, in any order of the calls.

Invariant: a property of the prompts' token ids alone; no server is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

BLOCK_TOKENS = 16
"""A prefix is shared in whole blocks of this many tokens."""


def ideal_computed(prompts: Sequence[Sequence[int]], block: int = BLOCK_TOKENS) -> int:
    """Prompt tokens to compute if every shared block were computed once.

    The whole blocks of all prompts make a trie, each block below the one before it. Computed are

        block x (distinct blocks of the trie) + sum over prompts of (tokens after the last whole block)

    and, because the last token of a prompt is always computed, one more `block` for each prompt that ends with a
    block and finds all of its blocks there. Shorter prompts are taken first, so that a prompt is charged that
    block only where an equal one came before it: no order of calls does with less.
    """
    trie: dict[tuple[int, tuple[int, ...]], int] = {}
    computed = 0
    for tokens in sorted(prompts, key=len):
        node = hits = 0
        for start in range(0, len(tokens) - block + 1, block):
            step = (node, tuple(tokens[start : start + block]))
            hits += step in trie
            node = trie.setdefault(step, len(trie) + 1)
        computed += len(tokens) - block * min(hits, (len(tokens) - 1) // block)
    return computed
