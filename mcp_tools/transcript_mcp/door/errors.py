"""What a request is answered with where it is not answered as it was meant."""

__all__ = ["RequestError"]


class RequestError(Exception):
    """An HTTP status, a code, a sentence, and what to do. Raised by a handler, the guard answers with it."""

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.hint = hint
