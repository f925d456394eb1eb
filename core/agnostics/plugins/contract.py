"""The contract version that a plugin declares, and its check."""

from __future__ import annotations

from typing import Any

from agnostics.plugins.specs import CHANGES, CONTRACT_VERSION

DOCS = "docs/plugins.md#the-contract-version"


def check_contract(plugin: Any) -> str | None:
    """Check that `plugin` supports this contract; returns a warning if it declares no version.

    Raises RuntimeError if it declares other versions only, or something else than versions.
    """
    versions = _declared_versions(plugin)
    if versions is None:
        module = getattr(plugin, "__name__", type(plugin).__name__)
        return f"declares no contract version; add this line to {module}: AGN_CONTRACT = {CONTRACT_VERSION}"
    if CONTRACT_VERSION not in versions:
        raise RuntimeError(_mismatch(versions))
    return None


def _declared_versions(plugin: Any) -> range | None:
    """The versions that `plugin` supports, or None. Version 1 of the contract called them `AGN_HOOK_CONTRACT`."""
    declared = getattr(plugin, "AGN_CONTRACT", 1 if hasattr(plugin, "AGN_HOOK_CONTRACT") else None)
    if type(declared) is int:
        return range(declared, declared + 1)
    if declared is not None and not (isinstance(declared, range) and declared):
        raise RuntimeError(f"AGN_CONTRACT must be a version or a range of versions, got {declared!r:.80}")
    return declared


def _mismatch(versions: range) -> str:
    if min(versions) > CONTRACT_VERSION:
        upgrade = "run: pip install --upgrade agnostics"
        return f"needs contract version {min(versions)}, this agnostics has version {CONTRACT_VERSION}; {upgrade}"
    changes = "; ".join(f"in {version}, {text}" for version, text in CHANGES.items() if version > max(versions))
    return f"supports contract version {max(versions)}, this agnostics has {CONTRACT_VERSION}: {changes}; see {DOCS}"
