"""Templates: what they need, what they escape, and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from vicinal.analysis import missing_packages, templating, visible
from vicinal.errors import VicinalError


def test_everything_is_escaped():
    """No template has to remember it."""
    text = templating.environment().from_string("{{ x }}").render(x="<a href='b'>&\"")
    assert text == "&lt;a href=&#39;b&#39;&gt;&amp;&#34;"


def test_a_missing_value_is_an_error():
    """A page with a gap would look as if there were nothing to say."""
    with pytest.raises(UndefinedError, match="nowhere"):
        templating.environment().from_string("{{ nowhere }}").render()


def test_a_missing_package_is_one_line(monkeypatch):
    """It is named, and so is the extra that has it."""
    assert missing_packages() == []
    needed = (*templating.NEEDED, "no_such_package", "nor_this_one")
    monkeypatch.setattr(templating, "NEEDED", needed)
    assert missing_packages() == ["no_such_package", "nor_this_one"]
    with pytest.raises(VicinalError) as error:
        templating.environment()
    words = "A report needs no_such_package and nor_this_one, not installed."
    assert str(error.value) == f"{words} Install them: `pip install 'vicinal[plot]'`."


@given(st.text(alphabet="ab \t\r\n"))
def test_white_space_can_be_seen(token):
    """Every white space has a sign of its own, everything else stays."""
    signs = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}
    assert list(visible(token)) == [signs.get(sign, sign) for sign in token]
