"""Indexing from the command line: what is read, kept, summed up, refused."""

import json
import signal
import subprocess
import sys
import time

from vicinal.datastore import Datastore


def test_index_stores_every_document(index, projects, tmp_path):
    """All source files become documents of the store, and the summary says so."""
    outcome = index(projects, "--projects-are-folders")
    assert outcome.code == 0, outcome.err
    assert (outcome.json["added"], outcome.json["unchanged"]) == (4, 0)
    snapshot = Datastore.open(tmp_path / "store").snapshot()
    assert snapshot.n_live == outcome.json["tokens"] == outcome.json["store"]["entries"]
    found = {span.attributes["project"][0].rpartition("/")[2] for span in snapshot.spans}
    assert found == {"kettle", "lantern"}


def test_indexing_again_encodes_only_what_changed(index, projects):
    """One changed file of four is replaced, the other three cost nothing."""
    index(projects, "--projects-are-folders")
    (projects / "kettle" / "app.py").write_text("whistle = True\n")
    outcome = index(projects)  # the store remembers how its files are read
    counts = {name: outcome.json[name] for name in ("added", "replaced", "unchanged", "removed")}
    assert counts == {"added": 0, "replaced": 1, "unchanged": 3, "removed": 0}
    assert outcome.json["tokens"] == len("whistle = True\n")


def test_prune_forgets_what_is_gone(index, projects, tmp_path):
    """A deleted file stays in the store until it is pruned."""
    index(projects, "--projects-are-folders")
    (projects / "kettle" / "app.py").unlink()
    assert index(projects).json["removed"] == 0
    assert index(projects, "--prune").json["removed"] == 1
    assert len(Datastore.open(tmp_path / "store").snapshot().documents) == 3


def test_dry_run_says_what_and_why_and_writes_nothing(index, projects, tmp_path):
    """A dry run names each file with its reason, and makes no store."""
    outcome = index(projects, "--dry-run")
    decisions = {d["path"].rpartition("/")[2]: d for d in outcome.json["decisions"]}
    assert decisions["app.py"]["kept"]
    assert not decisions["image.bin"]["kept"]
    assert "binary" in decisions["image.bin"]["reason"]
    assert not (tmp_path / "store").exists()


def test_a_person_reads_a_summary(vicinal, projects, tiny_model, tmp_path):
    """Without ``--json`` the counts, the size and the key's sentence are printed."""
    outcome = vicinal("index", projects, "--store", tmp_path / "s", "--model", tiny_model)
    assert outcome.code == 0
    for words in ("documents added", "4 documents", "entries", "key", "layers.1"):
        assert words in outcome.out
    dry = vicinal("index", projects, "--store", tmp_path / "s", "--dry-run")
    assert "left out" in dry.out
    assert "image.bin" in dry.out


def test_a_store_may_do_without_outputs(index, projects, tmp_path):
    """``--no-outputs`` keeps keys only, and the store stays so when more is added."""
    index(projects, "--no-outputs")
    (projects / "kettle" / "more.py").write_text("steam = 1\n")
    assert index(projects).json["added"] == 1
    segments = Datastore.open(tmp_path / "store").snapshot().segments
    assert [segment.outputs for segment in segments] == [None, None]


def test_another_model_is_refused(index, projects, tmp_path, tiny_model):
    """A store refuses keys that another layer of the same model would make."""
    index(projects)
    outcome = index(projects, "--key-layer", "model.layers.0.mlp")
    assert (outcome.code, outcome.out) == (1, "")
    assert "fingerprint" in outcome.err


def test_another_schema_is_refused(index, projects):
    """A store of code is not continued as a store of Markdown."""
    index(projects)
    outcome = index(projects, "--corpus", "markdown")
    assert outcome.code == 1
    assert "schema" in outcome.err


def test_an_unknown_domain_is_answered_with_the_known_ones(index, projects):
    """A misspelt domain names those there are."""
    outcome = index(projects, "--corpus", "cod")
    assert outcome.code == 1
    assert "'cod'" in outcome.err
    assert "code, " in outcome.err


def test_the_store_remembers_its_settings(index, vicinal, projects, tmp_path, tiny_model):
    """Model, number format, window and domain need to be given once only."""
    index(projects, "--window", 32, "--dtype", "float32", "--projects-are-folders")
    note = json.loads(Datastore.open(tmp_path / "store").note("settings"))
    assert note["model"] == str(tiny_model)
    assert (note["window"], note["dtype"], note["corpus"]) == (32, "float32", "code")
    again = vicinal("index", projects, "--store", tmp_path / "store", "--json")
    assert again.json["unchanged"] == 4


def test_a_domain_can_leave_comments_out(index, projects, tmp_path):
    """With ``comments = false`` in its options, a domain's code is stored without comments."""
    domain = tmp_path / "bare.toml"
    domain.write_text(
        'name = "bare"\nreader = "code"\n[options]\ncomments = false\n'
        '[attributes]\nproject = "same"\n[levels]\nnested = ["project"]\n'
    )
    (projects / "kettle" / "notes.py").write_text("# nothing else\n")
    (projects / "kettle" / "app.py").write_text("boil = 1  # water\n")
    kept = {
        d["path"].rpartition("/")[2]
        for d in index(projects, "--corpus", domain, "--dry-run").json["decisions"]
        if d["kept"]
    }
    assert "app.py" in kept
    assert "notes.py" not in kept
    outcome = index(projects / "kettle" / "app.py", "--corpus", domain)
    assert outcome.code == 0, outcome.err
    assert outcome.json["tokens"] == len("boil = 1\n")


def test_a_domain_of_ones_own_is_a_file(index, tmp_path):
    """A TOML file names reader, options, attributes and levels; categories come from its table."""
    domain = tmp_path / "wiki.toml"
    domain.write_text(
        'name = "wiki"\nreader = "wikitext"\n'
        "[options]\ndepth = 1\n"
        '[options.categories]\nfile = "topics.tsv"\ntitle = "name"\ncolumn = "topic"\n'
        '[attributes]\ncategories = "overlap"\n[levels]\nnested = ["categories"]\n'
    )
    (tmp_path / "topics.tsv").write_text("name\ttopic\nTea kettles\tkitchens\n")
    text = " \n = Tea kettles = \n \n They whistle . \n \n = Lanterns = \n \n They glow . \n"
    (tmp_path / "wiki.tokens").write_text(text)
    outcome = index(tmp_path / "wiki.tokens", "--corpus", domain)
    assert outcome.code == 0, outcome.err
    spans = Datastore.open(tmp_path / "store").snapshot().spans
    assert [span.attributes["categories"] for span in spans] == [("kitchens",), ()]
    domain.write_text(domain.read_text().replace("column", "colum"))
    assert "colum," in index(tmp_path / "wiki.tokens").err


def test_an_interruption_keeps_what_was_stored(projects, tmp_path, tiny_model, index):
    """Ctrl-C ends the process with one line and 130; the same command then does only the rest."""
    for i in range(16):  # enough that a busy machine still interrupts in the middle
        (projects / "kettle" / f"long_{i}.py").write_text(f"x_{i} = 1\n" * 2000)
    store = tmp_path / "store"
    command = [sys.executable, "-c", "from vicinal.cli import main; main()", "index"]
    command += [str(projects), "--store", str(store), "--model", str(tiny_model)]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores Ctrl-C, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while process.poll() is None and not stored(store):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert "stay stored" in err
    before = stored(store)
    assert 0 < before < 20
    after = index(projects).json
    assert (after["unchanged"], after["added"]) == (before, 20 - before)


def stored(store) -> int:
    if not (store / "manifest.db").exists():
        return 0
    return len(Datastore.open(store).content_hashes())
