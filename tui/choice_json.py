"""The choice of a machine as JSON data: everything that the text report says, for scripts."""

from __future__ import annotations

from typing import Any

from gpuwhy.engine.deployment import advise
from gpuwhy.engine.selection import Candidate, Choice, Said
from gpuwhy.engine.workload import memory
from gpuwhy.kb.model import KnowledgeBase
from gpuwhy.tui import rules_stamp
from gpuwhy.tui.choice_costs import cost
from gpuwhy.tui.choice_text import estimated, reason


def document(kb: KnowledgeBase, choice: Choice) -> dict[str, Any]:
    """The choice as JSON data; what is not known is null."""
    work, first = choice.work, choice.kept[0] if choice.kept else None
    estimate = memory(work, first.machine.gpus if first else 1)
    return {
        "kb": rules_stamp.document(kb),
        "work": {
            "task": work.task,
            "method": work.method,
            "dtype": work.dtype,
            "parameters": work.shape.parameters,
            "sequence": work.sequence,
            "batch": work.batch,
            "concurrency": work.concurrency,
            "bound_by": work.bound_by,
            "hosts": work.hosts,
        },
        "assumed": list(work.assumed),
        "needs": {
            "per_gpu_bytes": round(estimate.per_gpu_bytes),
            "gpus": estimate.gpus,
            "parts": [{"name": one.name, "bytes": round(one.size_bytes), "says": one.says} for one in estimate.parts],
        },
        "currency": choice.currency,
        "not_compared": dict(choice.uncompared),
        "notes": [_said(one) for one in choice.notes],
        "first": reason(choice) if first else None,
        "estimate": list(estimated(work, first)) if first else [],
        "cost": list(cost(work, first)) if first else [],
        "kept": [_candidate(one) for one in choice.kept],
        "rejected": [_candidate(one) for one in choice.rejected],
        "change": {"says": choice.change.says} | _candidate(choice.change.machine) if choice.change else None,
        "start": _start(kb, choice, first) if first else None,
    }


def _start(kb: KnowledgeBase, choice: Choice, first: Candidate) -> dict[str, Any]:
    advice = advise(kb.catalogue, choice.work, first)
    disk = None if advice.disk is None else {"class": advice.disk.disk_class, "size_gib": advice.disk.size_gib}
    return {
        "cuda": advice.cuda,
        "driver": advice.driver,
        "framework": advice.framework,
        "image": advice.image,
        "kubernetes": advice.snippet,
        "disk": disk,
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    price = one.price
    return {
        "type": one.machine.name,
        "family": one.machine.family,
        "status": one.machine.status,
        "gpu": one.machine.gpu,
        "gpus": one.machine.gpus,
        "needed_bytes": round(one.needed_bytes),
        "gpu_memory_bytes": round(one.machine.gpu_memory_bytes),
        "price_per_hour": None if price is None else price.per_hour,
        "currency": None if price is None else price.currency,
        "price_date": None if price is None else price.date,
        "subscription_per_hour": None if one.subscription is None else one.subscription.per_hour,
        "spot_per_hour": None if one.spot is None else one.spot.per_hour,
        "price_elsewhere": None if one.elsewhere is None else one.elsewhere.per_hour,
        "regions": list(one.regions),
        "hours": one.hours,
        "cost": one.cost,
        "token_seconds": one.token_seconds,
        "open": [_said(said) for said in one.open],
        "most_batched_tokens": one.small_steps,
        "warned": [_said(said) for said in one.warned],
        "told": [_said(said) for said in one.told],
        "rejected": [_said(said) for said in one.rejected],
    }


def _said(one: Said) -> dict[str, Any]:
    return {"rule": one.rule or None, "because": one.because, "claim": one.claim}
