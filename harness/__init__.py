"""The harness: runs trials, keeps them, resumes, and says what they show. It knows no domain.

From one trial upwards: `trials` (identity, seeds), `play` (drives one episode), `attempt` (episode,
agent and grade together), `run` (many of them: checks, interrupts, resume), `workers` (the same in
other processes), `store` (where they are kept; with `opening`, `tables`, `records`), `baseline`,
`fingerprint`, `selection` (which tasks). What they show: `curve`, `statistics`, `compounding`,
`plots`, `sources`.
"""
