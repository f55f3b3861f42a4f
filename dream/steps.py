"""The steps of a night, in order: pure functions; a snapshot, the settings and a judge in, a proposal out."""

from collections.abc import Callable, Mapping

from reverie.dream.beliefs import beliefs
from reverie.dream.cluster import cluster
from reverie.dream.dedupe import dedupe
from reverie.dream.digest import digest
from reverie.dream.drift import drift
from reverie.dream.forget import forget
from reverie.dream.judge import Judge
from reverie.dream.peer_cards import peer_cards
from reverie.dream.plan import Proposal, StepName
from reverie.dream.prune import prune
from reverie.dream.snapshot import Snapshot
from reverie.dream.sweep import sweep
from reverie.dream.synthesis import synthesis
from reverie.settings import Settings

Step = Callable[[Snapshot, Settings, Judge], Proposal]

STEPS: Mapping[StepName, Step] = {
    "sweep": sweep,
    "forget": forget,
    "dedupe": dedupe,
    "cluster": cluster,
    "digest": digest,
    "peer_cards": peer_cards,
    "synthesis": synthesis,
    "beliefs": beliefs,
    "drift": drift,
    "prune": prune,
}
