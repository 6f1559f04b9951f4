"""A run in a process of its own, for tests that kill it: store, agent, trials, workers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from helpers import Traced, kiosk_plan

from passhat.harness.run import Effort, resume_run, start_run
from passhat.harness.store import open_store

if __name__ == "__main__":
    where, agent, trials, workers = sys.argv[1:5]
    with open_store(where, create=True) as store:
        effort = Effort(concurrency=2, workers=int(workers))
        if agent == "resume":
            ended = resume_run(store, store.find_run("last"), Traced(), effort)
        else:
            ended = start_run(store, kiosk_plan(agent, int(trials)), Traced(), effort)
    sys.exit(130 if ended.interrupted else 0)
