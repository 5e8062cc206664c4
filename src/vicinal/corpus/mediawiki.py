"""
Asking a MediaWiki API politely: who asks is said, and waiting is done as long as the server says.

Knows HTTP and MediaWiki's etiquette, nothing of what is asked.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from vicinal.errors import CorpusError, DownloadError

WIKIDATA = "https://www.wikidata.org/w/api.php"
_BUSY = {408, 429, 500, 502, 503, 504}
_BUSY_CODES = {"maxlag", "ratelimited", "readonly"}
_LONGEST_URL = 4000


@dataclass(frozen=True)
class _Trouble:
    """Why an attempt failed, and how long the server asks to wait (if it does)."""

    reason: str
    wait: float | None = None


@dataclass(frozen=True)
class MediaWikiSession:
    """
    Requests to one API, repeated while it is busy.

    *user_agent* must name a contact, as Wikimedia's policy demands. A busy server (*maxlag*
    seconds behind, 429, 5xx) is asked again after the time in its Retry-After, else after 1, 2,
    4, ... seconds, at most *longest_wait*; until *attempts* or *deadline* (seconds) are used up.
    *http* is a client to use instead of a fresh connection for each request.
    """

    user_agent: str
    endpoint: str = WIKIDATA
    _: KW_ONLY
    http: httpx.Client | None = None
    maxlag: int = 5
    attempts: int = 6
    longest_wait: float = 60.0
    deadline: float = 600.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        if "@" not in self.user_agent and "://" not in self.user_agent:
            raise CorpusError(
                "Expected a User-Agent with a contact, such as "
                f"'mytool/1.0 (mailto:me@example.org)', found: {self.user_agent!r}."
            )

    def get(self, params: Mapping[str, str]) -> dict[str, Any]:
        """Ask once, and again while the server is busy; give the JSON object it answers with."""
        started = self.clock()
        attempt = 0
        while True:
            attempt += 1
            answer = self._attempt(params)
            if isinstance(answer, dict):
                return answer
            wait = answer.wait
            if wait is None:
                wait = min(2.0 ** (attempt - 1), self.longest_wait)
            elapsed = self.clock() - started
            if attempt >= self.attempts or elapsed + wait > self.deadline:
                raise DownloadError(
                    f"{self.endpoint} gave no answer in {attempt} attempts and {elapsed:.0f} s; "
                    f"the last one: {answer.reason}. Try again later; what is cached stays."
                )
            self.sleep(wait)

    def _attempt(self, params: Mapping[str, str]) -> dict[str, Any] | _Trouble:
        try:
            response = self._send({**params, "format": "json", "maxlag": str(self.maxlag)})
        except httpx.RequestError as error:
            return _Trouble(f"{type(error).__name__}: {error}")
        wait = _retry_after(response.headers.get("Retry-After", ""))
        if response.status_code in _BUSY:
            return _Trouble(f"HTTP {response.status_code}", wait)
        if response.status_code != 200:
            raise DownloadError(
                f"{self.endpoint} answered HTTP {response.status_code} where 200 was expected. "
                "Is this the address of a MediaWiki api.php?"
            )
        return self._content(response, wait)

    def _send(self, params: Mapping[str, str]) -> httpx.Response:
        send = self.http.request if self.http else httpx.request
        headers = {"User-Agent": self.user_agent}
        # Fifty long titles do not fit into an address; a form has no such limit.
        if len(str(httpx.QueryParams(params))) > _LONGEST_URL:
            return send("POST", self.endpoint, data=dict(params), headers=headers)
        return send("GET", self.endpoint, params=dict(params), headers=headers)

    def _content(self, response: httpx.Response, wait: float | None) -> dict[str, Any] | _Trouble:
        try:
            content = response.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            return _Trouble(f"not a JSON object: {response.text[:80]!r}", wait)
        error = content.get("error")
        if not isinstance(error, dict):
            return content
        code, info = error.get("code"), error.get("info")
        if code in _BUSY_CODES:
            return _Trouble(f"{code}: {info}", 5.0 if wait is None else wait)
        raise DownloadError(f"{self.endpoint} refused the request with {code!r}: {info}")


def _retry_after(header: str) -> float | None:
    """Read the seconds, or the date, of a Retry-After header."""
    if header.strip().isdecimal():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    # A date in "-0000" is naive by definition of the format, and means UTC.
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
