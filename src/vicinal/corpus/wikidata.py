"""
Categories from Wikidata: what the subject of an article is an instance or a subclass of.

Knows the entities of Wikidata's API; how to ask politely and what to keep are other modules'.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from vicinal.corpus.mediawiki import MediaWikiSession
from vicinal.corpus.wikidata_cache import Entity, WikidataCache
from vicinal.errors import DownloadError

# What the API answers to at once.
_BATCH = 50
_NEVER_IN_A_TITLE = set("<>[]{}|#\n\t\x1f")


@dataclass(frozen=True)
class WikidataAnswer:
    """
    The categories (QIDs) of the titles that have an item, and what became of the others.

    *missing* have no item; of *unknown* nothing could be learned, for the reason in *trouble*.
    """

    categories: dict[str, tuple[str, ...]]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    trouble: str = ""

    def __str__(self) -> str:
        n_titles = len(self.categories) + len(self.missing) + len(self.unknown)
        counts = (
            f"{len(self.categories)} of {n_titles} titles have a Wikidata item, "
            f"{len(self.missing)} have none, {len(self.unknown)} are unknown"
        )
        return f"{counts} ({self.trouble})" if self.trouble else counts


@dataclass(frozen=True)
class WikidataClient:
    """
    Wikidata behind a cache; without a *session* it is offline, and the cache alone serves.

    With *ancestors* = n, the classes found are followed n subclass-of steps up. Page redirects and
    spellings that Wikipedia resolves cost one request for each title not found at once;
    *follow_redirects* can be turned off.
    """

    cache: WikidataCache
    session: MediaWikiSession | None
    _: KW_ONLY
    site: str = "enwiki"
    language: str = "en"
    ancestors: int = 0
    follow_redirects: bool = True

    def ask(self, titles: Iterable[str]) -> WikidataAnswer:
        """
        Collect the categories of Wikipedia titles, from the cache where it knows them.

        What was learned before a failure is kept and given; only if nothing is known of any
        title, and this client is not offline, a failure is raised.
        """
        pages = {title: _page(title) for title in titles}
        askable = dict.fromkeys(page for page in pages.values() if page)
        known = self.cache.titles(self.site, askable)
        trouble = self._learn([page for page in askable if page not in known], self._learn_titles)
        known = {"": None, **self.cache.titles(self.site, askable)}
        if trouble and self.session and len(known) == 1:
            raise DownloadError(trouble)
        qids = {title: known[page] for title, page in pages.items() if page in known}
        classes, more = self._classes({qid for qid in qids.values() if qid})
        return WikidataAnswer(
            categories={title: classes[qid] for title, qid in qids.items() if qid},
            missing=tuple(title for title, qid in qids.items() if qid is None),
            unknown=tuple(title for title in pages if title not in qids),
            trouble=trouble or more,
        )

    def labels(self, qids: Iterable[str]) -> dict[str, str]:
        """Collect the labels of items in the client's language; those without one are left out."""
        known, _ = self._entities(set(qids))
        return {qid: entity.label for qid, entity in known.items() if entity.label}

    def _classes(self, qids: set[str]) -> tuple[dict[str, tuple[str, ...]], str]:
        items, trouble = self._entities(qids)
        newest = {q: {*e.instance_of, *e.subclass_of} for q, e in items.items()}
        found = {qid: set(newest.get(qid, ())) for qid in qids}
        for _ in range(self.ancestors):
            parents, more = self._entities(set().union(*newest.values()))
            trouble = trouble or more
            newest = {
                qid: {up for q in classes if q in parents for up in parents[q].subclass_of}
                for qid, classes in newest.items()
            }
            for qid, classes in newest.items():
                found[qid] |= classes
        return {qid: tuple(sorted(classes)) for qid, classes in found.items()}, trouble

    def _entities(self, qids: set[str]) -> tuple[dict[str, Entity], str]:
        known = self.cache.entities(self.language, qids)
        trouble = self._learn(sorted(qids - known.keys()), self._learn_entities)
        return self.cache.entities(self.language, qids), trouble

    def _learn(self, keys: Sequence[str], learn: Callable[[Sequence[str]], None]) -> str:
        """Fetch into the cache batch by batch; give the reason if that did not go to the end."""
        try:
            for start in range(0, len(keys), _BATCH):
                learn(keys[start : start + _BATCH])
        except DownloadError as error:
            return str(error)
        return ""

    def _learn_titles(self, pages: Sequence[str]) -> None:
        asked = set(pages)
        found: dict[str, dict[str, Any]] = {}
        for entity in self._request(titles="|".join(pages)):
            title = _inside(entity, "sitelinks", self.site).get("title")
            if title in asked:
                found[title] = entity
        self._keep(found)
        misses = dict.fromkeys(page for page in pages if page not in found)
        for page in list(misses) if self.follow_redirects else []:
            # The API resolves spellings and page redirects of a single title only.
            for entity in self._request(titles=page, normalize="1")[:1]:
                self._keep({page: entity})
                del misses[page]
        self.cache.put_titles(self.site, misses)

    def _keep(self, found: dict[str, dict[str, Any]]) -> None:
        # Entities first: a title that is known has its classes.
        self.cache.put_entities(
            self.language, [_entity(value, self.language) for value in found.values()]
        )
        self.cache.put_titles(self.site, {page: value["id"] for page, value in found.items()})

    def _learn_entities(self, qids: Sequence[str]) -> None:
        found = {}
        for value in self._request(ids="|".join(qids)):
            entity = _entity(value, self.language)
            # An item that was merged into another is answered with that one.
            asked = _inside(value, "redirects").get("from", entity.qid)
            found[asked] = Entity(asked, entity.instance_of, entity.subclass_of, entity.label)
        kept = [found.get(qid, Entity(qid)) for qid in qids]
        self.cache.put_entities(self.language, kept)

    def _request(self, **what: str) -> list[dict[str, Any]]:
        """Ask for entities; those that do not exist are left out."""
        if self.session is None:
            raise DownloadError("offline: only what is cached is known")
        params = {
            "action": "wbgetentities",
            "props": "claims|labels|sitelinks",
            "languages": self.language,
            "languagefallback": "1",
            "sitefilter": self.site,
            **({"sites": self.site} if "titles" in what else {}),
            **what,
        }
        entities = self.session.get(params).get("entities")
        if not isinstance(entities, dict):
            raise DownloadError(
                f"Expected 'entities' in the answer of {self.session.endpoint}, found none. "
                "Is this the API of a Wikibase?"
            )
        return [e for e in entities.values() if "missing" not in e and "id" in e]


def _page(title: str) -> str:
    """Write a title as the wiki stores it; empty if no page can have it."""
    words = " ".join(title.replace("_", " ").split())
    return "" if _NEVER_IN_A_TITLE & set(words) else words[:1].upper() + words[1:]


def _entity(value: dict[str, Any], language: str) -> Entity:
    label = _inside(value, "labels", language).get("value", "")
    return Entity(value["id"], _items(value, "P31"), _items(value, "P279"), label)


def _items(value: dict[str, Any], property_: str) -> tuple[str, ...]:
    """Collect the items a property names; values unknown or withdrawn do not count."""
    statements = _inside(value, "claims").get(property_, [])
    ids = {
        _inside(statement, "mainsnak", "datavalue", "value").get("id")
        for statement in statements
        if statement.get("rank") != "deprecated"
    }
    return tuple(sorted(qid for qid in ids if qid))


def _inside(value: Any, *path: str) -> dict[str, Any]:
    """Follow a path of keys; an empty object, which the API writes as ``[]``, ends it."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
