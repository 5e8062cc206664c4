"""Categories of a domain that come from Wikidata, through the command line's own reading."""

import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from vicinal.cli.parts import Settings
from vicinal.cli.reading import read_corpus
from vicinal.errors import SchemaError

TEXT = "\n = Bath = \n\n A city . \n\n = = Hot springs = = \n\n Warm . \n"
DOMAIN = """
name = "wiki"
reader = "wikitext"
[options.categories]
{categories}
[attributes]
categories = "overlap"
section = "same"
[levels]
lattice = ["categories", "section"]
"""


class Wikidata(BaseHTTPRequestHandler):
    def do_GET(self):
        """Answer that Bath is an instance of a city, whatever is asked."""
        asked = parse_qs(urlsplit(self.path).query)
        claim = {"mainsnak": {"snaktype": "value", "datavalue": {"value": {"id": "Q515"}}}}
        claim["rank"] = "normal"
        item = {"id": "Q22889", "type": "item", "claims": {"P31": [claim]}}
        item["sitelinks"] = {"enwiki": {"site": "enwiki", "title": "Bath"}}
        assert asked["action"] == ["wbgetentities"]
        body = json.dumps({"entities": {"Q22889": item}, "success": 1}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def endpoint():
    with ThreadingHTTPServer(("127.0.0.1", 0), Wikidata) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/w/api.php"
        server.shutdown()


def read(tmp_path, categories):
    (tmp_path / "wiki.tokens").write_text(TEXT)
    (tmp_path / "domain.toml").write_text(DOMAIN.format(categories=categories))
    settings = Settings(corpus=str(tmp_path / "domain.toml"))
    return list(read_corpus(settings, [tmp_path / "wiki.tokens"]))


def test_categories_come_from_wikidata_and_then_from_its_cache(tmp_path, endpoint):
    """What was asked once is known offline."""
    who = 'wikidata = "vicinal-tests/1.0 (mailto:test@example.org)"'
    online = read(tmp_path, f'{who}\nendpoint = "{endpoint}"\ncache = "known.db"')
    assert {d.spans[0].attributes["categories"] for d in online} == {("Q515",)}
    assert sqlite3.connect(tmp_path / "known.db").execute("PRAGMA integrity_check").fetchone()
    offline = read(tmp_path, f'{who}\noffline = true\ncache = "known.db"')
    assert [d.spans for d in offline] == [d.spans for d in online]


def test_a_source_of_categories_has_options_of_its_own(tmp_path):
    """A table's column is no option of Wikidata."""
    with pytest.raises(SchemaError, match=r"found: column, wikidata"):
        read(tmp_path, 'wikidata = "me/1.0 (mailto:me@example.org)"\ncolumn = "x"')
