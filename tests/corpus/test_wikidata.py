import json
import threading
from collections import deque
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.corpus.categories import Categories
from vicinal.corpus.mediawiki import MediaWikiSession
from vicinal.corpus.wikidata import WikidataClient
from vicinal.corpus.wikidata_cache import WikidataCache
from vicinal.errors import CorpusError, DownloadError

AGENT = "vicinal-tests/1.0 (mailto:nobody@example.org)"
# title: item; item: (P31, P279, label). Bird and animal are classes, as an item is.
TITLES = {"Red kite": "Q1", "Du Fu": "Q2", "Bird": "Q3", "Ise-class battleship": "Q6"}
ITEMS = {
    "Q1": (["Q30"], ["Q3"], "red kite"),
    "Q2": (["Q5"], [], "Du Fu"),
    "Q3": ([], ["Q4"], "bird"),
    "Q4": ([], ["Q40"], "animal"),
    "Q5": ([], ["Q4"], "human"),
    "Q6": ([], [], ""),
    "Q30": ([], ["Q3", "Q31"], "taxon"),
}
PAGE_REDIRECTS = {"Milvus milvus": "Red kite"}
MERGED_ITEMS = {"Q31": "Q3"}


class FakeWikidata:
    """Wikidata's API as far as ``wbgetentities`` goes; what is in *troubles* is answered first."""

    def __init__(self):
        self.requests, self.troubles = [], deque()

    def answer(self, params):
        if "ids" in params:
            asked = params["ids"].split("|")
            entities = {qid: self.item(qid) for qid in asked}
        else:
            asked = params["titles"].split("|")
            entities = dict(self.page(n, title, params) for n, title in enumerate(asked, 1))
        if len(asked) > 50 or (len(asked) > 1 and "normalize" in params):
            return {"error": {"code": "params-illegal", "info": "too many values"}}
        return {"entities": entities, "success": 1}

    def page(self, n, title, params):
        if "normalize" in params:
            title = PAGE_REDIRECTS.get(title, title)
        if title in TITLES:
            return TITLES[title], self.item(TITLES[title], title)
        return str(-n), {"site": params["sites"], "title": title, "missing": ""}

    def item(self, asked, title=None):
        qid = MERGED_ITEMS.get(asked, asked)
        if qid not in ITEMS:
            return {"id": qid, "missing": ""}
        p31, p279, label = ITEMS[qid]
        claims = {"P31": list(map(statement, p31)), "P279": list(map(statement, p279))}
        claims = {key: values for key, values in claims.items() if values}
        merged = {"redirects": {"from": asked, "to": qid}} if asked != qid else {}
        return {
            "id": qid,
            "claims": claims or [],
            "labels": {"en": {"language": "en", "value": label}} if label else [],
            "sitelinks": {"enwiki": {"site": "enwiki", "title": title}} if title else [],
            **merged,
        }


def statement(qid, rank="normal"):
    value = {"entity-type": "item", "id": qid}
    snak = {"snaktype": "value", "datavalue": {"value": value, "type": "wikibase-entityid"}}
    return {"mainsnak": snak, "rank": rank}


@contextmanager
def served(api):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply(urlsplit(self.path).query)

        def do_POST(self):
            self.reply(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def reply(self, query):
            params = {key: values[0] for key, values in parse_qs(query).items()}
            api.requests.append((self.command, params, self.headers["User-Agent"]))
            default = (200, {}, json.dumps(api.answer(params)))
            status, headers, body = api.troubles.popleft() if api.troubles else default
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/w/api.php"
        server.shutdown()
        thread.join()


@pytest.fixture
def api():
    return FakeWikidata()


@pytest.fixture
def waited():
    return []


@pytest.fixture
def session(api, waited):
    with served(api) as endpoint, httpx.Client(trust_env=False, timeout=5) as http:
        yield MediaWikiSession(
            AGENT,
            endpoint,
            http=http,
            sleep=waited.append,
            clock=lambda: float(sum(waited)),
            deadline=100.0,
        )


@pytest.fixture
def client(session, tmp_path):
    return WikidataClient(WikidataCache(tmp_path / "cache" / "wikidata.db"), session)


def with_session(client, session, **settings):
    return WikidataClient(client.cache, session, **settings)


def test_classes_of_both_kinds_are_categories(client, api):
    """P31 and P279 values together are the categories of a title; one request serves 50 titles."""
    answer = client.ask(["Red kite", "Du Fu", "Ise-class battleship"])
    assert answer.categories == {
        "Red kite": ("Q3", "Q30"),
        "Du Fu": ("Q5",),
        "Ise-class battleship": (),
    }
    assert (answer.missing, answer.unknown, answer.trouble) == ((), (), "")
    [(method, params, agent)] = api.requests
    assert (method, agent, params["maxlag"], params["sites"]) == ("GET", AGENT, "5", "enwiki")


def test_spellings_and_page_redirects_are_mapped_back(client):
    """Titles come back as they were asked, whatever page they led to."""
    answer = client.ask(["red_kite", "Milvus  milvus", "Nothing here", "a|b", "Red kite"])
    assert answer.categories == dict.fromkeys(
        ["red_kite", "Milvus  milvus", "Red kite"], ("Q3", "Q30")
    )
    assert answer.missing == ("Nothing here", "a|b")
    assert str(answer) == "3 of 5 titles have a Wikidata item, 2 have none, 0 are unknown"


def test_page_redirects_need_not_be_followed(client, session, api):
    """Without them no title is asked for alone, and a redirect is a title without an item."""
    answer = with_session(client, session, follow_redirects=False).ask(["Milvus milvus", "Du Fu"])
    assert (set(answer.categories), answer.missing) == ({"Du Fu"}, ("Milvus milvus",))
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("ancestors", "kite", "poet"),
    [
        (0, ("Q3", "Q30"), ("Q5",)),
        (1, ("Q3", "Q30", "Q31", "Q4"), ("Q4", "Q5")),
        (2, ("Q3", "Q30", "Q31", "Q4", "Q40"), ("Q4", "Q40", "Q5")),
        (9, ("Q3", "Q30", "Q31", "Q4", "Q40"), ("Q4", "Q40", "Q5")),
    ],
)
def test_superclasses_are_followed_as_far_as_asked(client, session, ancestors, kite, poet):
    """Each step adds the classes one subclass-of up, through merged and to unknown items."""
    answer = with_session(client, session, ancestors=ancestors).ask(["Red kite", "Du Fu"])
    assert answer.categories == {"Red kite": kite, "Du Fu": poet}


def test_withdrawn_and_unknown_values_are_no_categories(client, api):
    """A deprecated statement and one without value do not count."""
    entity = api.item("Q2", "Du Fu")
    no_value = {"mainsnak": {"snaktype": "somevalue"}, "rank": "normal"}
    entity["claims"] = {"P31": [statement("Q7", "deprecated"), no_value, statement("Q5")]}
    api.troubles.append((200, {}, json.dumps({"entities": {"Q2": entity}})))
    assert client.ask(["Du Fu"]).categories == {"Du Fu": ("Q5",)}


def test_an_answer_under_another_title_is_not_taken_for_one_of_the_batch(client, api):
    """It is asked for alone, where there is no doubt which title is meant."""
    entities = {"Q1": api.item("Q1", "Du Fu (poet)"), "Q3": api.item("Q3", "Bird")}
    api.troubles.append((200, {}, json.dumps({"entities": entities})))
    assert client.ask(["Du Fu", "Bird"]).categories == {"Du Fu": ("Q5",), "Bird": ("Q4",)}
    assert [request[1]["titles"] for request in api.requests] == ["Du Fu|Bird", "Du Fu"]


def test_labels_are_in_the_language_of_the_client(client, api):
    """Labels come for items that have one; asked again, they come from the cache."""
    assert client.labels(["Q5", "Q3", "Q6", "Q31"]) == {"Q5": "human", "Q3": "bird", "Q31": "bird"}
    assert client.labels(["Q3", "Q31"]) == {"Q3": "bird", "Q31": "bird"}
    assert len(api.requests) == 1


@settings(max_examples=20)
@given(n_titles=st.integers(0, 170))
def test_every_title_is_asked_for_once_in_batches_of_fifty(tmp_path_factory, n_titles):
    """No request holds more titles than the API takes, and none holds a title again."""
    api, path = FakeWikidata(), tmp_path_factory.mktemp("batches") / "cache.db"
    requests = []

    def handle(request):
        params = dict(request.url.params) or dict(httpx.QueryParams(request.content.decode()))
        requests.append(params)
        return httpx.Response(200, json=api.answer(params))

    titles = [f"Title {n}" for n in range(n_titles)]
    with httpx.Client(transport=httpx.MockTransport(handle)) as http:
        session = MediaWikiSession(AGENT, http=http)
        client = WikidataClient(WikidataCache(path), session, follow_redirects=False)
        assert client.ask([*titles, *titles]).missing == tuple(titles)
        assert client.ask(titles).missing == tuple(titles)
    batches = [params["titles"].split("|") for params in requests]
    assert [title for batch in batches for title in batch] == titles
    assert [len(batch) for batch in batches[:-1]] == [50] * (len(batches) - 1)


def test_long_titles_are_sent_as_a_form(client, api):
    """What does not fit into an address is posted."""
    answer = client.ask([f"{'long ' * 40}{n}" for n in range(30)] + ["Du Fu"])
    assert (api.requests[0][0], len(answer.missing), len(answer.categories)) == ("POST", 30, 1)


def test_the_cache_serves_without_a_server(client, api):
    """What was asked once is not asked again, and is there offline; the rest is counted."""
    online = client.ask(["Red kite", "Nothing here"])
    n_requests = len(api.requests)
    assert client.ask(["Red kite", "Nothing here"]) == online
    offline = with_session(client, None).ask(["Red kite", "Nothing here", "Du Fu"])
    assert len(api.requests) == n_requests
    assert (offline.categories, offline.missing) == (online.categories, online.missing)
    assert offline.unknown == ("Du Fu",)
    assert str(offline) == (
        "1 of 3 titles have a Wikidata item, 1 have none, 1 are unknown "
        "(offline: only what is cached is known)"
    )


def test_an_unreachable_server_is_an_error_only_if_nothing_is_known(client, session):
    """Then the cache serves what it has and says what failed; without it, the failure is raised."""
    gone = MediaWikiSession(
        AGENT, "http://127.0.0.1:9/", http=session.http, sleep=session.sleep, attempts=2
    )
    with pytest.raises(DownloadError, match=r"no answer in 2 attempts.*ConnectError"):
        with_session(client, gone).ask(["Du Fu"])
    client.ask(["Du Fu"])
    answer = with_session(client, gone).ask(["Du Fu", "Red kite"])
    assert (answer.categories, answer.unknown) == ({"Du Fu": ("Q5",)}, ("Red kite",))
    assert "ConnectError" in answer.trouble
    assert with_session(client, gone).ask(["Du Fu"]).trouble == ""


def test_that_a_title_has_no_item_is_believed_for_a_while(api, session, tmp_path):
    """A miss is asked for again after its time; an item is kept."""
    days = [0.0]
    cache = WikidataCache(
        tmp_path / "c.db", misses_last=30 * 86400.0, now=lambda: days[0] * 86400.0
    )
    client = WikidataClient(cache, session, follow_redirects=False)
    for day, n_requests in [(0, 1), (29, 1), (31, 2), (60, 2)]:
        days[0] = float(day)
        client.ask(["Du Fu", "Nothing here"])
        assert len(api.requests) == n_requests
    assert api.requests[-1][1]["titles"] == "Nothing here"


@pytest.mark.parametrize(
    ("trouble", "seconds"),
    [
        ((200, {"Retry-After": "7"}, '{"error": {"code": "maxlag", "info": "lagged"}}'), [7.0]),
        ((200, {}, '{"error": {"code": "maxlag", "info": "lagged"}}'), [5.0]),
        ((429, {"Retry-After": "42"}, ""), [42.0]),
        ((503, {"Retry-After": "soon"}, ""), [1.0]),
        ((500, {}, "oops"), [1.0]),
        ((200, {}, '{"entities": {"Q1'), [1.0]),
        ((200, {}, "[]"), [1.0]),
    ],
)
def test_a_busy_server_is_waited_for(client, api, waited, trouble, seconds):
    """It is asked again after the time it says, else after a second."""
    api.troubles.append(trouble)
    assert client.ask(["Du Fu"]).categories == {"Du Fu": ("Q5",)}
    assert waited == seconds
    assert len(api.requests) == 2


def test_a_date_to_come_back_is_kept(client, api, waited):
    """Retry-After may be a date; one that is past means at once."""
    later = datetime.now(UTC) + timedelta(seconds=50)
    api.troubles.append((429, {"Retry-After": format_datetime(later, usegmt=True)}, ""))
    api.troubles.append((429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 -0000"}, ""))
    client.ask(["Du Fu"])
    assert 40 < waited[0] <= 50
    assert waited[1:] == [0.0]


def test_waiting_grows_and_ends(client, session, api, waited):
    """Waits double up to their longest, for as many attempts as allowed."""
    api.troubles.extend([(500, {}, "")] * 20)
    patient = MediaWikiSession(
        AGENT,
        session.endpoint,
        http=session.http,
        sleep=waited.append,
        clock=session.clock,
        attempts=6,
        longest_wait=5.0,
    )
    with pytest.raises(DownloadError, match=r"6 attempts and 17 s.*HTTP 500"):
        with_session(client, patient).ask(["Du Fu"])
    assert waited == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_no_wait_goes_beyond_the_deadline(client, api, waited):
    """A server that asks for more time than there is, is given up at once."""
    api.troubles.extend([(429, {"Retry-After": "60"}, ""), (429, {"Retry-After": "41"}, "")])
    with pytest.raises(DownloadError, match=r"2 attempts and 60 s.*HTTP 429"):
        client.ask(["Du Fu"])
    assert waited == [60.0]


def test_what_was_learned_before_a_failure_is_kept(client, api):
    """The first batch is answered and cached when the second fails."""
    titles = ["Du Fu", *(f"Title {n}" for n in range(60))]
    quick = with_session(client, client.session, follow_redirects=False)
    api.answer, whole = lambda params: {}, api.answer
    api.troubles.append(
        (200, {}, json.dumps(whole({"titles": "|".join(titles[:50]), "sites": ""})))
    )
    answer = quick.ask(titles)
    assert (len(answer.categories), len(answer.missing), len(answer.unknown)) == (1, 49, 11)
    assert "Expected 'entities'" in answer.trouble


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((404, {}, ""), "HTTP 404 where 200 was expected"),
        ((200, {}, '{"error": {"code": "badtoken", "info": "no"}}'), "refused.*'badtoken': no"),
        ((200, {}, '{"success": 1}'), "Expected 'entities'"),
    ],
)
def test_what_waiting_cannot_mend_is_told_at_once(client, api, waited, reply, words):
    """A wrong address or request is not repeated."""
    api.troubles.append(reply)
    with pytest.raises(DownloadError, match=words):
        client.ask(["Du Fu"])
    assert waited == []


def test_a_user_agent_names_a_contact():
    """Wikimedia's policy is enforced before the first request."""
    with pytest.raises(CorpusError, match=r"with a contact.*found: 'mytool'"):
        MediaWikiSession("mytool")


def test_a_session_opens_its_own_connections(api):
    """Without an HTTP client of one's own, a request stands for itself."""
    with served(api) as endpoint:
        assert MediaWikiSession(AGENT, endpoint).get({"ids": "Q2"})["success"] == 1


def test_a_file_that_is_no_cache_is_refused(tmp_path):
    """A file with other content is named, and left as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 100)
    with pytest.raises(CorpusError, match=r"notes\.txt cannot be used as a cache"):
        WikidataClient(WikidataCache(path), None).ask(["Du Fu"])
    assert path.read_text().startswith("Dear diary")


def test_tokenized_titles_find_their_categories(client):
    """Categories are asked for by Wikipedia's titles and found by WikiText's."""
    titles = ["Ise @-@ class battleship", "Du Fu", "<unk> kite", "Red kite"]
    categories = Categories.from_wikidata(client, titles)
    assert [categories.of(title) for title in titles] == [(), ("Q5",), ("Q3", "Q30"), ("Q3", "Q30")]
    assert categories.report.startswith("3 of 3 titles have a Wikidata item")
    assert categories.report.endswith("1 with <unk> could not be asked for")
