"""What the server answers when it does not answer: an error of the API, by kind and status."""

from __future__ import annotations

from typing import Any

STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}
"""The kinds of errors. Source: platform.claude.com, "Errors"."""


class RefusedError(Exception):
    """The request is answered with an error.

    Args:
        kind: One of `STATUS`.
        message: For people; names the field.
        headers: To be sent with it.
    """

    def __init__(self, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = STATUS[kind]
        self.headers = headers or {}

    def body(self, request_id: str) -> dict[str, Any]:
        """The error as the API words it."""
        error = {"type": self.kind, "message": str(self)}
        return {"type": "error", "error": error, "request_id": request_id}


def invalid(message: str) -> RefusedError:
    """The request is not as it must be."""
    return RefusedError("invalid_request_error", message)
