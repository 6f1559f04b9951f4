"""What can go wrong, and whose fault it is.

    PasshatError
    ├── UsageError          the person at the keyboard: one line, exit code 2
    │   └── RunStoppedError     nothing of this run can go on: bad key, no such model
    ├── ToolError           the agent: it reads the message and may try again
    └── Fault errors        the trial is lost, never failed
        ├── SimulatorError      the user simulator said what it must not say
        ├── BrokenToolError     a tool raised something other than ToolError
        ├── TaskError           the task cannot be set up, or its reference cannot be reached
        ├── GraderError         a grader crashed
        └── InfrastructureError provider, network, budget, disk

Whatever else escapes from an agent under test is the agent's own failure.
"""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """Whose fault it is that a trial did not pass. Only ``AGENT`` counts against the agent."""

    AGENT = "agent"
    SIMULATOR = "simulator"
    TOOL = "tool"
    TASK = "task"
    GRADER = "grader"
    INFRASTRUCTURE = "infrastructure"


class PasshatError(Exception):
    """Anything this package raises on purpose."""


class UsageError(PasshatError):
    """The person asked for something that cannot be; the message says what to do instead."""


class RunStoppedError(UsageError):
    """The run cannot go on, whichever trial is next: bad key, unknown model, budget spent.

    What was finished is kept, the trials under way are owed, and the message says what to do.
    """


class ToolError(PasshatError):
    """The request was refused; the agent reads the message and may try again."""


class FaultError(PasshatError):
    """The trial cannot be scored; ``fault`` says whose doing that is."""

    fault: Fault


class SimulatorError(FaultError):
    """The user simulator broke its contract: invented a fact, spoke for the agent, said nothing."""

    fault = Fault.SIMULATOR


class BrokenToolError(FaultError):
    """A tool raised something other than a ToolError: our bug, not the agent's."""

    fault = Fault.TOOL


class TaskError(FaultError):
    """A task cannot be set up, or its own reference cannot be carried out."""

    fault = Fault.TASK


class GraderError(FaultError):
    """A grader crashed; a crash is neither a pass nor a fail."""

    fault = Fault.GRADER


class InfrastructureError(FaultError):
    """Provider, network, disk or budget; the trial is owed again."""

    fault = Fault.INFRASTRUCTURE
