"""The tables of the store, for every database that SQLAlchemy speaks to."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from ..transcript import Usage

SCHEMA: Final = 2
"""Version of these tables. A store of a newer one is refused, not guessed at."""

METADATA = MetaData()
_ID = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER counts up by itself there

META = Table("passhat_store", METADATA, Column("schema", Integer, primary_key=True))

RUNS = Table(
    "runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, unique=True),
    Column("created", Text, nullable=False, index=True),
    Column("status", Text, nullable=False),
    Column("domain", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("trials", Integer, nullable=False),
    Column("tasks", Text, nullable=False),
    Column("synthetic", Boolean, nullable=False),
    Column("conditions", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("parts", Text, nullable=False),
    Column("versions", Text, nullable=False),
    Column("baseline", Text),
    Column("claim", Text),
    Column("heartbeat", Float),
)

TRIALS = Table(
    "trials",
    METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("run", Text, ForeignKey("runs.id"), nullable=False),
    Column("task", Text, nullable=False),
    Column("trial", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("reward", Float),
    Column("fault", Text),
    Column("reason", Text, nullable=False),
    Column("ending", Text, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("tool_calls", Integer, nullable=False),
    Column("tool_errors", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("input_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("cost_dollars", Float),
    Column("basis", Text, nullable=False),
    Column("finished", Text, nullable=False),
    UniqueConstraint("run", "task", "trial"),
)

VERDICTS = Table(
    "verdicts",
    METADATA,
    Column("trial", _ID, ForeignKey("trials.id"), primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("grader", Text, nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("score", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    sqlite_with_rowid=False,  # one tree to write to instead of two
)

TRANSCRIPTS = Table(
    "transcripts",
    METADATA,
    Column("trial", _ID, ForeignKey("trials.id"), primary_key=True, autoincrement=False),
    Column("packed", LargeBinary, nullable=False),
)

BASELINES = Table(
    "baselines",
    METADATA,
    Column("fingerprint", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("scored", Integer, nullable=False),
    Column("passed", Integer, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("created", Text, nullable=False),
)

TOKENS: Final = tuple(name for name in Usage.model_fields if name != "cost_dollars")
"""The columns of tokens, one for each part of what a reply is paid by."""

SPENDING = Table(
    "spending",
    METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("run", Text, ForeignKey("runs.id"), nullable=False, index=True),
    Column("task", Text, nullable=False),
    Column("trial", Integer, nullable=False),
    Column("side", Text, nullable=False),
    Column("requests", Integer, nullable=False),
    *(Column(name, BigInteger) for name in TOKENS),
    Column("cost_dollars", Float),
    Column("finished", Text, nullable=False),
)
"""What each attempt spent on models, the lost ones too; ``task`` is "" for what no trial caused."""

LABELS = Table(
    "labels",
    METADATA,
    Column("run", Text, ForeignKey("runs.id"), primary_key=True),
    Column("task", Text, primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("person", Text, primary_key=True),
    Column("passed", Boolean),
    Column("fault", Text),
    Column("note", Text, nullable=False),
    Column("blind", Boolean, nullable=False),
    Column("labelled", Text, nullable=False),
)
"""What people say about trials; ``passed`` is null for "unsure", ``blind`` means that neither the
grade nor anybody's label was shown before."""
