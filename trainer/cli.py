"""The command line. Each command imports what it needs, so that `launch` is listening for signals at once."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from trainer import __version__, exits
from trainer.exits import Stop
from trainer.train import Parser


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    first, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
    if first == "launch":
        from trainer import launch

        return launch.main(rest[1:] if rest[:1] == ["--"] else rest)
    if first == "train":
        from trainer import train

        return train.main(rest)
    try:
        if first == "doctor":
            from trainer import doctor

            return doctor.main(rest)
        return _dispatch(_parser().parse_args(list(arguments)))
    except Stop as stop:
        print(f"trainer: {stop.reason}", file=sys.stderr)
        return stop.code


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="trainer", description="Train a causal language model that survives preemption.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    commands.add_parser("launch", help="start a node's ranks: torchrun's arguments, PET_* variables, honest exit codes")
    commands.add_parser("train", help="run one rank (or all of it, without a launcher)")
    commands.add_parser(
        "doctor", help="look at this node before a run: GPUs, all-reduce, /dev/shm, volume, name, clock"
    )
    commands.add_parser("exits", help="the table of exit codes as JSON")
    config = commands.add_parser("config", help="schema, or the checked configuration")
    config.add_argument("action", choices=("schema", "check", "show"))
    config.add_argument("--config", metavar="FILE")
    config.add_argument("--set", metavar="SECTION.KEY=VALUE", action="append", default=[])
    data = commands.add_parser("data", help="make or look at a packed dataset")
    actions = data.add_subparsers(dest="action", required=True, parser_class=Parser)
    pack = actions.add_parser("pack", help="jsonl, text or parquet into shards")
    pack.add_argument("inputs", nargs="+", type=Path, help=".jsonl, .txt, .md, .rst, .parquet files or folders of them")
    pack.add_argument("--output", required=True, type=Path, help="new folder")
    pack.add_argument("--tokenizer", default="byte", help="byte (the default), or a tokenizer.json")
    pack.add_argument("--kind", choices=("text", "chat"), default="text", help="chat learns what the assistant says")
    pack.add_argument("--text-field", default="text", help="field of a record that holds the text (default: text)")
    pack.add_argument("--shard-tokens", type=int, default=100_000_000, help="tokens in a shard (default: 100 million)")
    for name, text in (("inspect", "print the manifest"), ("verify", "check every hash")):
        actions.add_parser(name, help=text).add_argument("folder", type=Path)
    between = actions.add_parser("diff", help="what differs between two datasets")
    between.add_argument("old", type=Path)
    between.add_argument("new", type=Path)
    ckpt = commands.add_parser("ckpt", help="look after checkpoints")
    actions = ckpt.add_subparsers(dest="action", required=True, parser_class=Parser)
    actions.add_parser("ls", help="what is there").add_argument("folder", type=Path)
    actions.add_parser("verify", help="check every hash").add_argument("folder", type=Path)
    prune = actions.add_parser("prune", help="keep the newest")
    prune.add_argument("folder", type=Path)
    prune.add_argument("--keep", type=int, required=True)
    diff = actions.add_parser("diff", help="what differs between two checkpoints")
    diff.add_argument("old", type=Path)
    diff.add_argument("new", type=Path)
    export = commands.add_parser("export", help="weights as safetensors with a config.json that transformers reads")
    export.add_argument("checkpoint", type=Path)
    export.add_argument("output", type=Path)
    export.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    plot = commands.add_parser("plot", help="loss and throughput of runs as a PNG (needs matplotlib)")
    plot.add_argument("runs", nargs="+", help="run folders or metrics.jsonl files; LABEL=PATH names a curve")
    plot.add_argument("--output", required=True, type=Path)
    return parser


def _dispatch(options: argparse.Namespace) -> int:
    if options.command == "exits":
        _print(exits.as_rows())
    elif options.command == "config":
        from trainer import config, config_load

        if options.action == "schema":
            _print(config.json_schema())
        else:
            loaded = config_load.load(options.config, options.set)
            if options.action == "show":
                _print(loaded.model_dump(mode="json"))
            else:
                print(f"{options.config or 'the defaults'}: valid, digest {loaded.digest()}")
    elif options.command == "data":
        return _data(options)
    elif options.command == "ckpt":
        from trainer.checkpoint import manage

        return manage.run(options)
    elif options.command == "export":
        from trainer import export

        _print(export.export(options.checkpoint, options.output, options.dtype))
    elif options.command == "plot":
        from trainer import plot

        plot.plot(plot.read_all(options.runs), options.output)
    return exits.FINISHED


def _data(options: argparse.Namespace) -> int:
    from trainer.data import manifest, pack, tokenizer

    if options.action == "pack":
        made = pack.pack(
            options.inputs,
            options.output,
            tokenizer.open_tokenizer(options.tokenizer),
            kind=options.kind,
            text_field=options.text_field,
            shard_tokens=options.shard_tokens,
        )
        _print({"digest": made.digest, "tokens": made.tokens, "documents": made.documents, "shards": len(made.shards)})
        return exits.FINISHED
    if options.action == "diff":
        from trainer.data import diff

        _print(diff.diff(manifest.read(options.old), manifest.read(options.new)))
        return exits.FINISHED
    found = manifest.read(options.folder)
    if options.action == "verify":
        manifest.verify(options.folder, found, "hash")
        print(f"{options.folder}: {len(found.shards)} shards, {found.tokens} tokens, all hashes match")
    else:
        _print(found.model_dump(mode="json"))
    return exits.FINISHED


def _print(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
