"""The error with which a handler refuses a request."""

__all__ = ["RequestError"]


class RequestError(Exception):
    """An HTTP status, a code, a sentence, and a hint. Raised by handlers; the guard turns it into the answer."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.hint = hint
