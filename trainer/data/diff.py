"""What differs between two packed datasets, from their manifests alone."""

from __future__ import annotations

from trainer.data.manifest import Manifest


def diff(old: Manifest, new: Manifest) -> dict[str, object]:
    """Sources added, removed and changed (by name), changed settings as [old, new], and the sums' differences."""
    before, after = ({source.name: source.sha256 for source in manifest.sources} for manifest in (old, new))
    settings = {
        name: [was, now]
        for name, was, now in (
            ("kind", old.kind, new.kind),
            ("template", old.template, new.template),
            ("tokenizer", old.tokenizer.sha256, new.tokenizer.sha256),
            ("dtype", old.dtype, new.dtype),
        )
        if was != now
    }
    shards = {shard.data.sha256 for shard in old.shards}
    return {
        "same": old.digest == new.digest,
        "settings": settings,
        "sources": {
            "added": sorted(after.keys() - before.keys()),
            "removed": sorted(before.keys() - after.keys()),
            "changed": sorted(name for name in before.keys() & after.keys() if before[name] != after[name]),
        },
        "shards": {
            "kept": sum(s.data.sha256 in shards for s in new.shards),
            "old": len(old.shards),
            "new": len(new.shards),
        },
        "tokens": new.tokens - old.tokens,
        "documents": new.documents - old.documents,
    }
