"""Conversations to tokens with a loss mask: only what the assistant says is learned."""

from __future__ import annotations

from typing import Any

from trainer import exits
from trainer.data.tokenizer import Tokenizer
from trainer.exits import Stop

START, END = "<|im_start|>", "<|im_end|>"
ROLES = ("system", "user", "assistant", "tool")
TEMPLATE = "chatml"
"""Name of the only template: `<|im_start|>role\\ncontent<|im_end|>\\n` per message, as ChatML defines it."""


def messages_of(record: dict[str, Any], place: str) -> list[tuple[str, str]]:
    """(role, content) pairs of `{"messages": [...]}` or `{"prompt": ..., "completion": ...}`; `Stop` 65 otherwise."""
    if "messages" not in record:
        prompt, completion = record.get("prompt"), record.get("completion")
        if isinstance(prompt, str) and isinstance(completion, str):
            return [("user", prompt), ("assistant", completion)]
        raise Stop(exits.DATA, f"{place}: has neither messages nor prompt and completion")
    pairs: list[tuple[str, str]] = []
    for message in record["messages"]:
        role = message.get("role") if isinstance(message, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        if role not in ROLES or not isinstance(content, str):
            raise Stop(exits.DATA, f"{place}: a message needs a role ({', '.join(ROLES)}) and text as content")
        pairs.append((role, content))
    if not any(role == "assistant" for role, _ in pairs):
        raise Stop(exits.DATA, f"{place}: no message of the assistant, so nothing to learn")
    return pairs


def render(pairs: list[tuple[str, str]], tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Tokens and mask (1: learned) of a conversation. The assistant's closing token is learned, its header is not."""
    start, end = tokenizer.special(START), tokenizer.special(END)
    if start is None or end is None:
        raise Stop(exits.DATA, f"tokenizer {tokenizer.name}: the chat template needs {START} and {END}")
    newline = tokenizer.encode("\n")
    tokens: list[int] = []
    mask: list[int] = []
    for role, content in pairs:
        header = [start, *tokenizer.encode(role), *newline]
        body = [*tokenizer.encode(content), end]
        tokens += [*header, *body, *newline]
        mask += [0] * len(header) + [int(role == "assistant")] * len(body) + [0] * len(newline)
    return tokens, mask
