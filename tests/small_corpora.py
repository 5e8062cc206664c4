"""Corpora of the paper's two kinds, a few pages long, written to folders."""

import random
from pathlib import Path

NOUNS = ("kettle", "lantern", "anvil", "barrel", "candle", "ladder")
VERBS = ("boil", "pour", "glow", "ring")
TOPICS = {"Kettle": "tools", "Lantern": "tools", "Otter": "animals", "Heron": "animals"}
HEADINGS = ("History", "Uses", "In prose")


def java_file(project: str, verb: str, seed: int) -> str:
    """Write a class whose names and numbers belong to its project, with a comment."""
    draw = random.Random(f"{project} {verb} {seed}")
    methods = [
        f"  int {verb}{noun.title()}(int level) {{\n"
        f"    // {noun} of {project}\n"
        f"    return level * {draw.randint(2, 9)} + {project}.{draw.choice(VERBS)}(level);\n  }}\n"
        for noun in draw.sample(NOUNS, 3)
    ]
    return f"class {verb.title()} {{\n{''.join(methods)}}}\n"


def write_java(data: Path, folders: tuple[str, ...] = ("app", "core")) -> Path:
    """Write two splits of two projects, each of four files in two directories, or others."""
    for split, projects in (("valid", ("ant", "bee")), ("test", ("cow", "doe"))):
        for project in projects:
            for n, verb in enumerate(VERBS):
                file = data / split / project / folders[n % len(folders)] / f"{verb}.java"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(java_file(project, verb, n), "utf-8")
    return data


def article(title: str, split: str) -> str:
    """Write an article of a lead and three sections, the last heading at another depth."""
    draw = random.Random(f"{title} {split}")
    topic = TOPICS.get(title.split()[0], "rest")
    parts = [f" \n = {title} = \n \n The {title} is one of the {topic} . \n \n"]
    for depth, heading in zip((2, 2, 3), HEADINGS, strict=True):
        words = [f"{draw.choice(NOUNS)} and {draw.choice(VERBS)}" for _ in range(6)]
        signs = " ".join("=" * depth)
        body = f"The {heading} of the {title} , a {' , a '.join(words)} . "
        parts.append(f" {signs} {heading} {signs} \n \n {body}\n \n")
    return "".join(parts)


def write_wikitext(data: Path) -> Path:
    """Write five articles for each split, of which the last has no category."""
    data.mkdir(parents=True, exist_ok=True)
    for split in ("train", "valid", "test"):
        text = "".join(article(f"{title} {split}", split) for title in (*TOPICS, "Moss"))
        (data / f"wiki.{split}.tokens").write_text(text, "utf-8")
    return data
